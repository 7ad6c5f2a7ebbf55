/* tree.c - every name of mallctl that our table has, with what comes back: errors and lengths when it is read, when it is written with a
 * wrong length, and when it is called with nothing; and of options and configuration the value. The same on the original. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name, *type;
} rows[] = {
#define NODE(name, type, read, write, what) NODE_1(name, type)
#define NODE_1(name, type) {name, #type},
#include "dialect/jemalloc_ctl.def"
};

/* Numbers that are there, in the place of #a and its like. */
static void put_numbers(const char *name, char *out) {
    for (; *name != '\0'; name++) {
        *out++ = *name == '#' ? '0' : *name;
        if (*name == '#') name++;
    }
    *out = '\0';
}

static size_t bytes_of(const char *type) {
    if (strcmp(type, "BOOL") == 0) return 1;
    return strcmp(type, "UNSIGNED") == 0 || strcmp(type, "U32") == 0 ? 4 : 8;
}

static void put_value(const char *name, const char *type, const char *buf) {
    const char *text;
    if (strncmp(name, "opt.", 4) != 0 && strncmp(name, "config.", 7) != 0) return;
    memcpy(&text, buf, sizeof(text));
    if (strcmp(type, "TEXT") == 0)
        printf(" \"%s\"", text);
    else if (bytes_of(type) == 1)
        printf(" %d", buf[0]);
    else
        printf(" %lld", bytes_of(type) == 4 ? *(const int *)buf : *(const long long *)buf);
}

static void ask(const char *name, const char *type) {
    char old[64] = {0}, new[64] = {0};
    bool is_special = strcmp(type, "SPECIAL") == 0, is_void = strcmp(type, "VOID") == 0;
    bool acts = is_void || strncmp(name, "prof.dump", 9) == 0;
    size_t len = bytes_of(type), odd = 3;
    int nothing = acts ? -1 : mallctl(name, NULL, NULL, NULL, 0);
    int err = is_special ? -1 : mallctl(name, old, &len, NULL, 0);
    int wrong = mallctl(name, NULL, NULL, new, 3);
    int too_short = is_special ? -1 : mallctl(name, new, &odd, NULL, 0);
    printf("%s: %d, %d %zu, %d, %d %zu", name, nothing, err, len, wrong, too_short, odd);
    if (err == 0) put_value(name, type, old);
    printf("\n");
}

/* One by one in a child: the original does not survive some. */
int main(void) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char name[128];
        size_t mib[7], depth = 7;
        int status = 0;
        put_numbers(rows[i].name, name);
        if (mallctlnametomib(name, mib, &depth) != 0) {
            printf("%s: unknown\n", name);
            continue;
        }
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            ask(name, rows[i].type);
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (status != 0) printf("%s: died\n", name);
    }
    return 0;
}
