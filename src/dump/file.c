/* file.c - a profile to a descriptor, or as a file that is complete or absent. See impl.h.
 *
 * Climate: host, no malloc.   Owns: the working memory and the temporary file of one call.
 */
#include <errno.h>

#include "dump/impl.h"
#include "os/os.h"

#define BUFFER_BYTES KiB(64)
#define FOLDER_BYTES KiB(4) /* PATH_MAX */
#define N_NAMES_TRIED 100

int vt__write_fd(int fd, vt_writer *writer, const void *src) {
    struct vt_held_signals held;
    struct vt_out o;
    void *buf = NULL;
    int err = vt__work_take(BUFFER_BYTES, &buf);
    if (err != 0) return err;
    vt__os_hold_write_signals(&held);
    vt__out_begin(&o, fd, buf, BUFFER_BYTES);
    err = writer(&o, src);
    int write_err = vt__out_end(&o);
    vt__os_release_write_signals(&held, write_err);
    vt__work_give(buf, BUFFER_BYTES);
    return write_err != 0 ? write_err : err;
}

struct target {
    int folder;
    const char *name; /* in the folder */
    int fd;
    char temporary[64]; /* empty: written in place */
};

/* The folder of `path`, with a copy of its name in `buf`. */
static int open_folder(struct target *t, const char *path, char *buf) {
    size_t n = vt__str_len(path);
    while (n > 0 && path[n - 1] != '/') n--;
    t->name = path + n;
    if (t->name[0] == '\0') return path[0] == '\0' ? -ENOENT : -EISDIR;
    if (n >= FOLDER_BYTES) return -ENAMETOOLONG;
    struct vt_text text = {buf, FOLDER_BYTES, 0, false, NULL, NULL};
    vt__text_put_n(&text, n == 0 ? "." : path, n == 0 ? 1 : n);
    vt__text_char(&text, '\0');
    t->folder = vt__os_open_folder(buf);
    return t->folder < 0 ? t->folder : 0;
}

/* A name of our own, not the file's with something behind it: that may be as long as names can be, and `app.*` would match. */
static void name_temporary(struct target *t, unsigned n) {
    struct vt_text text = VT_TEXT(t->temporary);
    vt__text_put(&text, ".vitrine.");
    vt__text_uint(&text, (uint64_t)vt__os_pid());
    vt__text_char(&text, '.');
    vt__text_uint(&text, (uint64_t)vt__os_tid());
    vt__text_char(&text, '.');
    vt__text_uint(&text, n);
    vt__text_put(&text, ".tmp");
    vt__text_char(&text, '\0');
}

static int open_target(struct target *t) {
    if (vt__os_is_special(t->folder, t->name)) {
        t->temporary[0] = '\0';
        t->fd = vt__os_open_in_place(t->folder, t->name);
        return t->fd < 0 ? t->fd : 0;
    }
    t->fd =
        -EEXIST; /* a name may be taken: by a crash, or by another container on the same volume */
    for (unsigned n = 0; t->fd == -EEXIST && n < N_NAMES_TRIED; n++) {
        name_temporary(t, n);
        t->fd = vt__os_create(t->folder, t->temporary);
    }
    return t->fd < 0 ? t->fd : 0;
}

/* Gives the file its name, or removes every trace of it. */
static int close_target(struct target *t, int err) {
    if (err != 0 && t->temporary[0] == '\0') vt__os_empty(t->fd); /* a file behind a link */
    int close_err = vt__os_close_written(t->fd);
    if (err == 0) err = close_err;
    if (t->temporary[0] == '\0') return err;
    if (err == 0) err = vt__os_rename(t->folder, t->temporary, t->name);
    if (err != 0) vt__os_unlink(t->folder, t->temporary);
    return err;
}

static int write_target(const char *path, char *folder_buf, vt_writer *writer, const void *src) {
    struct target t = {.folder = -1};
    int err = open_folder(&t, path, folder_buf);
    if (err != 0) return err;
    err = open_target(&t);
    if (err == 0) err = close_target(&t, vt__write_fd(t.fd, writer, src));
    vt__os_close(t.folder);
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
    vt__put_tame(&t, path, n, "");
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
    void *folder_buf = NULL;
    int err = vt__work_take(FOLDER_BYTES, &folder_buf);
    if (err == 0) {
        err = write_target(path, folder_buf, writer, src);
        vt__work_give(folder_buf, FOLDER_BYTES);
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
    int err = vt__work_take(BUFFER_BYTES, &buf);
    if (err != 0) return err;
    struct vt_out o = {{buf, BUFFER_BYTES, 0, false, sink, arg}, -1, 0};
    err = writer(&o, src);
    vt__text_flush(&o.text);
    vt__work_give(buf, BUFFER_BYTES);
    return err;
}
