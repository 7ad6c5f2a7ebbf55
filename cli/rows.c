/* rows.c - the rows of the commands as lines with tabs, for programs: `vitrine rows`, which the help does not list.
 *
 *   vitrine rows                  command NAME USAGE SUMMARY EXAMPLE; then of each group of options
 *                                 group COMMAND... and its rows: option LETTER NAME VALUE HELP
 *   vitrine rows commands         NAME SUMMARY
 *   vitrine rows options COMMAND  --NAME HELP, or --NAME= HELP where it wants a value; and -LETTER HELP
 *   vitrine rows words COMMAND    NAME HELP of the words it takes behind a number: what ctl can ask for
 *   vitrine rows values COMMAND OPTION  the values of --NAME or -LETTER, where they are words
 *
 * The first is for man/rows.c, the others for the shells' completion (completion/). So neither can say what is not there.
 *
 * Climate: cli.
 */
#include <string.h>

#include "cli/command.h"

static void put_option(const struct option_row *o) {
    (void)printf("option\t%c\t%s\t%s\t%s\n", o->letter ? o->letter : '-', o->name,
                 o->value ? o->value : "", o->help);
}

static bool has_group(const struct command *c, const struct option_row *group) {
    for (unsigned g = 0; c->groups[g]; g++)
        if (c->groups[g] == group) return true;
    return false;
}

/* When c is the first that has it, so that each group is told of once. */
static void put_group(unsigned c, const struct option_row *group) {
    for (unsigned i = 0; i < c; i++)
        if (has_group(commands[i], group)) return;
    (void)fputs("group\t", stdout);
    for (unsigned i = c; commands[i]; i++)
        if (has_group(commands[i], group))
            (void)printf("%s%s", i > c ? " " : "", commands[i]->name);
    (void)fputc('\n', stdout);
    for (const struct option_row *o = group; o->name; o++) put_option(o);
}

static void put_all(void) {
    for (unsigned c = 0; commands[c]; c++)
        (void)printf("command\t%s\t%s\t%s\t%s\n", commands[c]->name, commands[c]->usage,
                     commands[c]->summary, commands[c]->example);
    for (unsigned c = 0; commands[c]; c++)
        for (unsigned g = 0; commands[c]->groups[g]; g++) put_group(c, commands[c]->groups[g]);
}

static void put_commands(void) {
    for (unsigned c = 0; commands[c]; c++)
        (void)printf("%s\t%s\n", commands[c]->name, commands[c]->summary);
    (void)puts("help\tall commands, or one");
}

static void put_options(const struct command *c) {
    for (unsigned g = 0; c->groups[g]; g++)
        for (const struct option_row *o = c->groups[g]; o->name; o++) {
            (void)printf("--%s%s\t%s\n", o->name, o->value ? "=" : "", o->help);
            if (o->letter) (void)printf("-%c\t%s\n", o->letter, o->help);
        }
    (void)puts("--help\tthese options");
}

#define AT(field) offsetof(struct settings, field)

/* Options whose values are words, by their field. */
static const struct {
    size_t offset;
    const char *words;
} values[] = {
    {AT(by), WORDS_OF_BY},
    {AT(of), WORDS_OF_OF},
    {AT(type), "inuse_space inuse_objects alloc_space alloc_objects inuse_class_space "
               "alloc_class_space inuse_waste alloc_waste peak_space peak_objects "
               "cpu samples delay contentions"},
    {AT(group), "thread module file"},
    {AT(view), "top tree peek list disasm traces tags flame graph collapsed"},
    {AT(to), "pprof collapsed callgrind speedscope firefox trace"},
    {AT(format), "proto gperftools jemalloc collapsed"},
};

static bool is_called(const struct option_row *o, const char *option) {
    if (strncmp(option, "--", 2) == 0) return strcmp(option + 2, o->name) == 0;
    return o->letter != 0 && option[0] == '-' && option[1] == o->letter && option[2] == '\0';
}

static void put_words(const char *words) {
    while (*words) {
        size_t n = strcspn(words, " ");
        (void)printf("%.*s\n", (int)n, words);
        words += n + strspn(words + n, " ");
    }
}

static void put_values(const struct command *c, const char *option) {
    for (unsigned g = 0; c->groups[g]; g++)
        for (const struct option_row *o = c->groups[g]; o->name; o++)
            for (unsigned i = 0; i < sizeof values / sizeof *values && is_called(o, option); i++)
                if (values[i].offset == o->offset) put_words(values[i].words);
}

int rows_print(int argc, char **argv) {
    if (argc == 0) {
        put_all();
    } else if (strcmp(argv[0], "commands") == 0) {
        put_commands();
    } else {
        bool is_values = strcmp(argv[0], "values") == 0;
        const struct command *c = argc == 2 + is_values ? command_find(argv[1]) : NULL;
        if (c != NULL && is_values)
            put_values(c, argv[2]);
        else if (c != NULL && strcmp(argv[0], "options") == 0)
            put_options(c);
        else if (c != NULL && strcmp(argv[0], "words") == 0 && c->put_words != NULL)
            c->put_words(stdout);
        else
            return EXIT_USAGE;
    }
    return EXIT_FINE;
}
