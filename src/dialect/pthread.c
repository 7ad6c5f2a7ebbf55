/* pthread.c - pthread_create: libc's; the new thread first arranges for its end to be told, and makes itself known to the CPU profiler
 * while that is on. Shared libraries only: in a static program the profiler finds threads when they run.
 * Climate: host. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "heap/heap.h"
#include "life/cpu.h"
#include "life/life.h"

typedef int create_function(pthread_t *, const pthread_attr_t *, vt_thread_main *, void *);

/* There may be no addresses for its stack, because another process limited them: the heap gives back what it only holds, once. */
static int create_again(create_function *create, pthread_t *id, const pthread_attr_t *attributes,
                        vt_thread_main *start, void *arg) {
    int err = create(id, attributes, start, arg);
    if (vt_unlikely(err == EAGAIN) && vt__heap_may_give_addresses())
        err = create(id, attributes, start, arg);
    if (vt_unlikely(err == EAGAIN)) vt__life_no_thread();
    return err;
}

VT_EXPORT int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attributes,
                             vt_thread_main *start, void *restrict arg) {
    static create_function *_Atomic real;
    create_function *create = real;
    if (create == NULL) real = create = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
    if (create == NULL) return EAGAIN; /* before glibc 2.34: a program without libpthread */
    struct vt_birth *b = vt__life_birth(start, arg);
    if (b == NULL) return create_again(create, id, attributes, start, arg);
    int err = create_again(create, id, attributes, vt__life_born, b);
    if (err != 0) vt__life_stillborn(b);
    return err;
}
