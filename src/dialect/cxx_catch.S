/* cxx_catch.S - bool vt__call_catching(void (*f)(void)): calls f and catches whatever it throws.
 *
 * What a C++ compiler makes of  try { f(); return false; } catch (...) { return true; }  The personality routine and the
 * two catch functions are weak, as in cxx.c: a program that can throw has them.
 */
#if defined(__CET__)
#include <cet.h>
#endif
#if defined(__x86_64__)
        .weak   __gxx_personality_v0
        .weak   __cxa_begin_catch
        .weak   __cxa_end_catch
        .section .text.vt__call_catching,"ax",@progbits
        .globl  vt__call_catching
        .hidden vt__call_catching
        .type   vt__call_catching, @function
vt__call_catching:
        .cfi_startproc
        .cfi_personality 0x9b, .Lpersonality
        .cfi_lsda 0x1b, .Llsda
        endbr64
        subq    $8, %rsp
        .cfi_def_cfa_offset 16
.Lcall_begin:
        call    *%rdi
.Lcall_end:
        xorl    %eax, %eax
.Lreturn:
        addq    $8, %rsp
        .cfi_remember_state
        .cfi_def_cfa_offset 8
        ret
.Lcaught:
        .cfi_restore_state
        endbr64
        movq    %rax, %rdi
        call    *__cxa_begin_catch@GOTPCREL(%rip)
        call    *__cxa_end_catch@GOTPCREL(%rip)
        movl    $1, %eax
        jmp     .Lreturn
        .cfi_endproc
        .size   vt__call_catching, . - vt__call_catching

        /* one call site, caught by type 0: anything */
        .section .gcc_except_table,"a",@progbits
        .p2align 2
.Llsda:
        .byte   0xff                            /* landing pads count from the function's start */
        .byte   0x9b                            /* types: indirect, relative, 4 bytes */
        .uleb128 .Ltypes_end - .Lsites_header
.Lsites_header:
        .byte   0x01                            /* call sites: uleb128 */
        .uleb128 .Lsites_end - .Lsites
.Lsites:
        .uleb128 .Lcall_begin - vt__call_catching
        .uleb128 .Lcall_end - .Lcall_begin
        .uleb128 .Lcaught - vt__call_catching
        .uleb128 1                              /* first action */
.Lsites_end:
        .byte   1                               /* type 1, */
        .byte   0                               /* no further action */
        .p2align 2
        .long   0                               /* type 1: any */
.Ltypes_end:

        .section .data.rel.ro.vt__personality,"aw",@progbits
        .p2align 3
.Lpersonality:
        .quad   __gxx_personality_v0
#elif defined(__aarch64__)
        .weak   __gxx_personality_v0
        .weak   __cxa_begin_catch
        .weak   __cxa_end_catch
        .section .text.vt__call_catching,"ax",@progbits
        .globl  vt__call_catching
        .hidden vt__call_catching
        .type   vt__call_catching, %function
vt__call_catching:
        .cfi_startproc
        .cfi_personality 0x9b, .Lpersonality
        .cfi_lsda 0x1b, .Llsda
        stp     x29, x30, [sp, -16]!
        .cfi_def_cfa_offset 16
        .cfi_offset 29, -16
        .cfi_offset 30, -8
        mov     x29, sp
.Lcall_begin:
        blr     x0
.Lcall_end:
        mov     w0, 0
.Lreturn:
        ldp     x29, x30, [sp], 16
        .cfi_remember_state
        .cfi_def_cfa_offset 0
        ret
.Lcaught:
        .cfi_restore_state
        bl      __cxa_begin_catch
        bl      __cxa_end_catch
        mov     w0, 1
        b       .Lreturn
        .cfi_endproc
        .size   vt__call_catching, . - vt__call_catching

        .section .gcc_except_table,"a",%progbits
        .p2align 2
.Llsda:
        .byte   0xff
        .byte   0x9b
        .uleb128 .Ltypes_end - .Lsites_header
.Lsites_header:
        .byte   0x01
        .uleb128 .Lsites_end - .Lsites
.Lsites:
        .uleb128 .Lcall_begin - vt__call_catching
        .uleb128 .Lcall_end - .Lcall_begin
        .uleb128 .Lcaught - vt__call_catching
        .uleb128 1
.Lsites_end:
        .byte   1
        .byte   0
        .p2align 2
        .long   0
.Ltypes_end:

        .section .data.rel.ro.vt__personality,"aw",%progbits
        .p2align 3
.Lpersonality:
        .xword  __gxx_personality_v0
#endif
        .section .note.GNU-stack,"",%progbits
