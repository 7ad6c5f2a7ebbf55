/* source.c - see source.h. Climate: cli. */
#include "report/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/memory.h"
#include "report/regular.h"

#define MAX_PATH 4096
#define MAX_SOURCE (64 << 20) /* more is no source */

void source_close(struct source *s) {
    free(s->path);
    free(s->text);
    free(s->lines);
    s->path = s->text = NULL;
    s->lines = NULL;
    s->n_lines = s->cap_lines = 0;
}

/* ---- finding */

/* The next of "dir:dir" without slashes at its end; 0: no more. */
static size_t next_folder(const char **list, const char **folder) {
    while (**list == ':') ++*list;
    *folder = *list;
    size_t n = strcspn(*list, ":");
    *list += n;
    while (n > 1 && (*folder)[n - 1] == '/') n--;
    return n;
}

/* The path without the beginning that one of `trim` is, or NULL. */
static const char *without_beginning(const char *path, const char *trim) {
    const char *folder;
    for (size_t n; (n = next_folder(&trim, &folder)) > 0;)
        if (strncmp(path, folder, n) == 0 && path[n] == '/') return path + n + 1;
    return NULL;
}

/* Behind the first "/name/" where name is that of one of the folders, or NULL. */
static const char *behind_name(const char *path, const char *folders) {
    const char *folder, *found;
    char name[MAX_PATH];
    for (size_t n; (n = next_folder(&folders, &folder)) > 0;) {
        const char *slash = memrchr(folder, '/', n);
        if (slash) {
            n -= (size_t)(slash + 1 - folder);
            folder = slash + 1;
        }
        (void)snprintf(name, sizeof name, "/%.*s/", (int)n, folder);
        if (n > 0 && (found = strstr(path, name)) != NULL) return found + n + 2;
    }
    return NULL;
}

/* NULL: errno says why. */
static FILE *open_file(const char *path) {
    struct stat st;
    int fd = regular_open(path);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    FILE *file = fstat(fd, &st) == 0 && st.st_size <= MAX_SOURCE ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        (void)close(fd);
        errno = EFBIG;
    }
    return file;
}

/* In a folder, and in each one above it. */
static FILE *open_upwards(const char *folder, size_t n, const char *path) {
    char start[MAX_PATH], whole[2 * MAX_PATH];
    (void)snprintf(start, sizeof start, "%.*s", (int)n, folder);
    char *real = realpath(start, NULL);
    FILE *file = NULL;
    for (char *end = real ? real + strlen(real) : NULL; end; end = strrchr(real, '/')) {
        *end = '\0';
        (void)snprintf(whole, sizeof whole, "%s/%s", real, path);
        file = open_file(whole);
        if (file || end == real) break;
    }
    free(real);
    return file;
}

static FILE *open_found(const struct source_search *s, const char *path) {
    const char *rest = s->trim      ? without_beginning(path, s->trim)
                       : s->folders ? behind_name(path, s->folders)
                                    : NULL;
    if (rest == NULL && path[0] != '/') rest = path;
    const char *folders = s->folders ? s->folders : ".", *folder;
    FILE *file = NULL;
    for (size_t n; rest && !file && (n = next_folder(&folders, &folder)) > 0;)
        file = open_upwards(folder, n, rest);
    return file ? file : open_file(path); /* where the profile says */
}

/* ---- reading */

bool source_open(struct source *s, const char *path) {
    size_t room = 0;
    ssize_t n = -1;
    source_close(s);
    s->path = report_copy(path, strlen(path));
    FILE *file = open_found(&s->search, path);
    if (file == NULL) return false;
    n = getdelim(&s->text, &room, '\0', file); /* all of it: source has no NUL */
    int why = errno;
    (void)fclose(file);
    char *at = s->text;
    for (char *end; n > 0 && at < s->text + n; at = end + 1) {
        end = strchrnul(at, '\n');
        *REPORT_PUSH(s->lines, s->n_lines, s->cap_lines) = at;
        if (end > at && end[-1] == '\r') end[-1] = '\0';
        *end = '\0';
    }
    errno = why;
    return n > 0;
}

const char *source_line(struct source *s, const char *path, uint32_t line) {
    if (s->path == NULL || strcmp(s->path, path) != 0) (void)source_open(s, path);
    return line > 0 && line <= s->n_lines ? s->lines[line - 1] : "";
}
