/* graphviz.c - pictures of call graphs: by graphviz's program `dot` where it is installed, else by ourselves. Climate: cli. */
#include "cli/command.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_DOT (-1)

/* An exit status, or NO_DOT: there is no such program, and nothing was said or written. */
static int run_dot(const char *program, const char *format, int from, int to) {
    char option[32];
    (void)snprintf(option, sizeof option, "-T%s", format);
    char *const argv[] = {(char *)program, option, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = posix_spawn_file_actions_init(&actions);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, from, 0);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, to, 1);
    if (status == 0) status = posix_spawnp(&pid, program, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (status == ENOENT) return NO_DOT;
    if (status != 0) {
        say_error("cannot run '%s': %s", program, strerror(status));
        return EXIT_COULD_NOT;
    }
    int ended;
    while (waitpid(pid, &ended, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return EXIT_FINE;
    say_error("'%s' could not draw the graph", program);
    return EXIT_COULD_NOT;
}

int graph_draw(const struct view *v, const struct view_dot_options *o, const char *format,
               FILE *out) {
    const char *program = getenv("DOT"); /* brpc's name for it */
    if (program == NULL || *program == '\0') program = "dot";
    if (strcmp(format, "dot") == 0) {
        if (view_dot(v, o, out)) return EXIT_FINE;
        (void)fputs("No nodes to print\n", stderr);
        return EXIT_FOUND;
    }
    FILE *text = tmpfile();
    if (text == NULL) {
        say_error("cannot write a temporary file: %s", strerror(errno));
        return EXIT_COULD_NOT;
    }
    int status = EXIT_FOUND;
    if (!view_dot(v, o, text))
        (void)fputs("No nodes to print\n", stderr);
    else if (fflush(text) != 0 || fseek(text, 0, SEEK_SET) != 0 || fflush(out) != 0)
        say_error("cannot write a temporary file: %s", strerror(errno));
    else
        status = run_dot(program, format, fileno(text), fileno(out));
    (void)fclose(text);
    if (status != NO_DOT) return status;
    if (view_graph_knows(format)) return view_graph(v, o, format, out) ? EXIT_FINE : EXIT_FOUND;
    say_error("%s needs graphviz, and there is no '%s'; svg, pdf and ps come without", format,
              program);
    return EXIT_COULD_NOT;
}
