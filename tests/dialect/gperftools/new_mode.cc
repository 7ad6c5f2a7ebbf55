/* new_mode.cc - who asks the new-handler when there is no memory, by tc_set_new_mode: compiled for gperftools' own header. */
#include <gperftools/tcmalloc.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>

static const size_t too_much = size_t(1) << 62;
static int n_asked;

static void gives_up_at_three() {
    if (++n_asked == 3) std::set_new_handler(nullptr);
}
static void throws() {
    n_asked++;
    throw std::bad_alloc();
}

template <class F> static void show(const char *what, void (*handler)(), F alloc) {
    n_asked = 0;
    std::set_new_handler(handler);
    void *p = alloc();
    printf("%s: %s, asked %d\n", what, p == nullptr ? "NULL" : "a block", n_asked);
}

static void *thrown() {
    try {
        return ::operator new(too_much);
    } catch (const std::bad_alloc &) {
        printf("thrown ");
        return nullptr;
    }
}

static void *by_posix() {
    void *p = nullptr;
    printf("error %d ", posix_memalign(&p, 64, too_much));
    return p;
}

static void all(void (*handler)()) {
    show("malloc", handler, [] { return malloc(too_much); });
    show("calloc", handler, [] { return calloc(1, too_much); });
    show("memalign", handler, [] { return memalign(64, too_much); });
    show("posix_memalign", handler, by_posix);
    show("valloc", handler, [] { return valloc(too_much); });
    show("tc_malloc", handler, [] { return tc_malloc(too_much); });
    show("skipping", handler, [] { return tc_malloc_skip_new_handler(too_much); });
    show("new", handler, thrown);
    show("nothrow", handler, [] { return ::operator new(too_much, std::nothrow); });
    show("tc_nothrow", handler, [] { return tc_new_nothrow(too_much, std::nothrow); });
    show("realloc to 0", handler, [] { return realloc(malloc(10), 0); });
    show("enough", handler, [] { return malloc(10); });
}

int main(int argc, char **) {
    all(gives_up_at_three);
    printf("mode %d", tc_set_new_mode(1));
    printf(" %d\n", tc_set_new_mode(1));
    all(gives_up_at_three);
    all(throws);
    if (argc > 1) /* the original's debug library does not ask for this one */
        show("realloc", throws, [] { return realloc(malloc(10), too_much); });
    tc_set_new_mode(0);
    all(throws);
    return 0;
}
