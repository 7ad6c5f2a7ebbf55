/* test_profile.c - files that are complete or absent: whatever fails, nothing partial is left, one line says why, and the
 * program goes on. */
#include "source.h"

#include <dirent.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

static char folder[64]; /* of this test alone */

static void enter_folder(void) {
    snprintf(folder, sizeof(folder), "/tmp/vt-profile.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
}

static int names_in(const char *where, char *names, size_t cap) {
    int n = 0;
    DIR *d = opendir(where);
    assert_non_null(d);
    names[0] = '\0';
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        n++;
        snprintf(names + strlen(names), cap - strlen(names), "%s ", e->d_name);
    }
    closedir(d);
    return n;
}

/* The folder holds these names and no other; `expected` ends in a space unless it is empty. One name at most. */
static void assert_names(const char *expected) {
    char names[1024];
    names_in(".", names, sizeof(names));
    assert_string_equal(names, expected);
}

static void leave_folder(void) {
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(system(command), 0);
}

static struct many many;

static struct vt_heap_source some_rows(unsigned n) { return source_of_many(&many, n, 8); }

struct attempt {
    const char *path;
    enum vt_heap_format format;
    unsigned n_rows;
    int result;
};

static void try_to_write(void *arg) {
    struct attempt *a = arg;
    struct vt_heap_source src = some_rows(a->n_rows);
    _exit(-vt__heap_write_file(a->path, a->format, &src));
}

/* Writes in a child; the result must be this, and stderr one line that begins and ends like this. */
static void assert_fails(const char *path, int expected, const char *line) {
    for (int format = VT_PROFILE_PROTO; format <= VT_COLLAPSED; format++) {
        struct attempt a = {path, format, 20000, 0};
        int status;
        const char *seen = unit_stderr_of(try_to_write, &a, &status);
        assert_true_msg(WIFEXITED(status), "expected an exit, seen status 0x%x", (unsigned)status);
        assert_int_equal(-WEXITSTATUS(status), expected);
        assert_string_equal(seen, line);
    }
}

static size_t size_of(const char *path) {
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    return (size_t)s.st_size;
}

TEST(profile, a_file_is_written_and_replaced) {
    enter_folder();
    struct vt_heap_source src = some_rows(1000);
    for (int format = VT_PROFILE_PROTO; format <= VT_COLLAPSED; format++) {
        size_t n;
        char *expected = written(format, &src, &n);
        assert_int_equal(vt__heap_write_file("a.heap", format, &src), 0);
        assert_names("a.heap ");
        if (format == VT_COLLAPSED) assert_int_equal(size_of("a.heap"), n);
        free(expected);
    }
    assert_int_equal(vt__heap_write_file("./a.heap", VT_COLLAPSED, &src), 0);
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(vt__heap_write_file("sub/../a.heap", VT_COLLAPSED, &src), 0);
    assert_int_equal(rmdir("sub"), 0);
    char absolute[128];
    snprintf(absolute, sizeof(absolute), "%s/a.heap", folder);
    assert_int_equal(vt__heap_write_file(absolute, VT_COLLAPSED, &src), 0);
    assert_names("a.heap ");
    leave_folder();
}

TEST(profile, the_mode_follows_the_umask) {
    struct stat s;
    enter_folder();
    struct vt_heap_source src = some_rows(1);
    umask(022);
    assert_int_equal(vt__heap_write_file("a", VT_COLLAPSED, &src), 0);
    assert_int_equal(stat("a", &s), 0);
    assert_int_equal(s.st_mode & 0777, 0644);
    umask(077);
    assert_int_equal(vt__heap_write_file("a", VT_COLLAPSED, &src), 0);
    assert_int_equal(stat("a", &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    leave_folder();
}

TEST(profile, odd_names_are_fine) {
    static const char *const names[] = {" ",   "a b;c",   "\xff\xfe", "new\nline",
                                        "-rf", ".hidden", "%s%n",     "~"};
    char longest[NAME_MAX + 1];
    enter_folder();
    struct vt_heap_source src = some_rows(3);
    for (size_t i = 0; i < vt_countof(names); i++) {
        char expected[64];
        assert_int_equal(vt__heap_write_file(names[i], VT_COLLAPSED, &src), 0);
        snprintf(expected, sizeof(expected), "%s ", names[i]);
        assert_names(expected);
        assert_int_equal(unlink(names[i]), 0);
    }
    memset(longest, 'x', NAME_MAX);
    longest[NAME_MAX] = '\0';
    assert_int_equal(vt__heap_write_file(longest, VT_COLLAPSED, &src), 0);
    assert_int_equal(unlink(longest), 0);
    leave_folder();
}

TEST(profile, names_that_cannot_be_written) {
    char too_long[NAME_MAX + 2];
    char line[NAME_MAX + 128];
    enter_folder();
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(close(open("file", O_CREAT | O_WRONLY, 0600)), 0);
    assert_fails(
        "missing/a.heap", -ENOENT,
        "vitrine: error: cannot write profile 'missing/a.heap': no such file or directory\n");
    assert_fails("file/a.heap", -ENOTDIR,
                 "vitrine: error: cannot write profile 'file/a.heap': not a directory\n");
    assert_fails("sub/", -EISDIR, "vitrine: error: cannot write profile 'sub/': is a directory\n");
    assert_fails("sub", -EISDIR, "vitrine: error: cannot write profile 'sub': is a directory\n");
    assert_fails("", -ENOENT,
                 "vitrine: error: cannot write profile '': no such file or directory\n");
    assert_fails(
        "missing/new\nline", -ENOENT,
        "vitrine: error: cannot write profile 'missing/new\\x0aline': no such file or directory\n");
    memset(too_long, 'x', NAME_MAX + 1);
    too_long[NAME_MAX + 1] = '\0';
    snprintf(line, sizeof(line), "vitrine: error: cannot write profile '%s': name too long\n",
             too_long);
    assert_fails(too_long, -ENAMETOOLONG, line);
    assert_int_equal(rmdir("sub"), 0); /* nothing was left in it */
    assert_names("file ");
    leave_folder();
}

TEST(profile, a_path_longer_than_the_system_knows) {
    char path[PATH_MAX + 100];
    for (size_t i = 0; i + 1 < sizeof(path); i += 2) memcpy(path + i, "./", 2);
    path[sizeof(path) - 1] = '\0';
    path[sizeof(path) - 2] = 'x';
    struct attempt a = {path, VT_COLLAPSED, 1, 0};
    int status;
    const char *seen = unit_stderr_of(try_to_write, &a, &status);
    assert_int_equal(WEXITSTATUS(status), ENAMETOOLONG);
    assert_non_null(strstr(seen, "cannot write profile '..."));
    assert_non_null(strstr(seen, "': name too long\n"));
}

/* The size limit stands for a full disk: some of the file is there when the write fails. SIGXFSZ would end the program. */
TEST(profile, a_full_disk_leaves_nothing_behind) {
    enter_folder();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){KiB(100), KiB(100)}), 0);
    assert_fails("a.heap", -EFBIG,
                 "vitrine: error: cannot write profile 'a.heap': file size limit exceeded\n");
    assert_names("");
    leave_folder();
}

TEST(profile, an_older_file_survives_a_full_disk) {
    enter_folder();
    struct vt_heap_source src = some_rows(10);
    assert_int_equal(vt__heap_write_file("a.heap", VT_COLLAPSED, &src), 0);
    size_t n = size_of("a.heap");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){KiB(100), KiB(100)}), 0);
    assert_fails("a.heap", -EFBIG,
                 "vitrine: error: cannot write profile 'a.heap': file size limit exceeded\n");
    assert_int_equal(size_of("a.heap"), n);
    assert_names("a.heap ");
    leave_folder();
}

TEST(profile, a_read_only_folder) {
    enter_folder();
    if (geteuid() == 0) { /* permissions do not stop root; a read-only file system does */
        assert_fails(
            "/proc/a.heap", -ENOENT,
            "vitrine: error: cannot write profile '/proc/a.heap': no such file or directory\n");
    } else {
        assert_int_equal(chmod(".", 0500), 0);
        assert_fails("a.heap", -EACCES,
                     "vitrine: error: cannot write profile 'a.heap': permission denied\n");
    }
    assert_names("");
    leave_folder();
}

/* Each step in turn: create, write, ..., close, rename. This test is run again for each, with its own environment. */
TEST(profile, one_step_that_is_told_to_fail) {
    enter_folder();
    struct vt_heap_source src = some_rows(20000);
    int err = vt__heap_write_file("a.heap", VT_COLLAPSED, &src);
    assert_true(err == 0 || err == -ENOSPC);
    assert_names(err == 0 ? "a.heap " : "");
    leave_folder();
    if (err != 0) _exit(3);
}

TEST(profile, whichever_step_fails_nothing_is_left) {
    unsigned n_failed = 0;
    for (int n = 1, status = -1; status != 0; n++) {
        char wish[64];
        snprintf(wish, sizeof(wish), "VITRINE_FAIL_NTH=%d:file", n);
        status = unit_spawn("one_step_that_is_told_to_fail", wish);
        assert_true(status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 3));
        n_failed += status != 0;
        assert_true(n < 1000);
    }
    assert_true(n_failed > 10); /* create, more than 1 MiB in writes, close, rename */
}

/* ... and without memory: the buffer, the tables, the maps. Maps that cannot be read are not worth failing for. */
TEST(profile, without_memory_for_one_step) {
    enter_folder();
    struct vt_heap_source src = some_rows(100);
    for (int format = VT_PROFILE_PROTO; format <= VT_COLLAPSED; format++) {
        int err = vt__heap_write_file("a.heap", format, &src);
        assert_true(err == 0 || err == -ENOMEM);
        assert_names(err == 0 ? "a.heap " : "");
        unlink("a.heap");
    }
    leave_folder();
}

TEST(profile, whatever_memory_is_missing_nothing_is_left) {
    for (int n = 1; n < 30; n++) {
        char wish[64];
        snprintf(wish, sizeof(wish), "VITRINE_FAIL_NTH=%d:map", n);
        assert_int_equal(unit_spawn("without_memory_for_one_step", wish), 0);
    }
}

/* A device of our own: root could replace the system's, should the subject be broken. NULL: not to be had here. */
static const char *own_device(const char *name, unsigned minor_number) {
    if (mknod(name, S_IFCHR | 0600, makedev(1, minor_number)) != 0) return NULL;
    int fd = open(name, O_WRONLY);
    if (fd < 0) return NULL; /* a file system without devices */
    close(fd);
    return name;
}

TEST(profile, devices_and_links_are_not_replaced) {
    enter_folder();
    struct stat s;
    struct vt_heap_source src = some_rows(10);
    const char *null = own_device("null", 3), *full = own_device("full", 7);
    if (null != NULL) {
        assert_int_equal(vt__heap_write_file(null, VT_COLLAPSED, &src), 0);
        assert_int_equal(stat(null, &s), 0);
        assert_true(S_ISCHR(s.st_mode));
    }
    if (full != NULL)
        assert_fails(full, -ENOSPC,
                     "vitrine: error: cannot write profile 'full': no space left on device\n");

    size_t n;
    free(written(VT_COLLAPSED, &src, &n));
    assert_int_equal(close(open("target", O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(symlink("target", "link"), 0);
    assert_int_equal(vt__heap_write_file("link", VT_COLLAPSED, &src), 0);
    assert_int_equal(lstat("link", &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    assert_int_equal(size_of("target"), n);
    leave_folder();
}

TEST(profile, a_pipe_without_a_reader_is_an_error_and_no_end) {
    enter_folder();
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_fails("pipe", -ENXIO,
                 "vitrine: error: cannot write profile 'pipe': nobody reads the pipe\n");
    leave_folder();
}

static volatile sig_atomic_t n_signals;
static void count_signal(int number) {
    (void)number;
    n_signals++;
}

TEST(profile, descriptors_that_are_closed_or_lead_nowhere) {
    int fd[2];
    sigset_t mask;
    struct vt_heap_source src = some_rows(20000);
    assert_int_equal(pipe(fd), 0);
    close(fd[0]);
    signal(SIGPIPE, count_signal);
    for (int format = VT_PROFILE_PROTO; format <= VT_COLLAPSED; format++) {
        assert_int_equal(vt__heap_write_fd(-1, format, &src), -EBADF);
        assert_int_equal(vt__heap_write_fd(fd[1], format, &src), -EPIPE);
    }
    assert_int_equal(n_signals, 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGPIPE));
    raise(SIGPIPE); /* the program's own still arrive */
    assert_int_equal(n_signals, 1);
    assert_int_equal(vt__heap_write_fd(fd[1], (enum vt_heap_format)99, &src), -EINVAL);
}

static void *read_slowly(void *arg) {
    static char buf[4096];
    size_t n = 0;
    for (ssize_t got; (got = read(*(int *)arg, buf, sizeof(buf))) > 0; n += (size_t)got)
        sched_yield();
    return (void *)n;
}

TEST(profile, a_descriptor_that_does_not_block_is_waited_for) {
    int fd[2];
    pthread_t reader;
    void *n_read;
    size_t n;
    struct vt_heap_source src = some_rows(20000);
    free(written(VT_COLLAPSED, &src, &n));
    assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
    assert_int_equal(fcntl(fd[0], F_SETFL, 0), 0); /* the other end stays as it is */
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, &fd[0]), 0);
    assert_int_equal(vt__heap_write_fd(fd[1], VT_COLLAPSED, &src), 0);
    close(fd[1]);
    assert_int_equal(pthread_join(reader, &n_read), 0);
    assert_int_equal((size_t)n_read, n);
}

/* A program that closed its stderr must not have its messages in our file. */
static bool next_and_talk(void *state, struct vt_heap_row *row) {
    ssize_t n = write(2, "a message", 9);
    (void)n;
    return next_many(state, row);
}

TEST(profile, a_closed_stderr_does_not_become_the_file) {
    enter_folder();
    size_t n;
    struct vt_heap_source src = some_rows(10);
    free(written(VT_COLLAPSED, &src, &n));
    src.next = next_and_talk;
    int saved = dup(2);
    close(2);
    int err = vt__heap_write_file("a.heap", VT_COLLAPSED, &src);
    dup2(saved, 2);
    assert_int_equal(err, 0);
    assert_int_equal(size_of("a.heap"), n);
    leave_folder();
}

/* On a stack as small as a program may give its signal handlers; below it there is nothing. */
#if !UNIT_HAS_SHADOW && !defined(VT_FLAVOUR_ubsan) /* their frames are larger than ours */
static volatile int handler_result = 1;

static void write_in_handler(int number) {
    (void)number;
    struct vt_heap_source src = some_rows(1000);
    handler_result = 0;
    for (int format = VT_PROFILE_PROTO; format <= VT_COLLAPSED; format++)
        handler_result |= vt__heap_write_file("a.heap", format, &src);
    handler_result |= vt__heap_write_file("missing/a.heap", VT_COLLAPSED, &src) + ENOENT;
}

TEST(profile, a_small_signal_stack_is_enough) {
    enter_folder();
    char *stack = mmap(NULL, KiB(16), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(stack + KiB(4), KiB(12), PROT_READ | PROT_WRITE), 0);
    assert_int_equal(sigaltstack(&(stack_t){.ss_sp = stack + KiB(4), .ss_size = KiB(12)}, NULL), 0);
    struct sigaction act = {.sa_handler = write_in_handler, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
    raise(SIGUSR1);
    assert_int_equal(handler_result, 0);
    assert_names("a.heap ");
    leave_folder();
}
#endif

static void *write_many_times(void *arg) {
    struct many *mine = calloc(1, sizeof(*mine));
    struct vt_heap_source src = source_of_many(mine, 500, 8);
    for (int i = 0; i < 20; i++)
        if (vt__heap_write_file(arg, i % 4, &src) != 0) return "failed";
    return NULL;
}

TEST(profile, threads_and_a_child_write_to_one_name) {
    enter_folder();
    pthread_t id[4];
    void *result;
    int status = -1;
    char name[] = "a.heap";
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&id[i], NULL, write_many_times, name), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct vt_heap_source src = some_rows(500);
        for (int i = 0; i < 20; i++)
            if (vt__heap_write_file(name, i % 4, &src) != 0) _exit(1);
        _exit(0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(id[i], &result), 0);
        assert_null(result);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_names("a.heap ");
    leave_folder();
}

/* What a killed process left is removed, what looks like it is not; unit.os.draft has the rest. */
TEST(profile, a_leftover_of_another_process_is_removed) {
    enter_folder();
    struct vt_heap_source src = some_rows(10);
    int fd = open(".vitrine.1.1.0123456789abcdef.tmp", O_CREAT | O_WRONLY, 0600);
    assert_int_equal(close(fd), 0);
    assert_int_equal(vt__heap_write_file("a.heap", VT_COLLAPSED, &src), 0);
    assert_names("a.heap ");
    leave_folder();
}

/* A terminal; -1: none here. */
static int open_terminal(void) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return -1;
    return open(ptsname(master), O_RDWR | O_NOCTTY);
}

static void *write_to(void *arg) {
    struct many *mine = calloc(1, sizeof(*mine));
    struct vt_heap_source src = source_of_many(mine, 20000, 8);
    return (void *)(intptr_t)vt__heap_write_fd(*(int *)arg, VT_COLLAPSED, &src);
}

/* All at once: each takes its time. */
TEST(profile, readers_that_stop_are_an_error_and_no_end) {
    enter_folder();
    enum { PIPE, SOCKET, FULL_TERMINAL, STOPPED_TERMINAL, N };
    int fd[N], pair[2];
    pthread_t id[N];
    void *result;
    struct vt_heap_source src = some_rows(20000);
    assert_int_equal(pipe(pair), 0);
    fd[PIPE] = pair[1];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    fd[SOCKET] = pair[1];
    fd[FULL_TERMINAL] = open_terminal();
    fd[STOPPED_TERMINAL] = open_terminal();
    if (fd[STOPPED_TERMINAL] >= 0) assert_int_equal(tcflow(fd[STOPPED_TERMINAL], TCOOFF), 0);
    for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&id[i], NULL, write_to, &fd[i]), 0);

    assert_int_equal(mkfifo("pipe", 0600), 0); /* somebody has it open, and does not read */
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(vt__heap_write_file("pipe", VT_COLLAPSED, &src), -ETIMEDOUT);
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(id[i], &result), 0);
        assert_int_equal((intptr_t)result, fd[i] < 0 ? -EBADF : -ETIMEDOUT);
        if (fd[i] >= 0) assert_int_equal(fcntl(fd[i], F_GETFL) & O_NONBLOCK, 0); /* as before */
    }
    leave_folder();
}

UNIT_MAIN()
