/* risk_01_audit.c - an LD_AUDIT library that allocates in every callback (as in jemalloc#2472).
 *
 * The auditor lives in its own link namespace with its own libc, and its callbacks run in the
 * middle of the loader's work on the audited program. It says "audited" before that begins.
 */
#define _GNU_SOURCE 1
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *kept[1024];
static unsigned n_kept;

static void churn(void) {
    void **slot = &kept[n_kept++ % 1024];
    free(*slot);
    *slot = malloc(16 + n_kept % 3000);
    if (*slot) memset(*slot, 1, 16);
}

unsigned la_version(unsigned version) {
    churn();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}
unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie) {
    (void)map, (void)lmid, (void)cookie;
    churn();
    return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
unsigned la_objclose(uintptr_t *cookie) {
    (void)cookie;
    churn();
    return 0;
}
void la_activity(uintptr_t *cookie, unsigned flag) {
    (void)cookie, (void)flag;
    churn();
}
char *la_objsearch(const char *name, uintptr_t *cookie, unsigned flag) {
    (void)cookie, (void)flag;
    churn();
    return (char *)name;
}
void la_preinit(uintptr_t *cookie) {
    static const char text[] = "audited\n";
    (void)cookie;
    churn();
    if (n_kept > 10 && write(2, text, sizeof text - 1) < 0) _exit(9);
}
uintptr_t la_symbind64(Elf64_Sym *sym, unsigned ndx, uintptr_t *refcook, uintptr_t *defcook,
                       unsigned *flags, const char *name) {
    (void)ndx, (void)refcook, (void)defcook, (void)flags, (void)name;
    churn();
    return sym->st_value;
}
