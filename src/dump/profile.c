/* profile.c - writes a heap profile in any of its formats. See profile.h. Climate: host, no malloc. */
#include "dump/profile.h"

#include <errno.h>

#include "dump/impl.h"

static int (*const writers[])(struct vt_out *o, const struct vt_heap_source *src) = {
    [VT_PROFILE_PROTO] = vt__heap_proto,
    [VT_GPERFTOOLS_HEAP] = vt__heap_gperftools,
    [VT_JEMALLOC_HEAP] = vt__heap_jemalloc,
    [VT_COLLAPSED] = vt__heap_collapsed,
};

struct job {
    enum vt_heap_format format;
    const struct vt_heap_source *src;
};

static int write_job(struct vt_out *o, const void *arg) {
    const struct job *job = arg;
    if ((unsigned)job->format >= vt_countof(writers)) return -EINVAL;
    return writers[job->format](o, job->src);
}

int vt__heap_write_fd(int fd, enum vt_heap_format format, const struct vt_heap_source *src) {
    struct job job = {format, src};
    return vt__write_fd(fd, write_job, &job);
}

int vt__heap_write_file(const char *path, enum vt_heap_format format,
                        const struct vt_heap_source *src) {
    struct job job = {format, src};
    return vt__write_file(path, write_job, &job);
}

int vt__heap_write_file_quietly(const char *path, enum vt_heap_format format,
                                const struct vt_heap_source *src) {
    struct job job = {format, src};
    return vt__write_file_quietly(path, write_job, &job);
}

int vt__heap_write_sink(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                        enum vt_heap_format format, const struct vt_heap_source *src) {
    struct job job = {format, src};
    return vt__write_sink(sink, arg, write_job, &job);
}
