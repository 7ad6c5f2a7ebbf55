/* proto.h - writing profile.proto, the format of pprof; not compressed, which its readers accept.
 *
 *   vt__proto_begin, vt__proto_sample for each, vt__proto_end
 *
 * Climate: host, no malloc.   Callers: heap_proto.c, cpu_proto.c.
 */
#ifndef VT_DUMP_PROTO_H
#define VT_DUMP_PROTO_H

#include "dump/impl.h"

VT_HIDDEN_BEGIN

struct vt_proto_type {
    const char *name, *unit;
};

struct vt_proto_head {
    const struct vt_proto_type *types; /* what the values of a sample are */
    unsigned n_types;
    const char *default_type;
    struct vt_proto_type period_type;
    uint64_t period;
    uint64_t time_ns, duration_ns;
    const char *comment;
};

struct vt_proto_sample {
    const uintptr_t *pc; /* innermost first */
    unsigned n_pcs;      /* 0: the stack is not known; written as the one address 0 */
    bool is_interrupted; /* pc[0] is no return address */
    uint32_t thread;     /* 0: none */
    const char *thread_name;
    uint64_t lifetime_ms; /* 0: none */
    unsigned n_labels;
    const char *const *label_keys, *const *label_values;
    const uint64_t *values;
    unsigned n_values; /* as many as there are types */
};

struct vt_proto_known;
struct vt_proto {
    struct vt_out *o;
    struct vt_text *t;
    struct vt_proto_known *known; /* what has been written so far */
    unsigned n_addresses_known, n_strings_known;
    size_t strings_used;
    uint64_t n_locations, n_strings; /* numbers given out */
    uint64_t default_type;           /* a string; written at the end */
    struct vt_modules modules;
    uint64_t *numbers; /* of one sample: its locations, then a key and a value for each label */
    size_t n_numbers_room;
};

/* 0 or -errno. vt__proto_end is due in either case. */
int vt__proto_begin(struct vt_proto *e, struct vt_out *o, const struct vt_proto_head *h);
int vt__proto_sample(struct vt_proto *e, const struct vt_proto_sample *s);
void vt__proto_end(struct vt_proto *e);

VT_HIDDEN_END

#endif
