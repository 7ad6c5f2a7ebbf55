/* graphviz.c - pictures of call graphs: by graphviz's program `dot` where it is installed and can, else by ourselves.
 *
 *   the graph's text --file--> dot --file--> the picture     files in memory: nothing is left behind, whatever happens,
 *                               \--file--> what it says       and a picture that is cut goes nowhere
 *
 * Climate: cli.
 */
#include "cli/command.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/canvas.h"

struct drawing {
    FILE *text, *picture, *said; /* in, out, stderr of the program */
    const char *program;
    bool is_there; /* the program */
    char why[300]; /* it could not */
};

static FILE *memory_file(const char *name) {
    int fd = memfd_create(name, MFD_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w+e");
    if (f == NULL && fd >= 0) (void)close(fd);
    return f;
}

/* 0, or the errno of starting it. */
static int start(const struct drawing *d, const char *format, pid_t *pid) {
    char option[32];
    (void)snprintf(option, sizeof option, "-T%s", format);
    char *const argv[] = {(char *)d->program, option, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawn_file_actions_adddup2(&actions, fileno(d->text), 0);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, fileno(d->picture), 1);
    if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, fileno(d->said), 2);
    if (error == 0) error = posix_spawnp(pid, d->program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* How it ended, and the first line of what it said. */
static void explain(struct drawing *d, int ended) {
    char line[200] = "";
    rewind(d->said);
    if (fgets(line, sizeof line, d->said)) line[strcspn(line, "\r\n")] = '\0';
    if (WIFSIGNALED(ended))
        (void)snprintf(d->why, sizeof d->why, "ended by signal %d", WTERMSIG(ended));
    else if (WEXITSTATUS(ended) != 0)
        (void)snprintf(d->why, sizeof d->why, "exit %d", WEXITSTATUS(ended));
    else
        (void)snprintf(d->why, sizeof d->why, "no picture");
    size_t n = strlen(d->why);
    if (*line) (void)snprintf(d->why + n, sizeof d->why - n, ": %s", line);
}

/* False: why not is told. */
static bool run_dot(struct drawing *d, const char *format) {
    pid_t pid;
    int ended, error = start(d, format, &pid);
    d->is_there = error != ENOENT;
    if (error != 0) {
        (void)snprintf(d->why, sizeof d->why, "%s", strerror(error));
        return false;
    }
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {}
    bool is_good = WIFEXITED(ended) && WEXITSTATUS(ended) == 0 &&
                   fseek(d->picture, 0, SEEK_END) == 0 && ftell(d->picture) > 0;
    if (!is_good) explain(d, ended);
    return is_good;
}

/* The picture, of which `from` stands at the end; an SVG with our script in it. What cannot be written shows when `to` is
 * closed. */
static void copy(FILE *from, FILE *to, bool is_svg) {
    static const char end[] = "</svg>";
    size_t n = (size_t)ftell(from), n_head;
    char *picture = report_alloc(n + 1);
    rewind(from);
    n = fread(picture, 1, n, from);
    n_head = n;
    for (char *at = picture; is_svg && (at = strstr(at, end)) != NULL; at++)
        n_head = (size_t)(at - picture);
    (void)fwrite(picture, 1, n_head, to);
    if (n_head < n) canvas_svg_script(to);
    (void)fwrite(picture + n_head, 1, n - n_head, to);
    free(picture);
}

static int draw(struct drawing *d, const struct view *v, const struct view_dot_options *o,
                const char *format, FILE *out) {
    if (!view_dot(v, o, d->text)) {
        (void)fputs("No nodes to print\n", stderr);
        return EXIT_FOUND;
    }
    if (fflush(d->text) != 0 || fseek(d->text, 0, SEEK_SET) != 0) {
        say_error("cannot write the graph for '%s': %s", d->program, strerror(errno));
        return EXIT_COULD_NOT;
    }
    if (run_dot(d, format)) {
        copy(d->picture, out, strcmp(format, "svg") == 0);
        return EXIT_FINE;
    }
    if (d->is_there)
        say_warning("'%s' could not draw the graph: %s; it is drawn without", d->program, d->why);
    view_graph(v, o, format, out);
    return EXIT_FINE;
}

int graph_draw(const struct view *v, const struct view_dot_options *o, const char *format,
               FILE *out) {
    if (strcmp(format, "dot") == 0) {
        if (view_dot(v, o, out)) return EXIT_FINE;
        (void)fputs("No nodes to print\n", stderr);
        return EXIT_FOUND;
    }
    const char *named = getenv("DOT"); /* brpc's name for it */
    struct drawing d = {.text = memory_file("graph"),
                        .picture = memory_file("picture"),
                        .said = memory_file("said"),
                        .program = named && *named ? named : "dot"};
    int status = EXIT_COULD_NOT;
    if (d.text && d.picture && d.said)
        status = draw(&d, v, o, format, out);
    else
        say_error("cannot make a file in memory: %s", strerror(errno));
    if (d.text) (void)fclose(d.text);
    if (d.picture) (void)fclose(d.picture);
    if (d.said) (void)fclose(d.said);
    return status;
}
