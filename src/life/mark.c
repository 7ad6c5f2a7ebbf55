/* mark.c - see mark.h. Climate: host, no malloc.   Owns: nothing. */
#include "life/mark.h"

#include "base/text.h"
#include "os/os.h"

#define MARK '\x1f' /* between a name in the environment and the process that has it */

uint64_t vt__life_cut_mark(char *path) {
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
void vt__life_mark(const char *const *names, size_t n_names, const char *path) {
    const char **e = (const char **)vt__os_environment();
    for (; e != NULL && *e != NULL; e++)
        for (size_t i = 0; i < n_names; i++)
            if (vt__str_starts(*e, names[i]) && mark(e, path)) break;
}
