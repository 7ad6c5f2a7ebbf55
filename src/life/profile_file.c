/* profile_file.c - see profile_file.h. Climate: host, no malloc.   Owns: the marks in the environment. */
#include "life/profile_file.h"

#include <errno.h>

#include "base/text.h"
#include "os/os.h"

#define MARK '\x1f' /* between a name in the environment and the process that has it */

int vt__profile_file_set(struct vt_profile_file *f, const char *path) {
    struct vt_text t = {f->path, VT_PROFILE_PATH_BYTES - 1, 0, false, NULL, NULL};
    vt__text_put(&t, path);
    f->path[t.len] = '\0';
    vt__os_folder(f->folder, sizeof(f->folder));
    f->is_child = f->has_number = false;
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
    if (f->is_child) {
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

/* ---- marks ---- */

/* The process that has the name; cuts the mark off. 0: nobody yet. */
static uint64_t cut_mark(char *path) {
    uint64_t pid = 0;
    while (*path != '\0' && *path != MARK) path++;
    if (*path == '\0') return 0;
    *path = '\0';
    for (path++; *path >= '0' && *path <= '9'; path++) pid = pid * 10 + (uint64_t)(*path - '0');
    return pid;
}

/* Behind "=path" in this variable, if it is there. */
static bool mark(const char **variable, const char *path) {
    size_t n_path = vt__str_len(path);
    const char *at = *variable;
    while (*at != '\0' && !(*at == '=' && vt__str_starts(at + 1, path) &&
                            (at[1 + n_path] == '\0' || at[1 + n_path] == ',')))
        at++;
    if (*at == '\0') return false;
    size_t n_before = (size_t)(at - *variable) + 1 + n_path;
    size_t n_bytes = vt__str_len(*variable) + 32;
    char *copy = vt__arena_take(n_bytes, 1);
    if (copy == NULL) return false;
    struct vt_text t = {copy, n_bytes - 1, 0, false, NULL, NULL};
    vt__text_put_n(&t, *variable, n_before);
    vt__text_char(&t, MARK);
    vt__text_uint(&t, (uint64_t)vt__os_pid());
    vt__text_put(&t, *variable + n_before);
    *variable = copy;
    return true;
}

/* In the array the program was given: shells hand that very one on. */
static void mark_environment(const char *path) {
    static const char *const names[] = {
        "CPUPROFILE=", "VITRINE=", "VITRINE_CPU_PROFILE=", "VITRINE_CONTENTION_PROFILE="};
    const char **e = (const char **)vt__os_environment();
    for (; e != NULL && *e != NULL; e++)
        for (size_t i = 0; i < vt_countof(names); i++)
            if (vt__str_starts(*e, names[i]) && mark(e, path)) break;
}

int vt__profile_file_from_environment(struct vt_profile_file *f, const char *path) {
    int err = vt__profile_file_set(f, path);
    uint64_t first_pid = cut_mark(f->path);
    f->is_child = first_pid != 0 && first_pid != (uint64_t)vt__os_pid();
    if (first_pid == 0) mark_environment(f->path);
    return err;
}
