/* main.c - finds the command, or the dialect by the name we were called by. Climate: cli. */
#include "cli/command.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <vitrine.h>

const struct command *const commands[] = {
    &cmd_run,       &cmd_top,  &cmd_tree,  &cmd_peek,  &cmd_list,      &cmd_disasm, &cmd_traces,
    &cmd_tags,      &cmd_diff, &cmd_flame, &cmd_graph, &cmd_collapsed, &cmd_raw,    &cmd_convert,
    &cmd_symbolize, &cmd_ps,   &cmd_ctl,   &cmd_check, &cmd_read,      &cmd_core,   NULL,
};

static void help(FILE *out) {
    (void)fputs("usage: vitrine run [OPTION...] [--] PROG [ARG...]\n"
                "       vitrine COMMAND [OPTION...] [PROGRAM] PROFILE...\n\n",
                out);
    for (unsigned i = 0; commands[i]; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    (void)fputs(
        "\n'vitrine COMMAND --help' has its options. Profiles are files of gperftools, jemalloc, pprof,\n"
        "heaptrack, perf script or collapsed stacks, told by their content; '-' is standard input, and\n"
        "HOST:PORT/pprof/heap asks a running process.\n",
        out);
}

const struct command *command_find(const char *name) {
    for (unsigned i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int say_no_command(const char *name) {
    const char *near = NULL;
    unsigned nearest = NO_SLIP;
    for (unsigned i = 0; commands[i]; i++) {
        unsigned distance = word_distance(name, strlen(name), commands[i]->name);
        if (distance >= nearest) continue;
        near = commands[i]->name;
        nearest = distance;
    }
    if (near)
        say_error("no command '%s'; did you mean '%s'?", name, near);
    else
        say_error("no command '%s'; 'vitrine help' lists them", name);
    return EXIT_USAGE;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(const struct command *c, int argc, char **argv) {
    struct settings s = {0};
    int status = options_read(c, argc, argv, &s);
    if (s.help)
        command_help(c, stdout);
    else if (status == EXIT_FINE)
        status = c->run(&s);
    free(s.files);
    free(s.saved);
    free(s.remote_program);
    return status;
}

static bool is_old_name(const char *name) {
    return strcmp(name, "pprof") == 0 || strcmp(name, "google-pprof") == 0 ||
           strcmp(name, "jeprof") == 0;
}

static int vitrine(int argc, char **argv) {
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (is_help(argv[1]) || (strcmp(argv[1], "help") == 0 && argc == 2)) {
        help(stdout);
        return EXIT_FINE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)puts("vitrine " VITRINE_VERSION);
        return EXIT_FINE;
    }
    if (strcmp(argv[1], "rows") == 0) return rows_print(argc - 2, argv + 2);
    if (strcmp(argv[1], "help") == 0) {
        const struct command *c = command_find(argv[2]);
        if (c == NULL) return say_no_command(argv[2]);
        command_help(c, stdout);
        return EXIT_FINE;
    }
    const struct command *c = command_find(argv[1]);
    if (c == NULL) return say_no_command(argv[1]);
    return run(c, argc - 2, argv + 2);
}

/* A file of ours must not become standard output or error because that was closed: warnings would go into it. The numbers
 * are taken; reading and writing there fail as before. */
static void take_numbers(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", (fd == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* What was written without a file to close, such as help, may have found the disk full. */
int main(int argc, char **argv) {
    const struct settings to_stdout = {0};
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "vitrine";
    bool is_old = is_old_name(name);
    take_numbers();
    int status = is_old ? dialect_pprof(name, argc - 1, argv + 1) : vitrine(argc, argv);
    if (status != EXIT_FINE || output_close(&to_stdout, stdout) == EXIT_FINE) return status;
    return is_old ? 1 : EXIT_COULD_NOT;
}
