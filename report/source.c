/* source.c - see source.h. Climate: cli. */
#include "report/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

void source_close(struct source *s) {
    free(s->path);
    free(s->text);
    free(s->lines);
    s->path = s->text = NULL;
    s->lines = NULL;
    s->n_lines = s->cap_lines = 0;
}

static void open_file(struct source *s, const char *path) {
    size_t room = 0;
    ssize_t n = -1;
    source_close(s);
    s->path = report_copy(path, strlen(path));
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    n = getdelim(&s->text, &room, '\0', file); /* all of it: source has no NUL */
    (void)fclose(file);
    char *at = s->text;
    for (char *end; n > 0 && at < s->text + n; at = end + 1) {
        end = strchrnul(at, '\n');
        *REPORT_PUSH(s->lines, s->n_lines, s->cap_lines) = at;
        if (end > at && end[-1] == '\r') end[-1] = '\0';
        *end = '\0';
    }
}

const char *source_line(struct source *s, const char *path, uint32_t line) {
    if (s->path == NULL || strcmp(s->path, path) != 0) open_file(s, path);
    return line > 0 && line <= s->n_lines ? s->lines[line - 1] : "";
}
