/* preload.c - see preload.h. Looks at ELF headers itself: four fields and one segment. Climate: cli. */
#include "cli/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "report/regular.h"

#define LIBRARY "libvitrine.so.1"
#define MAX_SCRIPTS 4 /* interpreters that are scripts again, as the kernel allows */

/* ---- where things are */

int preload_library(char path[PATH_MAX], struct report_error *e) {
    static const char *const places[] = {VT_LIB_FROM_BIN, "../lib"}; /* installed; build tree */
    char self[PATH_MAX], there[2 * PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0) return report_fail(e, errno, "cannot read /proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    *strrchr(self, '/') = '\0'; /* it is an absolute path */
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        (void)snprintf(there, sizeof there, "%s/%s/" LIBRARY, self, places[i]);
        if (realpath(there, path) == NULL) continue;
        if (strpbrk(path, " :") == NULL) return 0;
        return report_fail(e, EINVAL,
                           "LD_PRELOAD cannot name '%s': no path with a space or a colon", path);
    }
    return report_fail(e, ENOENT, "no '" LIBRARY "' in '%s/%s'; is the installation complete?",
                       self, places[0]);
}

/* 0, or why a file cannot be run */
static int runnable(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0) return errno;
    if (S_ISDIR(st.st_mode)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

static int search(const char *name, char path[PATH_MAX]) {
    const char *folders = getenv("PATH");
    int why = ENOENT;
    if (folders == NULL) folders = "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        size_t n = strcspn(folders, ":");
        const char *folder = n > 0 ? folders : "."; /* nothing means here */
        int needed = snprintf(path, PATH_MAX, "%.*s/%s", n > 0 ? (int)n : 1, folder, name);
        int status = needed < PATH_MAX ? runnable(path) : ENAMETOOLONG;
        if (status == 0) return 0;
        if (status == EACCES) why = EACCES; /* it is there: better to know than "not found" */
        if (folders[n] == '\0') return why;
        folders += n + 1;
    }
}

int preload_program(const char *name, char path[PATH_MAX], struct report_error *e) {
    int status;
    if (strchr(name, '/') == NULL) {
        status = *name ? search(name, path) : ENOENT;
        if (status == ENOENT)
            return report_fail(e, ENOENT, "cannot run '%s': there is no such program on PATH",
                               name);
    } else {
        status = snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? runnable(name) : ENAMETOOLONG;
    }
    return status == 0 ? 0 : report_fail(e, status, "cannot run '%s': %s", name, strerror(status));
}

/* ---- what a program is */

struct program {
    bool is_elf, is_native; /* native: of our own class, byte order and machine */
    bool has_loader;        /* else it is static */
    char loader[256];       /* the file name of the dynamic linker it asks for */
};

static void find_loader(int fd, const ElfW(Ehdr) * h, struct program *p) {
    for (unsigned i = 0; i < h->e_phnum; i++) {
        ElfW(Phdr) segment;
        char path[256] = "";
        off_t at = (off_t)(h->e_phoff + (uint64_t)i * h->e_phentsize);
        if (pread(fd, &segment, sizeof segment, at) != (ssize_t)sizeof segment) return;
        if (segment.p_type != PT_INTERP) continue;
        p->has_loader = true;
        if (segment.p_filesz >= sizeof path) return;
        if (pread(fd, path, segment.p_filesz, (off_t)segment.p_offset) <= 0) return;
        const char *slash = strrchr(path, '/');
        (void)snprintf(p->loader, sizeof p->loader, "%s", slash ? slash + 1 : path);
        return;
    }
}

static struct program look_into(int fd) {
    struct program p = {0};
    ElfW(Ehdr) h, own;
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t n_own = self >= 0 ? pread(self, &own, sizeof own, 0) : -1;
    ssize_t n = pread(fd, &h, sizeof h, 0);
    if (self >= 0) (void)close(self);
    p.is_elf = n >= EI_NIDENT && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0;
    p.is_native = p.is_elf && n == (ssize_t)sizeof h && n_own == n &&
                  h.e_machine == own.e_machine && h.e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
                  h.e_ident[EI_DATA] == own.e_ident[EI_DATA];
    if (p.is_native) find_loader(fd, &h, &p);
    return p;
}

/* Is the library linked into a static program? Then it obeys VITRINE without being preloaded. */
static bool has_library(int fd) {
    static const char mark[] = "VITRINE_";
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size <= 0) return false;
    void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) return false;
    bool is_there = memmem(bytes, (size_t)st.st_size, mark, sizeof mark - 1) != NULL;
    (void)munmap(bytes, (size_t)st.st_size);
    return is_there;
}

/* Will it have other rights than we have? Then ld.so leaves LD_PRELOAD alone. */
static bool gains_rights(int fd) {
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid()) return true;
    if ((st.st_mode & S_ISGID) && st.st_gid != getgid()) return true;
    return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool is_loader(const char *path) { /* ld.so run as a program: it has none itself */
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "ld", 2) == 0;
}

/* 0, or why not */
static int judge(const char *path, int fd, struct report_error *e) {
    struct program p = look_into(fd), own = {0};
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self >= 0) {
        own = look_into(self);
        (void)close(self);
    }
    if (!p.is_elf) return 0; /* what it is, the kernel will say */
    if (!p.is_native)
        return report_fail(
            e, ENOEXEC,
            "'%s' is for another kind of machine: this library cannot be loaded into it", path);
    if (gains_rights(fd))
        return report_fail(
            e, EPERM,
            "'%s' runs with more rights than yours, so nothing is preloaded: run it as its owner",
            path);
    if (!p.has_loader && !is_loader(path) && !has_library(fd))
        return report_fail(
            e, ENOEXEC,
            "'%s' is static, so nothing can be preloaded: link it with libvitrine.a, "
            "then run it like this again",
            path);
    if (p.has_loader && own.has_loader && strcmp(p.loader, own.loader) != 0)
        return report_fail(
            e, ENOEXEC,
            "'%s' is loaded by %s, and this library is for programs of %s: use one that was "
            "built for its libc",
            path, p.loader, own.loader);
    return 0;
}

/* The interpreter of a script; false when it is none. */
static bool interpreter_of(int fd, char path[PATH_MAX]) {
    char line[PATH_MAX] = "";
    if (pread(fd, line, sizeof line - 1, 0) < 3 || strncmp(line, "#!", 2) != 0) return false;
    char *at = line + 2 + strspn(line + 2, " \t");
    at[strcspn(at, " \t\r\n")] = '\0';
    (void)snprintf(path, PATH_MAX, "%s", at);
    return *at != '\0';
}

bool preload_is_possible(const char *program, struct report_error *e) {
    char path[PATH_MAX];
    bool is_possible = true, is_script = true;
    (void)snprintf(path, sizeof path, "%s", program);
    for (unsigned i = 0; is_script && i < MAX_SCRIPTS; i++) {
        int fd = regular_open(path);
        if (fd < 0) return true; /* it may be run and not read: see what happens */
        is_script = interpreter_of(fd, path);
        if (!is_script) is_possible = judge(path, fd, e) == 0;
        (void)close(fd);
    }
    return is_possible;
}
