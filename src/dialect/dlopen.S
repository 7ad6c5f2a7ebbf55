/* dlopen.S - void *dlopen(const char *file, int mode): libc's, without RTLD_DEEPBIND.
 *
 * A library opened with that flag binds to libc's malloc instead of ours and frees our blocks with libc's free, which ends
 * in a crash far away. We cannot see that free, only keep it from happening. A jump, not a call: dlopen looks at its return
 * address to find the caller's RUNPATH and namespace.
 */
#if defined(__CET__)
#include <cet.h>
#endif
#if defined(__x86_64__)
        .text
        .globl  dlopen
        .type   dlopen, @function
dlopen:
        .cfi_startproc
        movq    vt__real_dlopen(%rip), %rax
        testq   %rax, %rax
        je      .Lfind
.Lgo:
        testb   $1, vt__keep_deepbind(%rip)
        jne     .Lkeep
        andl    $~8, %esi                       /* RTLD_DEEPBIND */
.Lkeep:
        jmp     *%rax
.Lfind:
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    vt__find_dlopen
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        jmp     .Lgo
        .cfi_endproc
        .size   dlopen, . - dlopen
#elif defined(__aarch64__)
        .text
        .globl  dlopen
        .type   dlopen, %function
dlopen:
        .cfi_startproc
        adrp    x9, vt__real_dlopen
        ldr     x9, [x9, :lo12:vt__real_dlopen]
        cbz     x9, .Lfind
.Lgo:
        adrp    x10, vt__keep_deepbind
        ldrb    w10, [x10, :lo12:vt__keep_deepbind]
        cbnz    w10, .Lkeep
        and     w1, w1, #~8                     /* RTLD_DEEPBIND */
.Lkeep:
        br      x9
.Lfind:
        stp     x0, x1, [sp, -32]!
        .cfi_adjust_cfa_offset 32
        str     x30, [sp, 16]
        .cfi_rel_offset 30, 16
        bl      vt__find_dlopen
        mov     x9, x0
        ldr     x30, [sp, 16]
        ldp     x0, x1, [sp], 32
        .cfi_adjust_cfa_offset -32
        b       .Lgo
        .cfi_endproc
        .size   dlopen, . - dlopen
#endif
        .section .note.GNU-stack,"",%progbits
