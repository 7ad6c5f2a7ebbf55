/* fail.c - makes system calls fail on purpose. Part of the audit build only.
 *
 * VITRINE_FAIL_NTH=n[:name]       the n-th call (of that name) answers -ENOMEM, once; n:file answers -ENOSPC
 * VITRINE_FAIL_ALWAYS=name[,name] these calls answer -ENOSYS always, as on a kernel that lacks them
 *
 * A test raises n until the run ends without reaching it, which the line at exit tells.
 * Climate: malloc.   Owns: the counters below.   Callers: os/.
 */
#include <stdatomic.h>

#include "base/text.h"
#include "os/impl.h"

static const char *const call_names[VT_CALL_COUNT] = {
    [VT_CALL_RESERVE] = "reserve",
    [VT_CALL_COMMIT] = "commit",
    [VT_CALL_MAP] = "map",
    [VT_CALL_NOREPLACE] = "noreplace",
    [VT_CALL_PURGE] = "purge",
    [VT_CALL_MOVE] = "mremap_dontunmap",
    [VT_CALL_HUGEPAGES] = "hugepages",
    [VT_CALL_NAME] = "anon_name",
    [VT_CALL_RANDOM] = "getrandom",
    [VT_CALL_SYSFS] = "sysfs",
    [VT_CALL_PROC] = "proc",
    [VT_CALL_POPULATE] = "populate",
    [VT_CALL_FILE] = "file",
};

static struct {
    _Atomic int is_ready;
    _Atomic long
        countdown;   /* calls left until the one that fails; 0 or less: reached or not asked for */
    int only;        /* a call, or -1 for any */
    uint32_t always; /* bit per call */
} fail = {.only = -1};

static bool is_known(const char *name, size_t len) {
    for (int i = 0; i < VT_CALL_COUNT; i++)
        if (vt__str_len(call_names[i]) == len && vt__str_starts(name, call_names[i])) return true;
    return false;
}

/* A name of no call fails nothing, and a test of it would test nothing. */
static void say_unknown(const char *list) {
    while (list != NULL && *list != '\0') {
        size_t len = 0;
        while (list[len] != '\0' && list[len] != ',') len++;
        if (!is_known(list, len)) {
            char line[128];
            struct vt_text t = VT_TEXT(line);
            vt__text_put(&t, "vitrine: error: no such call to fail: '");
            vt__text_put_n(&t, list, len);
            vt__text_put(&t, "'\n");
            vt__os_write(2, line, t.len);
        }
        list += len + (list[len] == ',');
    }
}

/* Is `name` an element of the comma-separated list? */
static bool list_has(const char *list, const char *name) {
    size_t len = vt__str_len(name);
    for (; list != NULL && *list != '\0'; list++) {
        if (vt__str_starts(list, name) && (list[len] == ',' || list[len] == '\0')) return true;
        while (*list != ',' && list[1] != '\0') list++;
    }
    return false;
}

static void read_wishes(void) {
    const char *nth = vt__os_getenv("VITRINE_FAIL_NTH");
    const char *always = vt__os_getenv("VITRINE_FAIL_ALWAYS");
    long n = 0;
    for (; nth != NULL && *nth >= '0' && *nth <= '9'; nth++) n = n * 10 + (*nth - '0');
    say_unknown(always);
    if (nth != NULL && *nth == ':') say_unknown(nth + 1);
    for (int i = 0; i < VT_CALL_COUNT; i++) {
        if (list_has(always, call_names[i])) fail.always |= 1u << i;
        if (nth != NULL && *nth == ':' && vt__str_equal(nth + 1, call_names[i])) fail.only = i;
    }
    atomic_store(&fail.countdown, n);
    atomic_store(&fail.is_ready, 1);
}

int vt__os_forced_failure(enum vt_os_call call) {
    if (!atomic_load(&fail.is_ready)) read_wishes();
    if ((fail.always >> call & 1) != 0) return -ENOSYS;
    if (call == VT_CALL_FILE && fail.only == VT_CALL_FILE)
        return atomic_fetch_sub(&fail.countdown, 1) == 1 ? -ENOSPC : 0;
    if (call > VT_CALL_PURGE && call != VT_CALL_MOVE)
        return 0; /* not memory: only FAIL_ALWAYS speaks of these */
    if (call == VT_CALL_NOREPLACE) return 0;
    if (fail.only >= 0 && fail.only != (int)call) return 0;
    if (atomic_load(&fail.countdown) <= 0) return 0;
    return atomic_fetch_sub(&fail.countdown, 1) == 1 ? -ENOMEM : 0;
}

__attribute__((destructor)) static void say_whether_reached(void) {
    static const char note[] = "vitrine: note: fail_nth not reached\n";
    if (atomic_load(&fail.countdown) > 0) vt__os_write(2, note, sizeof(note) - 1);
}
