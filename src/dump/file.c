/* file.c - a profile to a descriptor, or as a file that is complete or absent. See impl.h.
 *
 * Climate: host, no malloc.   Owns: the working memory and the temporary file of one call.
 */
#include <errno.h>

#include "dump/impl.h"
#include "os/draft.h"
#include "os/os.h"

#define BUFFER_BYTES KiB(64)

int vt__write_fd(int fd, vt_writer *writer, const void *src) {
    struct vt_held_signals held;
    struct vt_out o;
    void *buf = NULL;
    int err = vt__os_map(BUFFER_BYTES, &buf);
    if (err != 0) return err;
    int patient = vt__os_open_patient(fd);
    vt__os_hold_write_signals(&held);
    vt__out_begin(&o, patient >= 0 ? patient : fd, buf, BUFFER_BYTES);
    err = writer(&o, src);
    int write_err = vt__out_end(&o);
    vt__os_release_write_signals(&held, write_err);
    if (patient >= 0) vt__os_close(patient);
    vt__os_unmap(buf, BUFFER_BYTES);
    return write_err != 0 ? write_err : err;
}

static int write_draft(const char *path, char *buf, vt_writer *writer, const void *src) {
    struct vt_draft d;
    int err = vt__draft_open(&d, path, buf, 0644);
    if (err != 0) return err;
    err = vt__write_fd(d.fd, writer, src);
    int close_err = vt__os_close_written(d.fd);
    return vt__draft_end(&d, err != 0 ? err : close_err);
}

/* What is behind a regular file's name is replaced, so it may be written more than once. */
int vt__written_in_place(const char *path) {
    struct vt_place p;
    void *buf = NULL;
    int err = vt__os_map(VT_PLACE_BYTES, &buf);
    if (err != 0) return err;
    err = vt__place_find(&p, path, buf);
    if (err == 0) {
        if (p.kind != VT_PLACE_FILE) {
            err = vt__place_can_open(&p);
            if (err == 0) err = 1;
        }
        vt__os_close(p.folder);
    }
    vt__os_unmap(buf, VT_PLACE_BYTES);
    return err;
}

void vt__say_not_written(const char *path, int err) {
    char line[512];
    struct vt_text t = {line, sizeof(line) - 1, 0, false, NULL, NULL};
    size_t n = vt__str_len(path);
    const char *words = vt__os_error_words(err);
    vt__text_put(&t, "vitrine: error: cannot write profile '");
    if (n > 400) { /* the end of a name says more than its beginning */
        path += n - 400, n = 400;
        vt__text_put(&t, "...");
    }
    vt__text_shown(&t, path, n);
    vt__text_put(&t, "': ");
    if (words != NULL)
        vt__text_put(&t, words);
    else
        vt__text_put(&t, "error "), vt__text_uint(&t, (uint64_t)-err);
    line[t.len++] = '\n';
    struct vt_held_signals held;
    vt__os_hold_write_signals(&held);
    vt__os_release_write_signals(&held, vt__os_write(2, line, t.len));
}

int vt__write_file_quietly(const char *path, vt_writer *writer, const void *src) {
    void *path_buf = NULL;
    int err = vt__os_map(VT_PLACE_BYTES, &path_buf);
    if (err == 0) {
        err = write_draft(path, path_buf, writer, src);
        vt__os_unmap(path_buf, VT_PLACE_BYTES);
    }
    return err;
}

int vt__write_file(const char *path, vt_writer *writer, const void *src) {
    int err = vt__write_file_quietly(path, writer, src);
    if (err != 0) vt__say_not_written(path, err);
    return err;
}

int vt__write_sink(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                   vt_writer *writer, const void *src) {
    void *buf = NULL;
    int err = vt__os_map(BUFFER_BYTES, &buf);
    if (err != 0) return err;
    struct vt_out o = {{buf, BUFFER_BYTES, 0, false, sink, arg}, -1, 0};
    err = writer(&o, src);
    vt__text_flush(&o.text);
    vt__os_unmap(buf, BUFFER_BYTES);
    return err;
}
