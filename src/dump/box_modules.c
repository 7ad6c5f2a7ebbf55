/* box_modules.c - which files the code of this process is from, for who reads the box when the process is gone.
 *
 * Of a core file the kernel tells it; a black box has it here. A library that goes stays in the list: its stacks do, too.
 *
 * Climate: host, no malloc.   Owns: the rows.   Locks: none; the caller is alone.
 */
#include "dump/box_modules.h"

#include "dump/impl.h"
#include "os/box.h"
#include "probe/table.h"
#include "stack/stack.h"

static struct vt_rows rows = {.row_bytes = sizeof(struct vt_box_module), .box = VT_BOX_MODULES};

static bool is_same(const struct vt_box_module *b, const struct vt_module *m) {
    return b->start == m->start && b->end == m->end && b->file_offset == m->file_offset &&
           b->n_path == m->n_path &&
           __builtin_memcmp((const char *)b->path, m->path, m->n_path) == 0;
}

/* The last one there counts: a library that comes back after another one was in its place is noted once more. */
static bool is_noted(const struct vt_module *m) {
    for (uint32_t id = rows.n; id > 0; id--) {
        const struct vt_box_module *b = vt__row(&rows, id);
        if (b->start < m->end && m->start < b->end) return is_same(b, m);
    }
    return false;
}

static void note(const struct vt_module *m) {
    char *path = vt__box_take((size_t)m->n_path + 1, 1);
    uint32_t id = path != NULL ? vt__row_add(&rows) : 0;
    if (id == 0) return;
    struct vt_box_module *b = vt__row(&rows, id);
    __builtin_memcpy(path, m->path, m->n_path);
    *b = (struct vt_box_module){.start = m->start,
                                .file_offset = m->file_offset,
                                .path = (uintptr_t)path,
                                .n_path = m->n_path,
                                .n_build_id = (uint32_t)vt_min(m->n_build_id, VT_BOX_BUILD_ID)};
    __builtin_memcpy(b->build_id, m->build_id, b->n_build_id);
    __atomic_store_n(&b->end, m->end, __ATOMIC_RELEASE); /* last: without it there is no module */
}

void vt__box_note_gone(void) {
    struct vt_gone gone;
    struct vt_module m;
    for (uint32_t cursor = 0; vt__stack_gone_next(&cursor, &gone);) {
        vt__module_of_gone(&gone, &m);
        if (!is_noted(&m)) note(&m);
    }
}

void vt__box_note_modules(void) {
    struct vt_modules m;
    vt__modules_read(&m);
    for (size_t i = 0; i < m.n; i++)
        if (m.module[i].n_path > 0 && !is_noted(&m.module[i])) note(&m.module[i]);
    vt__modules_free(&m);
}
