/* heap_collapsed.c - a heap profile as collapsed stacks, for flame graph programs.
 *
 *   binary+0x1234;library.so+0x5678 4096        outermost frame first, then the bytes in use (estimates, not as seen)
 *
 * The number behind the name is the ELF address of the call, which addr2line -e takes as it is. An address that belongs to
 * no file is written as 0x..., a stack that is not known as [unknown]. What would end a frame or a line becomes '?'.
 * Rows with nothing in use are left out; equal stacks may come several times, readers add them up.
 *
 * Climate: host, no malloc.   Owns: nothing.
 */
#include "dump/impl.h"

static void put_frame(struct vt_text *t, const struct vt_modules *modules, uintptr_t address) {
    const struct vt_module *m = vt__modules_find(modules, address);
    if (m == NULL || m->n_path == 0) {
        vt__text_hex(t, address);
        return;
    }
    size_t start = m->n_path;
    while (start > 0 && m->path[start - 1] != '/') start--;
    vt__put_tame(t, m->path + start, m->n_path - start, ";");
    vt__text_char(t, '+');
    vt__text_hex(t, address - m->start + m->file_offset + m->elf_delta);
}

int vt__heap_collapsed(struct vt_out *o, const struct vt_heap_source *src) {
    struct vt_heap_row row;
    struct vt_modules modules;
    vt__modules_read(&modules);
    src->rewind(src->state, /* by_thread */ false);
    while (o->err == 0 && vt__row_next(src, &row)) {
        if (row.inuse_requested_bytes == 0) continue;
        if (row.n_pcs == 0) vt__text_put(&o->text, "[unknown]");
        for (unsigned i = row.n_pcs; i-- > 0;) {
            put_frame(&o->text, &modules, vt__call_of(row.pc[i]));
            if (i > 0) vt__text_char(&o->text, ';');
        }
        vt__text_char(&o->text, ' ');
        vt__text_uint(&o->text, row.inuse_requested_bytes);
        vt__text_char(&o->text, '\n');
    }
    vt__modules_free(&modules);
    return 0;
}
