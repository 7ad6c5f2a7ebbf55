/* intake.h - a stranger's bytes, taken in pieces: unpacked on the way, and bounded.
 *
 *   struct intake in = {.name = "app.heap.gz"};
 *   error = intake_take(&in, piece, n, &e);      for each piece
 *   if (error == 0) error = intake_end(&in, &e);
 *   ... in.out ...
 *   intake_free(&in);
 *
 * A file of 33 kB can unpack to a gigabyte, and a pipe or a server need not end at all. So there is a limit: 2 GiB, and of what
 * is packed, past the first 64 MiB, 1000 times what was taken. No profile comes near that; gzip can do 1032, zstd 32768.
 *
 * Climate: cli.
 */
#ifndef REPORT_INTAKE_H
#define REPORT_INTAKE_H

#include "report/buffer.h"
#include "report/error.h"

#define INTAKE_MAX_BYTES ((uint64_t)2 << 30)
#define INTAKE_FREE_BYTES ((uint64_t)64 << 20)
#define INTAKE_RATIO 1000u
#define INTAKE_ANY UINT64_MAX

/* A profile names a frame by a byte or two, and a stack by the one that called it: what it stands for can be far more than its bytes.
 * So its frames have a limit as well: 25 for each byte unpacked, at least 4 million, at most 2 GiB of them. */
#define INTAKE_FRAMES_RATIO 25u
#define INTAKE_FREE_FRAMES ((uint64_t)1 << 22)

/* How many frames may so many bytes, unpacked, stand for? A max_bytes above the default allows more. */
uint64_t intake_max_frames(uint64_t n_bytes, uint64_t max_bytes);

/* Would so many bytes be too many? `max_bytes` 0: the limits above. `n_packed` 0: they are not packed. */
bool intake_is_too_much(uint64_t n_bytes, uint64_t n_packed, uint64_t max_bytes);

struct intake {
    /* for the caller to set */
    const char *name;   /* for messages */
    uint64_t max_bytes; /* 0: the limits above; INTAKE_ANY: none */
    bool keeps_packed;  /* do not unpack */
    /* what came of it */
    struct buffer out;
    /* its own */
    enum { INTAKE_UNTOLD, INTAKE_PLAIN, INTAKE_GZIP, INTAKE_ZSTD } kind;
    void *stream;      /* of zlib or zstd */
    uint64_t n_packed; /* bytes that the stream took */
    bool is_whole;     /* the last member or frame has ended */
};

/* Do these bytes begin like a gzip or zstd file? */
bool intake_is_packed(const void *bytes, size_t n);
/* 0, or a negative errno with the line set: -EFBIG past the limit, -EINVAL for what is damaged. */
int intake_take(struct intake *in, const void *bytes, size_t n, struct report_error *e);
/* No more comes. -EINVAL: something is missing. */
int intake_end(struct intake *in, struct report_error *e);
void intake_free(struct intake *in);

#endif
