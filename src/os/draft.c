/* draft.c - see draft.h. Climate: malloc.   Owns: nothing.
 *
 * Every step of writing a file (create, write, close, rename) can be made to fail, see fail.c: `file`.
 */
#include "os/draft.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/impl.h"

#define N_NAMES_TRIED 100
#define N_RANDOM_DIGITS 16

static const char begin_of_name[] = ".vitrine.", end_of_name[] = ".tmp";

/* A name of our own, not the file's with something behind it: that may be as long as names can be, and `app.*` would match. */
static void name_draft(struct vt_draft *d) {
    struct vt_text text = VT_TEXT(d->temporary);
    uint64_t random = vt__os_random();
    vt__text_put(&text, begin_of_name);
    vt__text_uint(&text, (uint64_t)vt__os_pid());
    vt__text_char(&text, '.');
    vt__text_uint(&text, (uint64_t)vt__os_tid());
    vt__text_char(&text, '.');
    for (unsigned i = N_RANDOM_DIGITS; i-- > 0;)
        vt__text_char(&text, "0123456789abcdef"[random >> (4 * i) & 15]);
    vt__text_put(&text, end_of_name);
    vt__text_char(&text, '\0');
}

/* ---- those that were left behind ---- */

static const char *skip_number(const char *s) {
    const char *end = s;
    while (*end >= '0' && *end <= '9') end++;
    return end > s && *end == '.' ? end + 1 : NULL;
}

static bool is_draft(const char *name) {
    if (!vt__str_starts(name, begin_of_name)) return false;
    name = skip_number(name + sizeof(begin_of_name) - 1);
    if (name != NULL) name = skip_number(name);
    if (name == NULL) return false;
    unsigned n = 0;
    while (vt__digit_of(name[n]) < 16) n++;
    return n == N_RANDOM_DIGITS && vt__str_equal(name + n, end_of_name);
}

static bool is_our_file(const struct vt_place *p, int fd) {
    struct stat s = {0};
    return vt__syscall(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && S_ISREG(s.st_mode) &&
           s.st_uid == p->me && s.st_nlink == 1;
}

static int try_lock(int fd) {
    return (int)vt__syscall(SYS_flock, fd, LOCK_EX | LOCK_NB, 0, 0, 0, 0);
}

/* A process that lives has the lock, in whatever container it is. Where files cannot be locked, none is removed. */
static void remove_if_left(const char *name, void *arg) {
    const struct vt_place *p = arg;
    if (!is_draft(name)) return;
    int fd = vt__os_open_at(p->folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (is_our_file(p, fd) && try_lock(fd) == 0) vt__os_unlink(p->folder, name);
    vt__os_close(fd);
}

static void remove_left(struct vt_place *p) {
    int names = vt__place_names(p->folder);
    if (names < 0) return;
    vt__os_each_name(names, remove_if_left, p);
    vt__os_close(names);
}

/* ---- a new one ---- */

/* False: another process takes it for one that was left, and removes it before we have the lock. */
static bool keeps_its_name(struct vt_draft *d) {
    struct stat s = {0};
    if (try_lock(d->fd) == -EWOULDBLOCK) return false;
    if (vt__syscall(SYS_fstat, d->fd, (long)&s, 0, 0, 0, 0) == 0 && s.st_nlink == 0) return false;
    d->lock = (int)vt__syscall(SYS_fcntl, d->fd, F_DUPFD_CLOEXEC, 3, 0, 0, 0);
    return true;
}

static int create(struct vt_draft *d, unsigned mode) {
    for (unsigned n = 0; n < N_NAMES_TRIED; n++) {
        name_draft(d);
        d->fd = vt__os_forced_failure(VT_CALL_FILE);
        if (d->fd == 0)
            d->fd = vt__os_open_at(d->place.folder, d->temporary,
                                   O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        if (d->fd == -EEXIST) continue; /* by another who guesses well */
        if (d->fd < 0) return d->fd;
        if (keeps_its_name(d)) return 0;
        vt__os_unlink(d->place.folder, d->temporary);
        vt__os_close(d->fd);
    }
    return -EEXIST;
}

int vt__draft_open(struct vt_draft *d, const char *path, char *buf, unsigned mode) {
    *d = (struct vt_draft){.fd = -1, .lock = -1};
    int err = vt__place_find(&d->place, path, buf);
    if (err != 0) return err;
    if (d->place.kind == VT_PLACE_FILE) {
        remove_left(&d->place);
        err = create(d, mode);
    } else {
        d->fd = vt__place_open(&d->place);
        err = d->fd < 0 ? d->fd : 0;
    }
    if (err != 0) vt__os_close(d->place.folder);
    return err;
}

static int rename_draft(const struct vt_draft *d) {
    int err = vt__os_forced_failure(VT_CALL_FILE);
    if (err != 0) return err;
    int folder = d->place.folder;
    return (int)vt__syscall(SYS_renameat, folder, (long)d->temporary, folder, (long)d->place.name,
                            0, 0);
}

static void leave(const struct vt_draft *d) {
    if (d->lock >= 0) vt__os_close(d->lock);
    vt__os_close(d->place.folder);
}

int vt__draft_end(struct vt_draft *d, int err) {
    if (d->temporary[0] != '\0') {
        if (err == 0) err = rename_draft(d);
        if (err != 0) vt__os_unlink(d->place.folder, d->temporary);
    }
    leave(d);
    return err;
}

/* A second name, and the first goes: unlike rename it leaves alone what is there. */
int vt__draft_end_as(struct vt_draft *d, const char *name) {
    int folder = d->place.folder;
    int err = vt__os_forced_failure(VT_CALL_FILE);
    if (err == 0)
        err = (int)vt__syscall(SYS_linkat, folder, (long)d->temporary, folder, (long)name, 0, 0);
    if (err != 0) return err;
    vt__os_unlink(folder, d->temporary);
    leave(d);
    return 0;
}
