/* step.h - SIGTRAP after every instruction of a call, by the processor's own single step; x86-64 only. */
#ifndef VT_TESTS_RISK_STEP_H
#define VT_TESTS_RISK_STEP_H

#define TRAP_FLAG "$0x100"
/* Past the red zone, and by instructions that change no other flag. */
#define SET_FLAGS(how)                                                                             \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\t" how                                    \
                     ", (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::                              \
                         : "memory", "cc")
#define STEPPED(call)                                                                              \
    do {                                                                                           \
        SET_FLAGS("orq " TRAP_FLAG);                                                               \
        call;                                                                                      \
        SET_FLAGS("andq $~0x100");                                                                 \
    } while (0)

#endif
