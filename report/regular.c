/* regular.c - see regular.h. Climate: cli. */
#include "report/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Files of the kernel look ordinary, and reading them can wait, or change something. */
static bool is_of_kernel(int fd) {
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0) return false;
    switch ((unsigned long)fs.f_type) {
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC: return true;
    default: return false;
    }
}

int regular_open(const char *path) {
    struct stat st;
    /* opening a device can do something; what is swapped in between is found by fstat */
    if (stat(path, &st) != 0) return -errno;
    if (S_ISDIR(st.st_mode)) return -EISDIR;
    if (!S_ISREG(st.st_mode)) return -EINVAL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !is_of_kernel(fd)) return fd;
    (void)close(fd);
    return -EINVAL;
}

bool regular_is(const char *path) {
    int fd = regular_open(path);
    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}
