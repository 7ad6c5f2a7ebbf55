/* vitrine-control.h - how another process of the same user asks a running program for something.
 *
 * A program with the library has one `struct vt_control`, found by the symbol `vt_control`: in the dynamic symbols of the shared
 * library, in the symbol table of a program that was linked with the archive. Another process writes a request into it and
 * reads the answer, through /proc/PID/mem; the kernel lets it if it may trace the program. `vitrine ctl` does it, and
 * docs/formats.md tells the steps. All numbers are in the byte order of the machine.
 */
#ifndef VITRINE_CONTROL_H
#define VITRINE_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VT_CONTROL_MAGIC "vitrine"
#define VT_CONTROL_VERSION 1 /* another one: the layout differs, and nothing may be written */
#define VT_CONTROL_TEXT_BYTES 1024

/* What can be asked for, a row each: its number, its name, what comes with it and the word for that, and help. Numbers stay for
 * good; a program whose library is older answers -ENOSYS to those it does not know.
 *
 *   NOTHING   PATH: text, a file's name   ANY_PATH: text, or none   BYTES: number   SWITCH: number, 0 or 1
 */
#define VT_CONTROL_COMMANDS(ROW)                                                                   \
    ROW(1, dump, ANY_PATH, "[PATH]",                                                               \
        "write a heap profile to PATH, or to the next of the prefix's names")                      \
    ROW(2, rate, BYTES, "BYTES", "sample one allocation for every so many bytes; 0 is off")        \
    ROW(3, exact, SWITCH, "on|off", "remember every allocation from now on, or samples again")     \
    ROW(4, stats, NOTHING, "", "print statistics")                                                 \
    ROW(5, purge, NOTHING, "", "give all free memory back to the system")                          \
    ROW(6, start, PATH, "PREFIX", "write heap profiles to PREFIX.NNNN.heap, as the options say")   \
    ROW(7, stop, NOTHING, "", "write no more of them")                                             \
    ROW(8, cpu_start, PATH, "FILE", "begin a CPU profile, to be written to FILE")                  \
    ROW(9, cpu_dump, ANY_PATH, "[PATH]", "write what there is of it, to PATH or FILE, and go on")  \
    ROW(10, cpu_stop, NOTHING, "", "end it and write FILE")                                        \
    ROW(11, contention_start, PATH, "FILE", "begin a contention profile, to be written to FILE")   \
    ROW(12, contention_dump, ANY_PATH, "[PATH]",                                                   \
        "write what there is of it, to PATH or FILE, and go on")                                   \
    ROW(13, contention_stop, NOTHING, "", "end it and write FILE")

enum vt_control_command {
#define VT_CONTROL_ROW(number, name, takes, word, help) VT_CONTROL_##name = (number),
    VT_CONTROL_COMMANDS(VT_CONTROL_ROW)
#undef VT_CONTROL_ROW
};

struct vt_control_request {
    uint32_t id;       /* any number but 0; another one each time */
    uint32_t pid;      /* whom it is for, as getpid() tells it there */
    uint64_t until_ns; /* wall clock since 1970: too late after it */
    uint32_t command;  /* enum vt_control_command */
    uint32_t format;   /* dump: enum vt_heap_format + 1, 0: as the option heap_format says; stats:
                          enum vt_format */
    uint64_t number;
    char text[VT_CONTROL_TEXT_BYTES]; /* with a NUL */
    uint64_t sum;                     /* vt_control_sum() */
};

struct vt_control_answer {
    uint32_t id;                      /* of the request; written last */
    int32_t error;                    /* 0, or a negative errno */
    uint64_t number;                  /* purge: bytes given back */
    uint64_t data;                    /* stats: where the text is, until the next request */
    uint64_t n_bytes;                 /* of it */
    char text[VT_CONTROL_TEXT_BYTES]; /* dump and others that wrote a file: its name; with a NUL */
};

struct vt_control {
    /* constant */
    char magic[8];
    uint32_t version;
    uint32_t n_bytes; /* of this structure */
    /* to look at without asking: where these words of the library are */
    const void *period;      /* uint64_t: mean bytes between samples */
    const void *is_exact;    /* one byte */
    const void *used_slices; /* uint64_t: of slice_bytes each, in slabs and large blocks */
    uint64_t slice_bytes;
    /* written by the library */
    uint32_t signal; /* wakes an idle program; 0: none does */
    /* written by the client, the word last: the request's id. The library takes it back to 0. */
    uint32_t wanted;
    struct vt_control_request request;
    /* written by the library */
    struct vt_control_answer answer;
};

extern struct vt_control vt_control;

/* FNV-1a of everything in a request before its sum: a request that is half written is refused. */
static inline uint64_t vt_control_sum(const struct vt_control_request *r) {
    const unsigned char *byte = (const unsigned char *)r;
    const unsigned char *end = (const unsigned char *)&r->sum;
    uint64_t sum = 0xcbf29ce484222325u;
    while (byte < end) sum = (sum ^ *byte++) * 0x100000001b3u;
    return sum;
}

#ifdef __cplusplus
}
#endif

#endif
