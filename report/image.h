/* image.h - the memory of a process that is gone, as far as a file has it: a core file, or a black box.
 *
 *   struct image m;
 *   if (image_open(&m, "core.4711", 0, &e) == 0 && image_read(&m, address, &x, sizeof x)) ...
 *   image_close(&m);
 *
 * The file is hostile: nothing in it is believed before it was looked at, and nothing outside of it is touched.
 *
 * Climate: cli.
 */
#ifndef REPORT_IMAGE_H
#define REPORT_IMAGE_H

#include <vitrine-box.h>

#include "report/error.h"
#include "report/memory.h"

#define IMAGE_PATH 4096

struct image_segment {
    uint64_t start, end; /* addresses */
    uint64_t offset;     /* in the file */
};

/* A file that was mapped, as the kernel noted it in the core file. */
struct image_file {
    uint64_t start, end, offset;
    const char *path; /* ends in NUL */
};

struct image {
    const char *name; /* for messages */
    int fd; /* read, not mapped: a file that becomes shorter meanwhile is an error, not a SIGBUS */
    uint64_t n_bytes;
    uint64_t max_bytes; /* that are taken of it: as in intake.h */
    bool is_core;
    int signal;   /* that ended the process, as a core file tells it; 0: none, or not known */
    uint32_t pid; /* of a core file; 0: not known */
    struct image_segment *segments; /* by address */
    uint32_t n_segments, cap_segments;
    struct image_file *files;
    uint32_t n_files, cap_files;
    unsigned char *notes; /* that have their names */
};

/* 0, or a negative errno with the line set. `name` must stay. max_bytes 0: at most 2 GiB are taken; INTAKE_ANY: any number. */
int image_open(struct image *m, const char *name, uint64_t max_bytes, struct report_error *e);
/* The same of a file in a folder that is open, if it is no link. */
int image_open_at(struct image *m, int folder, const char *name, uint64_t max_bytes,
                  struct report_error *e);
void image_close(struct image *m);
/* Copies memory of the process; false: some of it is not in the file. */
bool image_read(const struct image *m, uint64_t address, void *out, uint64_t n_bytes);
/* A text that ends in NUL, of at most n_bytes - 1; false: it is not there, or longer. */
bool image_text(const struct image *m, uint64_t address, char *out, uint64_t n_bytes);

/* The head of the box. 0, or a negative errno with the line set. Of a core file its state may be VT_BOX_MOVED: then the rest is in
 * a black box, image_open_moved(). */
int image_find_box(const struct image *m, struct vt_box *out, struct report_error *e);
/* Opens the black box of the process whose core file this is, and gives its head; the same answers. `path` has its name, and must stay. */
int image_open_moved(const struct image *core, const struct vt_box *moved, char path[IMAGE_PATH],
                     struct image *m, struct vt_box *out, struct report_error *e);

#endif
