/* vitrine-box.h - what the probes know, as it lies in memory: for those who read it when the process is gone.
 *
 * A program with the library has one `struct vt_box`. It is in the library's own memory, and so in a core file; or, with the option
 * black_box, at the beginning of a file that the process has mapped. Everything else is found from it. Addresses are those of the
 * process: of a core file the segments tell where they are, of a black box `base` does. `vitrine core` and `vitrine read` make
 * profiles of it; docs/formats.md tells more. All numbers are in the byte order of the machine.
 *
 * The process may have died at any instruction. What is written once (stacks, rows, labels) is written before the number that leads
 * to it. A row that is written again and again has a sequence, which is odd meanwhile.
 */
#ifndef VITRINE_BOX_H
#define VITRINE_BOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VT_BOX_MAGIC "vitrine's box\r\n" /* 16 bytes, with the NUL */
#define VT_BOX_VERSION 2                 /* another one: the layout differs */
#define VT_BOX_ALIGN 64                  /* of its address */

/* Memory that grows from its first byte on. Stacks: an id leads to an entry, `first << 8 | n`: so many words from words[first] on are
 * its return addresses, innermost first. 0: there is no such stack. Ids below VT_BOX_FIRST_IDS have their entry in the first of them. */
enum vt_box_region {
    VT_BOX_FIRST_ENTRIES, /* by id */
    VT_BOX_ENTRIES,       /* by id */
    VT_BOX_WORDS,
    VT_BOX_CPU_COUNTS, /* struct vt_box_count; those whose key is 0 are free */
    VT_BOX_CPU_TASKS,  /* by number: cpu_task_bytes each; a name of 16 bytes comes first */
    VT_BOX_TABLES,     /* everything else of a black box */
    VT_BOX_N_REGIONS
};
#define VT_BOX_FIRST_IDS 256
#define VT_BOX_MAX_ID (1u << 20)

/* Rows 1 to n of one size, in blocks that double: 8, 16, 32, ... rows. */
enum vt_box_table {
    VT_BOX_NO_TABLE,
    VT_BOX_SITES,   /* struct vt_box_site */
    VT_BOX_FREED,   /* struct vt_box_freed */
    VT_BOX_LABELS,  /* struct vt_box_label */
    VT_BOX_MODULES, /* struct vt_box_module */
    VT_BOX_PLACES,  /* struct vt_box_place */
    VT_BOX_THREADS, /* struct vt_box_thread, by a thread's number */
    VT_BOX_N_TABLES
};
#define VT_BOX_BLOCKS 24
#define VT_BOX_FIRST_ROWS 8
struct vt_box_rows {
    uint32_t row_bytes, n;
    uint64_t block[VT_BOX_BLOCKS]; /* addresses; 0: none yet */
};

/* One place in the program, for one size of block, thread and set of labels: samples, and what they stand for. */
struct vt_site_counts {
    uint64_t n_seen; /* samples */
    double objects, bytes, requested_bytes;
};
#define VT_LIFETIMES 40 /* by doubling: below 1, 2, 4, ... milliseconds */
struct vt_site {
    uint32_t stack; /* its id; 0: lost */
    uint32_t thread, label;
    uint64_t block_bytes; /* of blocks above 16 KiB: none is larger, or smaller by an eighth */
    struct vt_site_counts alloc; /* all since the start */
    struct vt_site_counts freed; /* of these */
    struct vt_site_counts peak;  /* in use when most was */
    uint32_t lifetimes[VT_LIFETIMES];
};
struct vt_box_site {
    struct vt_site s;     /* `freed` and `lifetimes` by its own thread */
    uint32_t of_others;   /* a row of VT_BOX_FREED: what other threads freed of it; 0: nothing */
    uint32_t sequence;    /* odd: it is being written */
    uint64_t peak_number; /* s.peak is of this peak; of another: what is in use is its peak */
    /* What one sample stands for, at this period: its own thread's memory of a small computation. */
    uint64_t weighed_period;
    double weight;
};
struct vt_box_freed {
    struct vt_site_counts counts;
    uint32_t lifetimes[VT_LIFETIMES];
};

/* A label is its parent and one pair more; 0 is none. */
struct vt_box_label {
    uint32_t parent;
    uint64_t key, value; /* addresses of texts that end in NUL, 255 bytes at most */
};

/* A thread of samples and exact mode. */
struct vt_box_thread {
    char name
        [16]; /* as the system had it when it was last looked at; ends in NUL; empty: it was not */
    uint32_t tid;     /* the system's; 0: it has ended, or nobody looked yet */
    uint32_t n_ended; /* so many threads that had this number ended, or took another */
    uint32_t is_left; /* no thread has it now */
};

/* A mapping of a file that has code. */
#define VT_BOX_BUILD_ID 32
struct vt_box_module {
    uint64_t start, end, file_offset;
    uint64_t path; /* address of its name */
    uint32_t n_path, n_build_id;
    uint8_t build_id[VT_BOX_BUILD_ID];
};

/* How often a stack was met: key = stack 22 bits | label 22 bits | task 20 bits. The numbers less those of the base. */
struct vt_box_count {
    uint64_t key;
    uint64_t n, on_ns, off_ns;
    uint64_t base_n, base_on_ns, base_off_ns;
    uint64_t pad;
};
#define VT_BOX_TASK_BITS 20
#define VT_BOX_LABEL_BITS 22
#define VT_BOX_MAX_COUNTS ((uint64_t)585 << 10)

/* Exact mode: every thread has a table of its own, and a place's numbers are the sums over all. A table begins with the address of the
 * next one, 0: it is the last. At exact_blocks_at come the addresses of blocks: the row of a place is number
 * place % VT_BOX_EXACT_ROWS of block place / VT_BOX_EXACT_ROWS. Blocks that are 0 have none. A block is so many rows, and behind
 * them as many peaks. */
struct vt_box_exact_row {
    uint32_t peak_number; /* its peak is of this peak; of another: what is in use is its peak */
    uint32_t run;         /* it counts if it is that of the box */
    uint64_t n_alloc, alloc_bytes, alloc_requested_bytes;
    uint64_t n_freed, freed_bytes, freed_requested_bytes;
    uint64_t pad;
};
struct vt_box_exact_peak { /* in use when most was; below 0 where others' blocks were freed */
    uint64_t n, bytes, requested_bytes;
};
#define VT_BOX_EXACT_ROWS 256
#define VT_BOX_MAX_PLACES (1u << 18)
#define VT_BOX_EXACT_BLOCKS ((VT_BOX_MAX_ID + VT_BOX_MAX_PLACES) / VT_BOX_EXACT_ROWS + 1)
struct vt_box_exact {
    uint64_t next;
    /* What the thread allocated, and had in use more, since it last told exact_alloc_bytes and exact_live_bytes: with these it is the sum
     * of all rows (in bytes of blocks; of the first run), unless one was being written. */
    int64_t untold_alloc, untold_live;
    uint32_t thread; /* its number; UINT32_MAX: of several threads that had none */
};
/* A place is a stack, or, above VT_BOX_MAX_ID, row place - VT_BOX_MAX_ID of this table. */
struct vt_box_place {
    uint32_t stack, label;
    uint32_t thread; /* 0: the table's own; else what it freed of this thread's blocks */
    uint32_t next;   /* the next of the same stack; 0: none */
};

enum vt_box_state {
    VT_BOX_LIVE,
    VT_BOX_MOVED,   /* the tables are in the file whose name is at `file`; it is mapped at `base` */
    VT_BOX_ENDED,   /* it came to its exit handlers */
    VT_BOX_REPLACED /* it called exec: a later program of that process has another box */
};
/* Profiles that the process wrote by itself when it ended: bits. */
enum vt_box_written { VT_BOX_WROTE_HEAP = 1, VT_BOX_WROTE_CPU = 2 };

struct vt_box {
    char magic[16];
    uint32_t version, n_bytes; /* of this struct */
    uint64_t at;               /* its own address */
    uint64_t base, end;    /* of a black box: these addresses are the file from its first byte on */
    uint32_t pid, state;   /* pid: of a black box; a core file knows it without */
    uint64_t start_ns;     /* wall clock since 1970 */
    uint64_t file;         /* see VT_BOX_MOVED */
    uint64_t entry;        /* where the program begins: tells its module from the others */
    uint64_t n_lost_bytes; /* that a black box had no room for: they are not in the file */
    uint32_t written, pad;
    /* samples */
    uint64_t sample_period, sample_since_ns, peak_number;
    /* exact mode; run 0: it is off */
    uint64_t exact_tables, exact_blocks_at, exact_run;
    int64_t exact_alloc_bytes, exact_live_bytes, exact_peak_bytes;
    uint64_t exact_peak_number;
    /* CPU time */
    uint64_t cpu_period_ns, cpu_since_ns;
    uint32_t cpu_clock, cpu_task_bytes, cpu_tid_at,
        n_cpu_pad;                     /* tid_at: in a task, its thread's id */
    uint64_t region[VT_BOX_N_REGIONS]; /* addresses; 0: none yet */
    struct vt_box_rows table[VT_BOX_N_TABLES];
};

/* What a process had resident when it came to its exit handlers. It appends this to the file VT_BOX_ENDS in the folder of its black box,
 * if there is such a file: for who waits for the end, as the box itself goes then. */
#define VT_BOX_ENDS "ends"
#define VT_BOX_END_MAGIC "vt end\n" /* 8 bytes, with the NUL */
enum vt_box_part {
    VT_BOX_HEAP,
    VT_BOX_MEMORY, /* anonymous mappings of the program's own */
    VT_BOX_STACKS,
    VT_BOX_FILES,
    VT_BOX_OWN, /* the library's tables, and the black box */
    VT_BOX_N_PARTS
};
struct vt_box_end {
    char magic[8];
    uint32_t n_bytes, pid;          /* n_bytes: of this struct */
    char name[16];                  /* of the process; ends in NUL */
    uint64_t peak_bytes;            /* most that was resident, as the kernel counts; 0: not known */
    uint64_t bytes[VT_BOX_N_PARTS]; /* now; all 0: not known */
};

#ifdef __cplusplus
}
#endif

#endif
