/* own_static.c - our own code, when it is an archive that was linked into a program. own_shared.c is the other choice.
 *
 * The build puts the code of libvitrine.a into a section of its own (cmake/library.cmake), and the linker names its ends. In
 * an archive that was made in another way, with link-time optimization for one, there is no such section: stacks then begin
 * with frames of ours.
 * Climate: signal.   Owns: nothing. */
#include "stack/impl.h"

VT_HIDDEN_BEGIN
extern const char __start_vt_text[] __attribute__((weak));
extern const char __stop_vt_text[] __attribute__((weak));
VT_HIDDEN_END

bool vt__is_own(uintptr_t pc) {
    return pc - (uintptr_t)__start_vt_text < (uintptr_t)__stop_vt_text - (uintptr_t)__start_vt_text;
}
