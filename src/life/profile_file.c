/* profile_file.c - see profile_file.h. Climate: host, no malloc.   Owns: nothing. */
#include "life/profile_file.h"

#include <errno.h>

#include "base/text.h"
#include "life/mark.h"
#include "os/os.h"

int vt__profile_file_set(struct vt_profile_file *f, const char *path) {
    struct vt_text t = {f->path, VT_PROFILE_PATH_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, path);
    f->path[t.len] = '\0';
    vt__os_folder(f->folder, sizeof(f->folder));
    f->is_child = f->has_pid = f->has_number = false;
    f->pid = vt__os_pid();
    return t.is_cut ? -ENAMETOOLONG : 0;
}

void vt__profile_file_fork_child(struct vt_profile_file *f) {
    if (f->path[0] != '\0') f->is_child = true;
    f->pid = vt__os_pid();
}

int vt__profile_file_name(const struct vt_profile_file *f, char name[VT_PROFILE_NAME_BYTES]) {
    struct vt_text t = {name, VT_PROFILE_NAME_BYTES, 0, false, NULL, NULL};
    if (f->path[0] != '/' && f->folder[0] != '\0') {
        vt__text_put(&t, f->folder);
        vt__text_char(&t, '/');
    }
    vt__text_put(&t, f->path);
    if (f->is_child || f->has_pid) {
        vt__text_char(&t, '_');
        vt__text_uint(&t, (uint64_t)vt__os_pid());
    }
    if (f->has_number) {
        vt__text_char(&t, '.');
        vt__text_uint(&t, f->number);
    }
    vt__text_char(&t, '\0');
    if (!t.is_cut) return 0;
    name[0] = '\0';
    return -ENAMETOOLONG;
}

static const char *const names[] = {
    "CPUPROFILE=", "VITRINE=", "VITRINE_CPU_PROFILE=", "VITRINE_CONTENTION_PROFILE="};

int vt__profile_file_from_environment(struct vt_profile_file *f, const char *path) {
    int err = vt__profile_file_set(f, path);
    uint64_t first_pid = vt__life_cut_mark(f->path);
    f->is_child = first_pid != 0 && first_pid != (uint64_t)vt__os_pid();
    if (first_pid == 0) vt__life_mark(names, vt_countof(names), f->path);
    return err;
}
