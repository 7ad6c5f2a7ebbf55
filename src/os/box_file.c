/* box_file.c - see box_file.h.
 *
 *   file     | head | first entries ... | entries ... | words ... | counts ... | tasks ... | tables ...      sparse, a gigabyte long
 *   memory   the same from `base` on, mapped shared; the descriptor is closed
 *
 * Each region has its place for good. A piece gets its room on the disk when the region grows (MADV_POPULATE_WRITE, Linux 5.14).
 * If there is none, memory takes the piece's place: the process loses nothing, who reads the file misses it, and a SIGBUS there never
 * is. Older kernels have no such call: there the file is small, and has all its room from the beginning.
 *
 * Nobody calls msync: what a process has written to a shared mapping is in the file when it is dead. If the machine dies, it may not be.
 *
 * Fork: the child must not write into the parent's file. What is in it is copied before, when all locks are held; the child
 * puts the copy, which is its own memory, where the file was. Its own file is made later, if it ever has something to
 * record: most children call exec.
 *
 * Climate: host, no malloc; making room: signal.   Owns: the mapping, the guard.   Locks: who starts or forks is alone. Who makes room
 * holds signals back and has `is_settling`: no handler waits for the code that it interrupted.
 */
#include "os/box_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/text.h"
#include "os/draft.h"
#include "os/impl.h"
#include "os/upcalls.h"

#define MADVISE_WIPE_ON_FORK 18   /* MADV_WIPEONFORK, Linux 4.14 */
#define MADVISE_POPULATE_WRITE 23 /* MADV_POPULATE_WRITE, Linux 5.14 */

#define HEAD_BYTES VT_OS_PAGE
#define MAX_ROOM MiB(256)   /* on the disk */
#define WHOLE_BYTES MiB(32) /* of a file that has all its room at once */
#define LEAST_BYTES MiB(8)
#define N_NAMES 100
#define SETTLING_NS 20000 /* about as long as a piece takes */
_Static_assert(sizeof(struct vt_box) <= HEAD_BYTES, "the regions come behind the head");

static const size_t most_bytes[VT_BOX_N_REGIONS] = {
    [VT_BOX_FIRST_ENTRIES] = MiB(64), [VT_BOX_ENTRIES] = MiB(16),    [VT_BOX_WORDS] = MiB(512),
    [VT_BOX_CPU_COUNTS] = MiB(64),    [VT_BOX_CPU_TASKS] = MiB(256), [VT_BOX_TABLES] = MiB(256),
};

static struct {
    unsigned shift; /* regions have so much less than most_bytes */
    bool is_roomy;  /* all the room is there */
    bool
        is_detached; /* what is at base is memory of our own: the child of a fork, without a file so far */
    _Atomic size_t n_room;
    _Atomic bool is_settling;
    size_t n_settled
        [VT_BOX_N_REGIONS]; /* bytes of each that are in the file, or in memory, for good */
    volatile struct vt_box_guard *guard;
    /* the copy that a child finds, as long as the fork takes */
    char *copy;
    size_t n_copy_bytes, n_copied[VT_BOX_N_REGIONS + 1];
    /* to remove it again */
    uint64_t device, inode;
    char path[VT_PLACE_BYTES], place[VT_PLACE_BYTES];
} file;

/* ---- where things are ---- */

static size_t region_bytes(unsigned which) { return most_bytes[which] >> file.shift; }

static size_t region_start(unsigned which) {
    size_t at = HEAD_BYTES;
    for (unsigned i = 0; i < which; i++) at += region_bytes(i);
    return at;
}

static void place(unsigned which, void **at, size_t *n_bytes) {
    *at = vt__box_span.base + region_start(which);
    *n_bytes = vt_min(*n_bytes, region_bytes(which));
}

/* ---- room ---- */

static int populate(void *at, size_t n_bytes) {
    int err = vt__os_forced_failure(VT_CALL_POPULATE);
    if (err != 0) return -EINVAL; /* as a kernel that does not know it */
    err = (int)vt__syscall(SYS_madvise, (long)at, (long)n_bytes, MADVISE_POPULATE_WRITE, 0, 0, 0);
    return err == -EFAULT ? -ENOSPC : err; /* writing there would be a SIGBUS */
}

static int make_room_in_file(void *at, size_t n_bytes) {
    size_t before = atomic_fetch_add_explicit(&file.n_room, n_bytes, memory_order_relaxed);
    int err = before + n_bytes > MAX_ROOM ? -ENOSPC : populate(at, n_bytes);
    if (err != 0) atomic_fetch_sub_explicit(&file.n_room, n_bytes, memory_order_relaxed);
    return err;
}

static void lose(size_t n_bytes) {
    uint64_t before = __atomic_fetch_add(&vt__box->n_lost_bytes, n_bytes, __ATOMIC_RELAXED);
    if (before == 0 && !file.is_detached) vt__life_box_is_full(file.path);
}

static int make_room_in_memory(void *at, size_t n_bytes) {
    void *got = NULL;
    lose(n_bytes);
    return vt__os_program_mmap(at, n_bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0,
                               &got);
}

static unsigned region_at(const void *at) {
    size_t offset = (size_t)((const char *)at - vt__box_span.base);
    unsigned which = 0;
    while (which + 1 < VT_BOX_N_REGIONS && region_start(which + 1) <= offset) which++;
    return which;
}

/* Whoever came before may have settled some of it: that is in use already. What is in VT_BOX_TABLES is found by its address, and so
 * can be anywhere: box_take.c. */
static int settle(unsigned which, void *at, size_t n_bytes) {
    char *first = vt__box_span.base + region_start(which);
    size_t end = (size_t)((char *)at - first) + n_bytes;
    size_t from = vt_max(end - n_bytes, file.n_settled[which]);
    if (from >= end) return 0;
    int err = make_room_in_file(first + from, end - from);
    if (err != 0 && which != VT_BOX_TABLES) err = make_room_in_memory(first + from, end - from);
    if (err != 0) return err;
    vt__os_core(first + from, end - from, /* is_wanted */ true);
    file.n_settled[which] = end;
    return 0;
}

static int make_room(void *at, size_t n_bytes) {
    if (file.is_detached) vt__os_core(at, n_bytes, /* is_wanted */ true);
    if (file.is_roomy || file.is_detached) return 0;
    uint64_t mask = vt__os_hold_signals(UINT64_MAX);
    /* acquire: what the last one settled; pairs with the release below */
    while (atomic_exchange_explicit(&file.is_settling, true, memory_order_acquire))
        vt__os_sleep_ns(SETTLING_NS);
    int err = settle(region_at(at), at, n_bytes);
    atomic_store_explicit(&file.is_settling, false, memory_order_release);
    vt__os_restore_signals(mask);
    return err;
}

/* ---- making it ---- */

static int set_length(int fd, size_t n_bytes) {
    return (int)vt__syscall(SYS_ftruncate, fd, (long)n_bytes, 0, 0, 0, 0);
}

static int map_shared(void *at, size_t n_bytes, int flags, int fd, size_t offset, void **out) {
    return vt__os_program_mmap(at, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd,
                               (long)offset, out);
}

static size_t whole_bytes(void) { return region_start(VT_BOX_N_REGIONS); }

/* Where addresses are few they are for the program. */
static int choose_length(size_t most) {
    size_t limit = vt__os_address_limit();
    if (limit != SIZE_MAX) most = vt_min(most, limit / 16);
    for (file.shift = 0; whole_bytes() > most; file.shift++)
        if (whole_bytes() < 2 * LEAST_BYTES) return -ENOMEM;
    return 0;
}

/* Of what is mapped at once and used from its beginning on: gcore would write all of it. */
static void leave_out_of_cores(char *at, size_t n_used, size_t n_bytes) {
    n_used = vt_round_up(n_used, VT_OS_PAGE);
    if (n_used < n_bytes) vt__os_core(at + n_used, n_bytes - n_used, /* is_wanted */ false);
}

/* The head has its room, and so has the rest on a kernel that cannot make it later. */
static int map_with_room(int fd, void **base) {
    int err = choose_length(SIZE_MAX);
    if (err == 0) err = set_length(fd, whole_bytes());
    if (err == 0) err = map_shared(NULL, whole_bytes(), 0, fd, 0, base);
    if (err != 0) return err;
    err = populate(*base, HEAD_BYTES);
    if (err == 0) leave_out_of_cores(*base, HEAD_BYTES, whole_bytes());
    if (err != -EINVAL) return err;
    vt__os_unmap(*base, whole_bytes());
    *base = NULL;
    err = choose_length(WHOLE_BYTES);
    if (err == 0) err = set_length(fd, whole_bytes());
    if (err == 0) err = (int)vt__syscall(SYS_fallocate, fd, 0, 0, (long)whole_bytes(), 0, 0);
    if (err == 0) err = map_shared(NULL, whole_bytes(), 0, fd, 0, base);
    file.is_roomy = err == 0;
    return err;
}

static void note_identity(int fd) {
    struct stat s = {0};
    vt__syscall(SYS_fstat, fd, (long)&s, 0, 0, 0, 0);
    file.device = s.st_dev;
    file.inode = s.st_ino;
}

static int write_at(int fd, const char *from, size_t n_bytes, size_t offset) {
    while (n_bytes > 0) {
        long n = vt__syscall(SYS_pwrite64, fd, (long)from, (long)n_bytes, (long)offset, 0, 0);
        if (n == -EINTR) continue;
        if (n <= 0) return n < 0 ? (int)n : -ENOSPC;
        from += n, offset += (size_t)n, n_bytes -= (size_t)n;
    }
    return 0;
}

/* Is the box of this name that of the program which this process ran before it called exec? Then it is told so. */
static void tell_replaced(const struct vt_draft *d, const char *name) {
    struct vt_box head;
    uint32_t state = VT_BOX_REPLACED;
    int fd = vt__os_open_at(d->place.folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) return;
    if (vt__os_read_at(fd, &head, sizeof(head), 0) == (long)sizeof(head) &&
        __builtin_memcmp(head.magic, VT_BOX_MAGIC, sizeof(head.magic)) == 0 &&
        head.pid == (uint32_t)vt__os_pid() && head.state == VT_BOX_LIVE)
        (void)write_at(fd, (const char *)&state, sizeof(state), offsetof(struct vt_box, state));
    vt__os_close(fd);
}

/* NAME, NAME.PID, NAME.PID.1, ... whichever nobody has. */
static int give_name(struct vt_draft *d, bool has_process) {
    size_t n_path = vt__str_len(file.path);
    for (unsigned i = has_process ? 1 : 0; i < N_NAMES; i++) {
        char end[32], name[VT_PLACE_BYTES / 8];
        struct vt_text e = VT_TEXT(end), n = VT_TEXT(name), p = VT_TEXT(file.path);
        if (i > 0) vt__text_char(&e, '.'), vt__text_uint(&e, (uint64_t)vt__os_pid());
        if (i > 1) vt__text_char(&e, '.'), vt__text_uint(&e, i - 1);
        vt__text_char(&e, '\0');
        vt__text_put(&n, d->place.name);
        vt__text_put(&n, end);
        vt__text_char(&n, '\0');
        p.len = n_path;
        vt__text_put(&p, end);
        vt__text_char(&p, '\0');
        if (n.is_cut || p.is_cut) return -ENAMETOOLONG;
        int err = vt__draft_end_as(d, name);
        if (err != -EEXIST) return err;
        tell_replaced(d, name);
    }
    return -EEXIST;
}

static int keep_path(const char *path) {
    struct vt_text t = VT_TEXT(file.path);
    if (path[0] != '/') {
        vt__os_folder(file.place, sizeof(file.place));
        vt__text_put(&t, file.place);
        vt__text_char(&t, '/');
    }
    vt__text_put(&t, path);
    vt__text_char(&t, '\0');
    return t.is_cut ? -ENAMETOOLONG : 0;
}

void vt__box_calm(void) {
    if (file.guard == NULL) return;
    file.guard->next_run = (uint32_t)vt__box->exact_run + 1;
    file.guard->is_mine = 1;
}

/* A word that is 1 here and 0 in every child that gets a copy of our memory. */
static void set_guard(void) {
    void *at = NULL;
    if (file.guard == NULL && vt__os_map(VT_OS_PAGE, &at) == 0) {
        if (vt__syscall(SYS_madvise, (long)at, VT_OS_PAGE, MADVISE_WIPE_ON_FORK, 0, 0, 0) == 0)
            file.guard = at;
        else
            vt__os_unmap(at, VT_OS_PAGE); /* an old kernel: a bare clone() goes unnoticed */
    }
    if (file.guard == NULL) return;
    vt__box_calm();
    vt__box_guard = file.guard;
}

/* Before the file has its name: who finds it finds a whole head. */
static void write_head(void *base) {
    struct vt_box *b = base;
    *b = *vt__box_begun();
    b->at = b->base = (uintptr_t)base;
    b->end = b->base + whole_bytes();
}

static void move_head(void *base) {
    struct vt_box *old = vt__box, *b = base;
    old->state = VT_BOX_MOVED;
    old->file = (uintptr_t)file.path;
    old->base = b->base;
    vt__box_span = (struct vt_box_span){base, whole_bytes(), place, make_room, lose};
    vt__box = b;
}

/* ---- of a child ---- */

struct extent {
    char *at;
    size_t n_bytes, n_used;
};

/* Number 0 is the head. A region that is not there yet has its place all the same: it may come later. */
static struct extent extent_of(unsigned number) {
    if (number == 0) return (struct extent){vt__box_span.base, HEAD_BYTES, HEAD_BYTES};
    unsigned which = number - 1;
    const struct vt_region *r = vt__box_regions[which];
    if (r == NULL || !vt__box_holds(atomic_load_explicit(&r->base, memory_order_relaxed)))
        return (struct extent){vt__box_span.base + region_start(which), region_bytes(which), 0};
    return (struct extent){atomic_load_explicit(&r->base, memory_order_relaxed),
                           atomic_load_explicit(&r->n_bytes, memory_order_relaxed),
                           atomic_load_explicit(&r->n_ready, memory_order_relaxed)};
}
#define N_EXTENTS (VT_BOX_N_REGIONS + 1)

/* What is in memory goes to the file, and the file where it was. */
static int move_tables(int fd) {
    void *got = NULL;
    int err = set_length(fd, whole_bytes());
    size_t n_room = 0;
    for (unsigned i = 0; err == 0 && i < N_EXTENTS; i++) {
        struct extent e = extent_of(i);
        err = write_at(fd, e.at, e.n_used, (size_t)(e.at - vt__box_span.base));
        n_room += e.n_used;
        if (i > 0) file.n_settled[i - 1] = e.n_used;
    }
    if (err == 0 && file.is_roomy)
        err = (int)vt__syscall(SYS_fallocate, fd, 0, 0, (long)whole_bytes(), 0, 0);
    for (unsigned i = 0; err == 0 && i < N_EXTENTS; i++) {
        struct extent e = extent_of(i);
        err = map_shared(e.at, e.n_bytes, MAP_FIXED, fd, (size_t)(e.at - vt__box_span.base), &got);
        if (err == 0) leave_out_of_cores(e.at, e.n_used, e.n_bytes);
    }
    atomic_store_explicit(&file.n_room, n_room, memory_order_relaxed);
    return err;
}

/* ---- exported: making and removing ---- */

int vt__box_file_make(const char *path, bool has_process) {
    struct vt_draft d;
    struct vt_held_signals held;
    void *base = NULL;
    int err = keep_path(path);
    vt__box->pid = (uint32_t)vt__os_pid(); /* in the child of a fork it is another */
    if (err == 0) err = vt__draft_open(&d, file.path, file.place, 0600);
    if (err != 0) return err;
    vt__os_hold_write_signals(&held);
    if (d.place.kind != VT_PLACE_FILE)
        err = -EINVAL;
    else
        err = vt__box_has_file() ? move_tables(d.fd) : map_with_room(d.fd, &base);
    vt__os_release_write_signals(&held, err);
    if (err == 0) note_identity(d.fd);
    if (err == 0 && base != NULL) write_head(base);
    vt__os_close(d.fd);
    if (err == 0) err = give_name(&d, has_process);
    if (err != 0) vt__draft_end(&d, err);
    if (base != NULL && err != 0) vt__os_unmap(base, whole_bytes());
    if (err != 0) return err;
    if (base != NULL) move_head(base);
    file.is_detached = false;
    set_guard();
    return 0;
}

void vt__box_file_remove(void) {
    struct stat s = {0};
    if (!vt__box_has_file() || file.is_detached) return;
    long err =
        vt__syscall(SYS_newfstatat, AT_FDCWD, (long)file.path, (long)&s, AT_SYMLINK_NOFOLLOW, 0, 0);
    if (err == 0 && s.st_dev == file.device && s.st_ino == file.inode)
        vt__os_unlink(AT_FDCWD, file.path);
}

/* And nobody else's name for another file. Root's is ours, too: the process may have been root when it began. */
static bool is_ours(int fd) {
    struct stat s = {0};
    uint32_t me = (uint32_t)vt__syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
    return vt__syscall(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && S_ISREG(s.st_mode) &&
           s.st_nlink == 1 && (s.st_uid == me || s.st_uid == 0);
}

int vt__box_file_open_beside(const char *name) {
    char path[VT_PLACE_BYTES];
    struct vt_text t = VT_TEXT(path);
    size_t n = vt__str_len(file.path);
    while (n > 0 && file.path[n - 1] != '/') n--;
    vt__text_put_n(&t, file.path, n);
    vt__text_put(&t, name);
    vt__text_char(&t, '\0');
    if (t.is_cut || n == 0) return -ENOENT;
    int fd = vt__os_open_at(AT_FDCWD, path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0 || is_ours(fd)) return fd;
    vt__os_close(fd);
    return -EPERM;
}

void vt__box_file_tell(int fd, const void *data, size_t n_bytes) {
    struct vt_held_signals held;
    vt__os_hold_write_signals(&held);
    int err = vt__os_write(fd, data, n_bytes);
    vt__os_release_write_signals(&held, err);
    vt__os_close(fd);
}

/* ---- exported: fork ---- */

static void copy_tables(void) {
    void *copy = NULL;
    file.n_copy_bytes = 0;
    for (unsigned i = 0; i < N_EXTENTS; i++) {
        file.n_copied[i] = extent_of(i).n_used; /* it may grow meanwhile */
        file.n_copy_bytes += file.n_copied[i];
    }
    file.copy = vt__os_map(file.n_copy_bytes, &copy) == 0 ? copy : NULL;
    char *to = copy;
    for (unsigned i = 0; to != NULL && i < N_EXTENTS; i++) {
        __builtin_memcpy(to, extent_of(i).at, file.n_copied[i]);
        to += file.n_copied[i];
    }
}

/* Whatever grows from here on is memory, too. */
static void put_copy_in_place(void) {
    char *from = file.copy;
    void *got = NULL;
    for (unsigned i = 0; i < N_EXTENTS; i++) {
        struct extent e = extent_of(i);
        vt__os_program_mmap(e.at, e.n_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0, &got);
        size_t n = file.n_copied[i];
        leave_out_of_cores(e.at, n, e.n_bytes);
        if (n > 0) vt__os_program_mremap(from, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, e.at, &got);
        from += n;
    }
    file.copy = NULL;
    file.is_detached = true;
    file.inode = 0;
    /* a thread that is not here may have been at it; relaxed: there is no other */
    atomic_store_explicit(&file.is_settling, false, memory_order_relaxed);
}

bool vt__box_detach(void) {
    if (!vt__box_has_file() || file.is_detached) return false;
    if (file.copy == NULL) copy_tables();
    if (file.copy == NULL) return false; /* no memory at all: it is the parent's, then */
    put_copy_in_place();
    return true;
}

void vt__box_fork_prepare(void) {
    if (vt__box_has_file() && !file.is_detached) copy_tables();
}

void vt__box_fork_done(bool is_child) {
    if (!vt__box_has_file()) return;
    if (is_child)
        (void)vt__box_detach();
    else if (file.copy != NULL)
        vt__os_unmap(file.copy, file.n_copy_bytes);
    file.copy = NULL;
}
