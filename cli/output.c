/* output.c - where a command's results go: standard output, or a file that is complete or absent.
 *
 * Files are made as the library makes them (src/os/draft.h): anew beside their name, then renamed; links, pipes and devices that another
 * user could have planted are refused. Climate: cli.   Owns: the file in the making; there is one at a time.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "os/draft.h"
#include "os/os.h"

#define READER_WAIT_MS 5000 /* for a pipe that nobody reads yet */
#define STEP_MS 20

static struct {
    struct vt_draft draft;
    char buf[VT_PLACE_BYTES];
} made;

static const char *words_of(int err) {
    const char *words = vt__os_error_words(err);
    return vt__os_is_refusal(err) && words ? words : strerror(-err);
}

static int open_draft(const char *path) {
    return vt__draft_open(&made.draft, path, made.buf, /* mode */ 0666);
}

/* The reader of a pipe may come a little later. */
static int open_patiently(const char *path) {
    const struct timespec step = {0, STEP_MS * 1000000L};
    int err = open_draft(path);
    for (int ms = 0; err == -ENXIO && ms < READER_WAIT_MS; ms += STEP_MS) {
        (void)nanosleep(&step, NULL);
        err = open_draft(path);
    }
    return err;
}

FILE *file_create(const char *path, struct report_error *e) {
    int err = open_patiently(path);
    if (err != 0) {
        (void)report_fail(e, -err, "%s", words_of(err));
        return NULL;
    }
    /* we are a command in a pipeline: then readers may take their time */
    if (made.draft.place.kind == VT_PLACE_SPECIAL) (void)fcntl(made.draft.fd, F_SETFL, 0);
    FILE *out = fdopen(made.draft.fd, "w");
    if (out != NULL) return out;
    (void)report_fail(e, errno, "%s", strerror(errno));
    (void)close(made.draft.fd);
    (void)vt__draft_end(&made.draft, -EIO);
    return NULL;
}

int file_finish(FILE *out, bool is_wanted, struct report_error *e) {
    bool is_bad = fflush(out) != 0 || ferror(out);
    int why = errno;
    if (fclose(out) != 0 && !is_bad) {
        is_bad = true;
        why = errno;
    }
    int err = vt__draft_end(&made.draft, is_bad ? -why : is_wanted ? 0 : -ECANCELED);
    if (!is_bad && !is_wanted) return 0;
    return err == 0 ? 0 : report_fail(e, -err, "%s", words_of(err));
}

/* ---- folders */

bool folder_make(const char *folder, struct report_error *e) {
    struct vt_place p;
    char buf[VT_PLACE_BYTES];
    int err = vt__place_find(&p, folder, buf);
    if (err == -EISDIR) return true; /* it is there */
    if (err == 0) {
        if (mkdirat(p.folder, p.name, 0777) != 0 && errno != EEXIST) err = -errno;
        (void)close(p.folder);
    }
    return err == 0 || report_fail(e, -err, "%s", words_of(err)) == 0;
}

bool folder_path(const char *folder, char out[PATH_MAX], struct report_error *e) {
    char buf[VT_PLACE_BYTES], descriptor[64];
    int fd = vt__place_folder(folder, buf);
    if (fd < 0) return report_fail(e, -fd, "%s", words_of(fd)) == 0;
    (void)snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(descriptor, out, PATH_MAX - 1);
    out[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    return n > 0 || realpath(folder, out) != NULL ||
           report_fail(e, errno, "%s", strerror(errno)) == 0;
}

int folder_open_safe(const char *folder, char path[PATH_MAX]) {
    struct report_error e;
    char buf[VT_PLACE_BYTES];
    int fd = folder_path(folder, path, &e) ? vt__place_folder(path, buf) : -1;
    if (fd < 0 || vt__place_is_safe(fd)) return fd < 0 ? -1 : fd;
    (void)close(fd);
    return -1;
}

/* ---- the output of a command */

FILE *output_open(const struct settings *s) {
    struct report_error e;
    if (s->output == NULL || strcmp(s->output, "-") == 0) return stdout;
    FILE *out = file_create(s->output, &e);
    if (out == NULL) say_error("cannot write '%s': %s", s->output, e.line);
    return out;
}

const char *output_ending(const struct settings *s) {
    const char *slash = s->output ? strrchr(s->output, '/') : NULL;
    const char *name = slash ? slash + 1 : s->output, *dot = name ? strrchr(name, '.') : NULL;
    return dot ? dot : "";
}

bool output_takes_text(const struct settings *s) {
    static const char *const pictures[] = {".jpg",  ".jpeg", ".png", ".gif",  ".pdf", ".ps",
                                           ".webp", ".bmp",  ".tif", ".tiff", NULL};
    for (unsigned i = 0; pictures[i]; i++)
        if (strcasecmp(output_ending(s), pictures[i]) == 0) {
            say_error("this is text, and '%s' is the name of a picture; 'vitrine flame' and "
                      "'vitrine graph' draw some",
                      s->output);
            return false;
        }
    return true;
}

bool output_takes_bytes(FILE *out) {
    if (!isatty(fileno(out))) return true;
    say_error("bytes on a terminal: redirect them, or name a file");
    return false;
}

int output_finish(const struct settings *s, FILE *out, int status) {
    struct report_error e;
    if (out == stdout) {
        if (fflush(out) == 0 && !ferror(out)) return status;
        say_error("cannot write 'standard output': %s", strerror(errno));
    } else {
        if (file_finish(out, status == EXIT_FINE, &e) == 0) return status;
        say_error("cannot write '%s': %s", s->output, e.line);
    }
    return status == EXIT_FINE ? EXIT_COULD_NOT : status;
}

int output_close(const struct settings *s, FILE *out) { return output_finish(s, out, EXIT_FINE); }
