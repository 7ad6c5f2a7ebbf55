/* main.c - finds the command, or the dialect by the name we were called by. Climate: cli. */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include <vitrine.h>

const struct command *const commands[] = {
    &cmd_top,  &cmd_tree,  &cmd_peek,  &cmd_list,      &cmd_disasm, &cmd_traces,  &cmd_tags,
    &cmd_diff, &cmd_flame, &cmd_graph, &cmd_collapsed, &cmd_raw,    &cmd_convert, NULL,
};

static void help(FILE *out) {
    (void)fputs("usage: vitrine COMMAND [OPTION...] [PROGRAM] PROFILE...\n\n", out);
    for (unsigned i = 0; commands[i]; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    (void)fputs(
        "\n'vitrine COMMAND --help' has its options. Profiles are files of gperftools, jemalloc, pprof,\n"
        "heaptrack, perf script or collapsed stacks, told by their content; '-' is standard input, and\n"
        "HOST:PORT/pprof/heap asks a running process.\n",
        out);
}

static const struct command *find(const char *name) {
    for (unsigned i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static bool is_help(const char *word) {
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int run(const struct command *c, int argc, char **argv) {
    struct settings s = {0};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (is_help(argv[i])) {
            command_help(c, stdout);
            return EXIT_FINE;
        }
    int status = options_read(c, argc, argv, &s);
    if (status == EXIT_FINE) status = c->run(&s);
    free(s.files);
    free(s.saved);
    free(s.remote_program);
    return status;
}

int main(int argc, char **argv) {
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "vitrine";
    if (strcmp(name, "pprof") == 0 || strcmp(name, "google-pprof") == 0 ||
        strcmp(name, "jeprof") == 0)
        return dialect_pprof(name, argc - 1, argv + 1);
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
    if (strcmp(argv[1], "help") == 0) {
        const struct command *c = find(argv[2]);
        if (c)
            command_help(c, stdout);
        else
            say_error("no command '%s'; 'vitrine help' lists them", argv[2]);
        return c ? EXIT_FINE : EXIT_USAGE;
    }
    const struct command *c = find(argv[1]);
    if (c == NULL) {
        say_error("no command '%s'; 'vitrine help' lists them", argv[1]);
        return EXIT_USAGE;
    }
    return run(c, argc - 2, argv + 2);
}
