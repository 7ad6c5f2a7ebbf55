/* terminal.c - see terminal.h. Climate: cli. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/progress.h"
#include "report/text.h"

#define PATIENCE_MS 700 /* work that takes less is not told of */
#define EVERY_MS 100
#define MIN_WIDTH 60 /* less cannot hold a table */

unsigned terminal_width(FILE *out) {
    struct winsize size = {0};
    if (!isatty(fileno(out))) return 0;
    const char *columns = getenv("COLUMNS");
    unsigned long n = columns ? strtoul(columns, NULL, 10) : 0;
    if (n == 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0) n = size.ws_col;
    return n == 0 || n > 10000 ? 0 : n < MIN_WIDTH ? MIN_WIDTH : (unsigned)n;
}

bool terminal_has_colour(FILE *out) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(out)) && (no == NULL || *no == '\0') &&
           !(term && strcmp(term, "dumb") == 0);
}

/* ---- progress */

static struct {
    int64_t began_ms, shown_ms;
    bool is_shown;
} line;

static int64_t now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void show(const char *what, const char *name, uint64_t done, uint64_t all) {
    int64_t now = now_ms();
    if (now - line.began_ms < PATIENCE_MS || now - line.shown_ms < EVERY_MS) return;
    line.shown_ms = now;
    line.is_shown = true;
    const char *slash = strrchr(name, '/');
    (void)fprintf(stderr, "\r\033[K%s: %s '%.40s'", said_by, what,
                  text_shown(slash ? slash + 1 : name));
    if (all > 0)
        (void)fprintf(stderr, " %.0f%%", 100 * (double)done / (double)all);
    else
        (void)fprintf(stderr, " %.1f MB", (double)done / 1048576);
    (void)fflush(stderr);
}

void progress_begin(void) {
    if (!isatty(2)) return;
    line.began_ms = now_ms();
    report_progress = show;
}

void progress_end(void) {
    if (line.is_shown) (void)fputs("\r\033[K", stderr);
    line.is_shown = false;
}
