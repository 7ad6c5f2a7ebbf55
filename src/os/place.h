/* place.h - where a path leads, when others may have planted links, pipes and devices on the way.
 *
 * A path is walked step by step, each step by descriptor: what is checked is what is used, whatever others rename meanwhile.
 *
 *   private folder   ours, root's or of the owner of "/"; nobody else may write in it: whatever is in it was put there by them
 *   sticky folder    ours or root's, others may write in it (/tmp): what is there and is ours or root's was put there by us
 *   any other        others may move there what is ours
 *
 * A symbolic link is followed in a private folder, or when it is ours or root's in a sticky one. A pipe or a device is written to in
 * a private folder, or when it is ours or root's. A descriptor of our own (/dev/stdout, /dev/fd/N, /proc/self/fd/N) is always ours.
 * docs/decisions/files.md has the attacks.
 *
 * Climate: malloc; also in the command, which writes files by the same rules.
 */
#ifndef VT_OS_PLACE_H
#define VT_OS_PLACE_H

#include "base/base.h"

VT_HIDDEN_BEGIN

#define VT_PLACE_BYTES KiB(4) /* PATH_MAX */

enum vt_place_kind {
    VT_PLACE_FILE,      /* a regular file, or nothing yet */
    VT_PLACE_SPECIAL,   /* a pipe, a device, a socket */
    VT_PLACE_DESCRIPTOR /* behind a link of /proc, which only the kernel can follow */
};

struct vt_place {
    int folder;       /* descriptor, for names only */
    const char *name; /* in the folder; in the caller's buffer */
    enum vt_place_kind kind;
    uint32_t me, top; /* our user, and the owner of "/" */
};

/* `buf` has VT_PLACE_BYTES. 0, or -errno: -ELOOP a link that another user could have planted, -EISNAM a pipe, socket or device that
 * another user could have planted, -EMLINK too many links. After 0 the folder is to be closed. */
int vt__place_find(struct vt_place *p, const char *path, char *buf);
/* A folder by the same rules: a descriptor or -errno. */
int vt__place_folder(const char *path, char *buf);
/* What is in such a folder, for vt__os_each_name: a descriptor or -errno. */
int vt__place_names(int folder);
/* Does what we make in this folder keep its name? It does in a private one, and in a sticky one. */
bool vt__place_is_safe(int folder);
/* Opens what is no regular file, for writing; it does not block. -ENXIO: a pipe without a reader; -ENODEV: a device that nothing is behind. */
int vt__place_open(const struct vt_place *p);
/* Whether it could be opened: 0 or -errno. It is not, for who waits at a pipe would take that for the file and its end. Whether a pipe has
 * a reader is therefore not known. */
int vt__place_can_open(const struct vt_place *p);

VT_HIDDEN_END

#endif
