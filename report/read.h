/* read.h - from a file to a profile.
 *
 *   struct profile *p;
 *   if (report_read("app.heap", &options, &p, &error) != 0) say(error.line);
 *
 * The kind of a file is told by its content, never by its name. What the user should know although
 * reading went well (totals that do not match, lines skipped) is in the profile's notes.
 *
 * Climate: cli.
 */
#ifndef REPORT_READ_H
#define REPORT_READ_H

#include "report/buffer.h"
#include "report/error.h"
#include "report/profile.h"

struct report_options {
    /* jemalloc files: "3" reads thread 3 alone; NULL reads the sums over all threads */
    const char *thread;
    /* jemalloc files: a sample for each thread, with a label that numbers it: threads.h */
    bool is_by_thread;
    /* CPU profiles: frames of the profiler's signal handler stay */
    bool keeps_handler;
    /* no note says that there is nothing in it */
    bool may_be_empty;
    /* of the file, unpacked: 0 for the limits of intake.h, INTAKE_ANY for none */
    uint64_t max_bytes;
};

/* `path` may be "-" for standard input. Gives 0, or a negative errno with the line set; the caller
 * frees the profile. */
int report_read(const char *path, const struct report_options *options, struct profile **result,
                struct report_error *e);

/* The same from memory; `name` is what messages call it. The bytes may be freed afterwards. */
int report_read_bytes(const char *name, const void *bytes, size_t n,
                      const struct report_options *options, struct profile **result,
                      struct report_error *e);

/* The same of bytes that are not packed, or are no more. */
int report_read_unpacked(const char *name, const void *bytes, size_t n,
                         const struct report_options *options, struct profile **result,
                         struct report_error *e);

/* The bytes of an ordinary file as they are, packed or not, at most max_bytes of them (0: as many as report_read() takes), and whose
 * they are; the caller frees out->bytes. 0, or a negative errno with the line set. */
struct stat;
int report_read_raw(const char *path, uint64_t max_bytes, struct buffer *out, struct stat *st,
                    struct report_error *e);

/* Lines of /proc/PID/maps and lines of addresses, mixed, as a program sends them to have them named: a
 * profile with one stack, the addresses in the order of the file and as they are. */
int report_read_addresses(const char *path, uint64_t max_bytes, struct profile **result,
                          struct report_error *e);

/* Is this an ELF file, so that it names the program and not a profile? */
bool report_is_program(const char *path);

#endif
