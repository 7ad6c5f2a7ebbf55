/* viewer.c - showing what was made: gv, evince, eog, kcachegrind, a browser. The file stays: who reads it does so
 * after we have ended.
 *
 * Climate: cli.
 */
#include "cli/dialect_pprof.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/text.h"

#define MAX_PROGRAMS 8

/* In the order in which they are tried; $BROWSER before those of the browser. */
static const struct show {
    const char *suffix;
    const char *programs[MAX_PROGRAMS];
} shows[] = {
    [VIEWER_GV] = {".ps", {"gv"}},
    [VIEWER_EVINCE] = {".pdf", {"evince"}},
    [VIEWER_WEB] = {".svg",
                    {"xdg-open", "x-www-browser", "gnome-www-browser", "sensible-browser",
                     "google-chrome", "chromium", "firefox"}},
    [VIEWER_EOG] = {".png", {"eog"}},
    [VIEWER_KCACHEGRIND] = {".callgrind", {"kcachegrind", "qcachegrind"}},
};

static bool is_on_path(const char *program) {
    const char *path = getenv("PATH");
    char file[4096];
    if (strchr(program, '/')) return access(program, X_OK) == 0;
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        int n = (int)strcspn(at, ":");
        (void)snprintf(file, sizeof file, "%.*s/%s", n, at, program);
        if (access(file, X_OK) == 0) return true;
        at += n;
    }
    return false;
}

static const char *find_program(enum viewer viewer) {
    const char *browser = viewer == VIEWER_WEB ? getenv("BROWSER") : NULL;
    if (browser && *browser && is_on_path(browser)) return browser;
    for (unsigned i = 0; i < MAX_PROGRAMS && shows[viewer].programs[i]; i++)
        if (is_on_path(shows[viewer].programs[i])) return shows[viewer].programs[i];
    return NULL;
}

bool viewer_is_there(enum viewer viewer) { return find_program(viewer) != NULL; }

FILE *viewer_file(const struct asked *a, char *path, size_t n_bytes) {
    const char *folder = getenv("TMPDIR"), *suffix = a->weblist ? ".html" : shows[a->viewer].suffix;
    (void)snprintf(path, n_bytes, "%s/pprof-XXXXXX%s", folder && *folder ? folder : "/tmp", suffix);
    int fd = mkostemps(path, (int)strlen(suffix), O_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out == NULL) say_error("cannot write '%s': %s", path, strerror(errno));
    if (out == NULL && fd >= 0) (void)close(fd);
    return out;
}

/* At the prompt viewers are groups of their own: what ends a command of ours does not end them. */
static int start(const char *program, const char *const *argv, bool is_group, pid_t *pid) {
    posix_spawnattr_t how;
    int error = posix_spawnattr_init(&how);
    if (error != 0) return error;
    if (is_group) error = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    if (error == 0) error = posix_spawnp(pid, program, NULL, &how, (char *const *)argv, environ);
    (void)posix_spawnattr_destroy(&how);
    return error;
}

int viewer_show(const struct asked *a, const char *path) {
    char scale[32];
    const char *program = a->no_browser ? NULL : find_program(a->viewer);
    pid_t pid;
    if (a->viewer == VIEWER_WEB)
        (void)fprintf(stderr, "Loading web page file://%s\n", text_shown(path));
    if (a->no_browser) return 0;
    if (program == NULL) {
        say_error("there is no '%s' to show it; it is in '%s'", shows[a->viewer].programs[0], path);
        return 1;
    }
    (void)snprintf(scale, sizeof scale, "--scale=%d", a->scale);
    const char *gv[] = {program, scale, "--noantialias", path, NULL};
    const char *other[] = {program, path, NULL};
    int error = start(program, a->viewer == VIEWER_GV ? gv : other, a->is_prompt, &pid);
    if (error != 0) {
        say_error("cannot run '%s': %s; it is in '%s'", program, strerror(error), path);
        return 1;
    }
    if (a->is_prompt) return 0;
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    say_error("'%s' could not show '%s'", program, path);
    return 1;
}
