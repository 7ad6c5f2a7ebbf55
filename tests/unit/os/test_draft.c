/* test_draft.c - files that are made where others write, too: what they planted is never written to, what is ours on purpose is.
 *
 * Root plants things and gives them to another user; an ordinary user is tested with what he can make himself. */
#include "unit.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "os/draft.h"
#include "os/os.h"

#define OTHER 65534

static char folder[64]; /* of this test alone */

static void enter_folder(void) {
    snprintf(folder, sizeof(folder), "/tmp/vt-draft.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    umask(022);
}

static void leave_folder(void) {
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(system(command), 0);
}

static void put(const char *name, const char *text) {
    int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(close(fd), 0);
}

static const char *text_of(const char *name) {
    static char text[64];
    int fd = open(name, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = '\0';
    if (fd >= 0) close(fd);
    return fd < 0 ? "none" : text;
}

/* Writes "new" to that file, as a dump does; 0 or -errno. */
static int write_new(const char *path) {
    char buf[VT_PLACE_BYTES];
    struct vt_draft d;
    int err = vt__draft_open(&d, path, buf, 0644);
    if (err != 0) return err;
    err = vt__os_write_all(d.fd, "new", 3);
    close(d.fd);
    return vt__draft_end(&d, err);
}

static void shared(const char *name, mode_t mode) {
    assert_int_equal(mkdir(name, 0700), 0);
    assert_int_equal(chmod(name, mode), 0);
}

static bool give(const char *name) { return geteuid() == 0 && lchown(name, OTHER, OTHER) == 0; }

static void skip_rest(void) {
    print_message("part skipped: only root can give files to another user\n");
    leave_folder();
}

TEST(draft, a_link_of_ours_is_followed_where_others_cannot_move_it) {
    enter_folder();
    put("victim", "old");
    assert_int_equal(symlink("victim", "link"), 0);
    assert_int_equal(write_new("link"), 0);
    assert_string_equal(text_of("victim"), "new");
    assert_int_equal(symlink("fresh", "dangling"), 0);
    assert_int_equal(write_new("dangling"), 0);
    assert_string_equal(text_of("fresh"), "new");
    shared("sticky", 01777);
    assert_int_equal(symlink("../other", "sticky/link"), 0);
    assert_int_equal(write_new("sticky/link"), 0);
    assert_string_equal(text_of("other"), "new");
    assert_int_equal(mkdir("deep", 0700), 0);
    assert_int_equal(symlink("deep", "way"), 0);
    assert_int_equal(write_new("way/file"), 0);
    assert_string_equal(text_of("deep/file"), "new");
    struct stat s;
    assert_int_equal(lstat("link", &s), 0);
    assert_true(S_ISLNK(s.st_mode));
    leave_folder();
}

/* In a folder where others may rename, a link of ours may be one that they brought here. */
TEST(draft, a_link_in_an_open_folder_is_refused) {
    enter_folder();
    static const mode_t modes[] = {0777, 0770, 0757};
    put("victim", "old");
    for (unsigned i = 0; i < 3; i++) {
        char link[32], way[32];
        snprintf(link, sizeof(link), "open%u/link", i);
        snprintf(way, sizeof(way), "open%u/way/file", i);
        link[5] = way[5] = '\0';
        shared(link, modes[i]);
        if (modes[i] == 0770 && geteuid() != 0 && getegid() == geteuid())
            continue; /* our own group */
        link[5] = way[5] = '/';
        assert_int_equal(symlink("../victim", link), 0);
        assert_int_equal(write_new(link), -ELOOP);
        way[9] = '\0';
        assert_int_equal(symlink("..", way), 0);
        way[9] = '/';
        assert_int_equal(write_new(way), -ELOOP);
    }
    assert_string_equal(text_of("victim"), "old");
    leave_folder();
}

static bool is_safe(const char *name) {
    int fd = open(name, O_PATH | O_DIRECTORY);
    bool answer = vt__place_is_safe(fd);
    close(fd);
    return answer;
}

TEST(draft, names_are_safe_in_private_and_in_sticky_folders) {
    enter_folder();
    static const mode_t safe[] = {0700, 0755, 01777}, open_modes[] = {0777, 0757};
    shared("f", 0700);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(chmod("f", safe[i]), 0);
        assert_true(is_safe("f"));
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(chmod("f", open_modes[i]), 0);
        assert_false(is_safe("f"));
    }
    put("file", "");
    int fd = open("file", O_PATH);
    assert_false(vt__place_is_safe(fd));
    close(fd);
    if (!give("f")) {
        skip_rest();
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(chmod("f", safe[i]), 0);
        assert_false(is_safe("f"));
    }
    leave_folder();
}

TEST(draft, a_link_with_two_names_is_refused_where_others_write) {
    enter_folder();
    put("victim", "old");
    shared("sticky", 01777);
    assert_int_equal(symlink("../victim", "link"), 0);
    assert_int_equal(linkat(AT_FDCWD, "link", AT_FDCWD, "sticky/link", 0), 0);
    assert_int_equal(write_new("sticky/link"), -ELOOP);
    assert_string_equal(text_of("victim"), "old");
    leave_folder();
}

TEST(draft, a_link_of_another_user_is_refused) {
    enter_folder();
    put("victim", "old");
    shared("sticky", 01777);
    assert_int_equal(symlink("../victim", "sticky/link"), 0);
    assert_int_equal(symlink("..", "sticky/way"), 0);
    if (!give("sticky/link") || !give("sticky/way")) {
        skip_rest();
        return;
    }
    assert_int_equal(write_new("sticky/link"), -ELOOP);
    assert_int_equal(write_new("sticky/way/file"), -ELOOP);
    assert_string_equal(text_of("victim"), "old");
    assert_string_equal(text_of("file"), "none");
    /* his folder, his link: he may change it while we look */
    shared("his", 0755);
    assert_int_equal(symlink("../victim", "his/link"), 0);
    assert_true(give("his/link") && give("his"));
    assert_int_equal(write_new("his/link"), -ELOOP);
    /* what leads to it does not help */
    assert_int_equal(symlink("sticky/link", "mine"), 0);
    assert_int_equal(write_new("mine"), -ELOOP);
    assert_string_equal(text_of("victim"), "old");
    assert_int_equal(write_new("his/file"), 0); /* a new file harms nobody */
    assert_string_equal(text_of("his/file"), "new");
    leave_folder();
}

/* A file of another user is replaced, not written to. */
TEST(draft, a_second_name_of_a_file_is_replaced_and_not_written) {
    enter_folder();
    put("victim", "old");
    shared("sticky", 01777);
    assert_int_equal(link("victim", "sticky/file"), 0);
    assert_int_equal(write_new("sticky/file"), 0);
    assert_string_equal(text_of("victim"), "old");
    assert_string_equal(text_of("sticky/file"), "new");
    leave_folder();
}

TEST(draft, pipes_of_ours_are_written_and_those_of_others_refused) {
    enter_folder();
    static const char *const names[] = {"pipe", "sticky/pipe", "open/pipe"};
    char text[8];
    shared("sticky", 01777);
    shared("open", 0777);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(mkfifo(names[i], 0600), 0);
        assert_int_equal(write_new(names[i]), -ENXIO);
        int reader = open(names[i], O_RDONLY | O_NONBLOCK);
        assert_int_equal(write_new(names[i]), 0);
        assert_int_equal(read(reader, text, sizeof(text)), 3);
        if (i > 0 && give(names[i])) {
            assert_int_equal(write_new(names[i]), -EISNAM);
            assert_int_equal(read(reader, text, sizeof(text)), 0);
        }
        close(reader);
    }
    leave_folder();
}

TEST(draft, a_socket_is_no_file) {
    enter_folder();
    struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(write_new("socket"), -EOPNOTSUPP);
    leave_folder();
}

/* The system has the same error for a pipe that nobody reads. */
TEST(draft, a_device_that_nothing_is_behind_has_no_reader_to_wait_for) {
    enter_folder();
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (setsid() < 0) _exit(1); /* from here on its /dev/tty is none */
        _exit(access("/dev/tty", W_OK) == 0 && write_new("/dev/tty") != -ENODEV ? 2 : 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    leave_folder();
}

TEST(draft, paths_that_lead_nowhere) {
    enter_folder();
    char name[VT_PLACE_BYTES + 1];
    memset(name, 'x', sizeof(name));
    name[VT_PLACE_BYTES] = '\0';
    assert_int_equal(write_new(name), -ENAMETOOLONG);
    assert_int_equal(write_new(""), -ENOENT);
    assert_int_equal(write_new("."), -EISDIR);
    assert_int_equal(write_new("none/x"), -ENOENT);
    assert_int_equal(write_new("none/"), -ENOENT);
    put("file", "old");
    assert_int_equal(write_new("file/x"), -ENOTDIR);
    assert_int_equal(symlink("b", "a"), 0);
    assert_int_equal(symlink("a", "b"), 0);
    assert_int_equal(write_new("a"), -EMLINK);
    assert_int_equal(write_new("a/x"), -EMLINK);
    memset(name, 'x', 4000);
    for (int i = 0; i < 4000; i += 2) memcpy(name + i, "./", 2);
    strncpy(name + 4000, "long", 5);
    assert_int_equal(write_new(name), 0);
    assert_int_equal(symlink("./././././././././././././././././././././././././././.", "dots"), 0);
    memcpy(name, "dots/", 5);
    name[5] = '/';
    assert_int_equal(write_new(name), 0);
    memcpy(name + 4000, "/dots/dots/dots/dots/xx", 24); /* the links make it too long */
    assert_int_equal(write_new(name), 0);
    leave_folder();
}

/* ---- /dev/stdout and its sisters ---- */

TEST(draft, a_descriptor_of_ours_is_written_where_it_stands) {
    enter_folder();
    char path[64];
    int fd = open("out", O_CREAT | O_RDWR, 0600);
    assert_int_equal(write(fd, "before ", 7), 7);
    static const char *const forms[] = {"/dev/fd/%d", "/proc/self/fd/%d",
                                        "/proc/thread-self/fd/%d"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), forms[i], fd);
        assert_int_equal(write_new(path), 0);
    }
    assert_int_equal(write(fd, " after", 6), 6);
    assert_string_equal(text_of("out"), "before newnewnew after");
    int pair[2];
    char text[8];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    snprintf(path, sizeof(path), "/dev/fd/%d", pair[0]);
    assert_int_equal(write_new(path), 0);
    assert_int_equal(read(pair[1], text, sizeof(text)), 3);
    assert_int_equal(write_new("/dev/fd/999"), -ENOENT);
    assert_int_equal(write_new("/dev/null"), 0);
    leave_folder();
}

/* A pipe of another user is ours when it is open here: `sudo prog | less`. */
TEST(draft, a_descriptor_of_ours_may_be_of_another_user) {
    enter_folder();
    char text[8];
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    int fd = open("pipe", O_WRONLY);
    if (!give("pipe")) {
        skip_rest();
        return;
    }
    dup2(fd, 1);
    int err = write_new("/dev/stdout");
    dup2(2, 1);
    assert_int_equal(err, 0);
    assert_int_equal(read(reader, text, sizeof(text)), 3);
    leave_folder();
}

/* ---- drafts ---- */

TEST(draft, only_what_nobody_writes_any_more_is_removed) {
    enter_folder();
    static const char *const not_ours[] = {".vitrine.1.1.0.tmp",
                                           ".vitrine.1.1.0123456789abcdef.tmp.gz",
                                           ".vitrine.1.1.0123456789abcdeg.tmp",
                                           ".vitrine.1.0123456789abcdef.tmp",
                                           ".vitrine..1.0123456789abcdef.tmp",
                                           "a.vitrine.1.1.0123456789abcdef.tmp"};
    for (unsigned i = 0; i < 6; i++) put(not_ours[i], "old");
    put(".vitrine.1.1.0123456789abcdef.tmp", "left");
    put(".vitrine.1.1.1123456789abcdef.tmp", "in use");
    put(".vitrine.1.1.2123456789abcdef.tmp", "two names");
    put("victim", "old");
    assert_int_equal(link(".vitrine.1.1.2123456789abcdef.tmp", "name"), 0);
    assert_int_equal(symlink("victim", ".vitrine.1.1.3123456789abcdef.tmp"), 0);
    put(".vitrine.1.1.4123456789abcdef.tmp", "his");
    bool is_his = give(".vitrine.1.1.4123456789abcdef.tmp");
    int used = open(".vitrine.1.1.1123456789abcdef.tmp", O_RDONLY);
    assert_int_equal(flock(used, LOCK_EX), 0);
    assert_int_equal(write_new("file"), 0);
    assert_string_equal(text_of(".vitrine.1.1.0123456789abcdef.tmp"), "none");
    assert_string_equal(text_of(".vitrine.1.1.1123456789abcdef.tmp"), "in use");
    assert_string_equal(text_of(".vitrine.1.1.2123456789abcdef.tmp"), "two names");
    assert_string_equal(text_of(".vitrine.1.1.3123456789abcdef.tmp"), "old");
    assert_string_equal(text_of(".vitrine.1.1.4123456789abcdef.tmp"), is_his ? "his" : "none");
    for (unsigned i = 0; i < 6; i++) assert_string_equal(text_of(not_ours[i]), "old");
    close(used);
    assert_int_equal(write_new("file"), 0);
    assert_string_equal(text_of(".vitrine.1.1.1123456789abcdef.tmp"), "none");
    leave_folder();
}

/* One that is being written is not taken for one that was left, not even between its last byte and its name. */
TEST(draft, a_draft_is_locked_until_it_has_its_name) {
    enter_folder();
    char buf[VT_PLACE_BYTES];
    struct vt_draft d;
    assert_int_equal(vt__draft_open(&d, "slow", buf, 0644), 0);
    assert_int_equal(write_new("fast"), 0);
    assert_int_equal(write(d.fd, "new", 3), 3);
    close(d.fd);
    assert_int_equal(write_new("fast"), 0);
    assert_int_equal(vt__draft_end(&d, 0), 0);
    assert_string_equal(text_of("slow"), "new");
    assert_int_equal(vt__draft_open(&d, "slow", buf, 0644), 0);
    close(d.fd);
    assert_int_equal(vt__draft_end(&d, -EIO), -EIO);
    assert_string_equal(text_of("slow"), "new");
    assert_string_equal(text_of(d.temporary), "none");
    leave_folder();
}

TEST(draft, every_common_error_has_words) {
    static const int errs[] = {
        EEXIST,     EACCES, EPERM, ENOENT,    ENOTDIR, EISDIR,   ELOOP,  EMLINK,       ENOSPC,
        EDQUOT,     EROFS,  EFBIG, EIO,       EMFILE,  ENFILE,   ENOMEM, ENAMETOOLONG, EBUSY,
        EINVAL,     ENXIO,  EPIPE, ETIMEDOUT, EAGAIN,  ESTALE,   ENODEV, EXDEV,        ETXTBSY,
        EOPNOTSUPP, EISNAM, EINTR, EBADF,     ENOSYS,  EOVERFLOW};
    for (unsigned i = 0; i < sizeof(errs) / sizeof(*errs); i++)
        assert_true_msg(vt__os_error_words(-errs[i]) != NULL,
                        "expected words for error %d, seen none", errs[i]);
}

/* Another user swaps the name for a link and back, as fast as he can: whichever moment we meet, the victim stays. */
static void swap_for_ever(const char *name) {
    if (setuid(OTHER) != 0) _exit(1);
    for (;;) {
        unlink(name);
        (void)!symlink("../victim", name);
        unlink(name);
        mkfifo(name, 0666);
        unlink(name);
        close(open(name, O_CREAT | O_WRONLY, 0666));
        (void)!rename("way", "way2");
        (void)!symlink("..", "way");
        unlink("way");
        (void)!rename("way2", "way");
    }
}

static void race(const char *where, mode_t mode) {
    shared(where, mode);
    assert_int_equal(chdir(where), 0);
    assert_int_equal(mkdir("way", 0777), 0);
    assert_true(give("way"));
    pid_t pid = fork();
    if (pid == 0) swap_for_ever("file");
    unsigned n_written = 0;
    for (unsigned i = 0; i < 500; i++) {
        int err = write_new("file");
        n_written += err == 0;
        err = write_new("way/victim");
        n_written += err == 0;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(chdir(".."), 0);
    assert_string_equal(text_of("victim"), "old");
    assert_true(n_written > 0);
}

TEST(draft, swapping_does_not_help_another_user) {
    enter_folder();
    assert_int_equal(chmod(folder, 0755), 0);
    put("victim", "old");
    if (!give("victim") || chown("victim", 0, 0) != 0) {
        skip_rest();
        return;
    }
    race("sticky", 01777);
    race("open", 0777);
    leave_folder();
}

UNIT_MAIN()
