/* box.c - the option black_box: when its file is made, and what becomes of it.
 *
 *   start        FILE, before anything is recorded
 *   fork         the child has none, until it has something to record: then FILE.PID, or its own by %p
 *   new library  is noted
 *   exit         what is resident is told, if somebody waits for it; once the profiles that were asked for are written, it goes; if
 *                there are none, it stays
 *   exec         it stays; the new program makes another
 *
 * Climate: host, no malloc; attending: signal.   Owns: the switch.   Locks: none.
 */
#include "life/box.h"

#include <stdatomic.h>

#include "conf/options.h"
#include "dump/box_end.h"
#include "dump/box_modules.h"
#include "dump/names.h"
#include "life/life.h"
#include "os/box_file.h"
#include "os/upcalls.h"
#include "probe/upcalls.h"
#include "stack/upcalls.h"

static struct {
    _Atomic bool is_noting, is_attending;
    bool is_awaited; /* somebody wants to know what is resident at the end */
} box;

static int make(bool is_child) {
    char path[VT_PATH_BYTES];
    bool has_process;
    int err = vt__process_path(path, sizeof(path), vt_opt_text(black_box), &has_process);
    return err != 0 ? err : vt__box_file_make(path, is_child && !has_process);
}

void vt__life_modules_changed(void) {
    if (atomic_exchange(&box.is_noting, true)) return;
    /* of a core file the kernel tells which files are mapped, but not which were */
    vt__box_has_file() ? vt__box_note_modules() : vt__box_note_gone();
    atomic_store(&box.is_noting, false);
}

void vt__life_box_begin(void) {
    if (vt__os_is_secure()) return; /* a set-uid program writes no files for others */
    int err = make(/* is_child */ false);
    if (err != 0) {
        vt__warn_because("cannot make black box", vt_opt_text(black_box), err);
        return;
    }
    vt__life_modules_changed();
    box.is_awaited = vt__box_end_is_awaited();
}

/* The child of a fork has something to record; or one of a bare clone(), whose tables are still the parent's. */
VT_COLD void vt__life_box_attend(void) {
    if (atomic_exchange(&box.is_attending, true)) return; /* a handler that interrupted it */
    (void)vt__box_detach();
    (void)make(/* is_child */ true); /* without a file it goes on in memory */
    vt__box_calm();
    atomic_store(&box.is_attending, false);
}

VT_COLD void vt__life_box_is_full(const char *path) {
    vt__warn("no room for more in black box", path,
             ": if the process is killed, what it records from now on is lost");
}

/* Of the options; another library's names for them keep the box. */
static uint32_t wanted(void) {
    uint32_t bits = vt_opt_text(heap_profile) != NULL && vt_opt(heap_exit) ? VT_BOX_WROTE_HEAP : 0;
    return vt_opt_text(cpu_profile) != NULL ? bits | VT_BOX_WROTE_CPU : bits;
}

void vt__life_box_begin_end(void) {
    if (box.is_awaited) vt__box_note_peak();
}

void vt__life_box_end(uint32_t written) {
    if (!vt__box_has_file()) return;
    if (box.is_awaited) vt__box_tell_end();
    vt__box->written |= written;
    vt__box->state = VT_BOX_ENDED;
    uint32_t all = wanted();
    if (all != 0 && (vt__box->written & all) == all) vt__box_file_remove();
}
