/* names.c - see names.h. Climate: host, no malloc.   Owns: nothing.
 *
 * A pattern has %x for its parts:  x prefix   n number   N number, four digits at least, or peak   i pid   s pid namespace and a dot,
 * or nothing   r reason's letter and number.
 */
#include "dump/names.h"

#include <errno.h>

#include "base/text.h"
#include "os/os.h"

/* gperftools gives a forked child no name of its own, so parent and child overwrite each other; ours do not. */
static const char *const patterns[][3] = {
    [VT_NAMES_VITRINE] = {[VT_PROCESS_FIRST] = "%x.%N.heap",
                          [VT_PROCESS_FORKED] = "%x.%i.%N.heap",
                          [VT_PROCESS_EXECED] = "%x.%i.%N.heap"},
    [VT_NAMES_GPERFTOOLS] = {[VT_PROCESS_FIRST] = "%x.%N.heap",
                             [VT_PROCESS_FORKED] = "%x_%i.%N.heap",
                             [VT_PROCESS_EXECED] = "%x_%i.%N.heap"},
    [VT_NAMES_JEMALLOC] = {[VT_PROCESS_FIRST] = "%x.%s%i.%n.%r.heap",
                           [VT_PROCESS_FORKED] = "%x.%s%i.%n.%r.heap",
                           [VT_PROCESS_EXECED] = "%x.%s%i.%n.%r.heap"},
};

/* jemalloc has four; its final one is not counted. */
static const char letters[] = {
    [VT_DUMP_ASKED] = 'm', [VT_DUMP_SIGNAL] = 'm', [VT_DUMP_BYTES] = 'i', [VT_DUMP_TIME] = 'i',
    [VT_DUMP_HIGH] = 'u',  [VT_DUMP_EXIT] = 'f',   [VT_DUMP_PEAK] = 'u',
};

static void put_four_digits(struct vt_text *t, uint64_t n) {
    for (uint64_t limit = 1000; limit > n && limit > 1; limit /= 10) vt__text_char(t, '0');
    vt__text_uint(t, n);
}

/* A prefix of ours may say where the process goes, so that programs which start others have files for each. */
static bool names_process(const char *prefix) {
    for (; *prefix != '\0'; prefix++) {
        if (*prefix != '%') continue;
        if (prefix[1] == 'p') return true;
        if (prefix[1] == '%') prefix++;
    }
    return false;
}

static void put_prefix(struct vt_text *t, const char *s, int pid) {
    for (; *s != '\0'; s++) {
        if (s[0] == '%' && s[1] == 'p') {
            vt__text_uint(t, (uint64_t)pid);
            s++;
        } else {
            vt__text_char(t, *s);
            if (s[0] == '%' && s[1] == '%') s++;
        }
    }
}

static void put_part(struct vt_text *t, char part, const struct vt_dump_name *name) {
    switch (part) {
    case 'x':
        if (name->style == VT_NAMES_VITRINE)
            put_prefix(t, name->prefix, name->pid);
        else
            vt__text_put(t, name->prefix);
        break;
    case 'n': vt__text_uint(t, name->number); break;
    case 'N':
        if (name->reason == VT_DUMP_PEAK)
            vt__text_put(t, "peak");
        else
            put_four_digits(t, name->number);
        break;
    case 'i': vt__text_uint(t, (uint64_t)name->pid); break;
    case 's':
        if (name->pid_namespace == 0) break;
        vt__text_uint(t, name->pid_namespace);
        vt__text_char(t, '.');
        break;
    case 'r':
        vt__text_char(t, letters[name->reason]);
        if (name->reason != VT_DUMP_EXIT) vt__text_uint(t, name->reason_number);
        break;
    default: break; /* not in any pattern above */
    }
}

int vt__dump_name(char *buf, size_t n_bytes, const struct vt_dump_name *name) {
    struct vt_text t = {buf, n_bytes, 0, false, NULL, NULL};
    enum vt_dump_process process = name->process;
    if (name->style == VT_NAMES_VITRINE && names_process(name->prefix)) process = VT_PROCESS_FIRST;
    for (const char *s = patterns[name->style][process]; *s != '\0'; s++) {
        if (*s == '%')
            put_part(&t, *++s, name);
        else
            vt__text_char(&t, *s);
    }
    vt__text_char(&t, '\0');
    if (!t.is_cut) return 0;
    if (n_bytes > 0) buf[0] = '\0';
    return -ENAMETOOLONG;
}

int vt__process_path(char *buf, size_t n_bytes, const char *path, bool *has_process) {
    struct vt_text t = {buf, n_bytes, 0, false, NULL, NULL};
    *has_process = names_process(path);
    put_prefix(&t, path, vt__os_pid());
    vt__text_char(&t, '\0');
    return t.is_cut ? -ENAMETOOLONG : 0;
}
