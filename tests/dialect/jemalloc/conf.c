/* conf.c - prints what some options came to be. With HAS_CONF the program sets options itself, with HAS_HARDER those that nothing
 * beats; `hear`: and has the messages, those from before main too. */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

#ifdef HAS_CONF
const char *malloc_conf = "lg_prof_sample:12,prof_prefix:mine,dirty_decay_ms:77,zero_realloc:alloc";
#endif

#ifdef HAS_HARDER
const char *malloc_conf_2_conf_harder = "prof_prefix:harder";
#endif

static char heard[1000];
static void hear(void *opaque, const char *s) {
    (void)opaque;
    strncat(heard, s, sizeof(heard) - strlen(heard) - 1);
}
#ifndef HAS_CONF
void (*malloc_message)(void *opaque, const char *s) = NULL;
#endif

int main(int argc, char **argv) {
    size_t lg = 0, n = 8;
    ssize_t decay = 0, interval = 0;
    const char *prefix = "", *zero = "";
    if (argc > 1 && strcmp(argv[1], "hear") == 0) {
        malloc_message = hear;
        free(malloc(1));
        malloc_stats_print(NULL, NULL, "gmdabxleh");
        const char *first = strstr(heard, "Allocated");
        if (first == NULL) return 1;
    }
    mallctl("opt.lg_prof_sample", &lg, &n, NULL, 0);
    mallctl("opt.prof_prefix", &prefix, &n, NULL, 0);
    mallctl("opt.dirty_decay_ms", &decay, &n, NULL, 0);
    mallctl("opt.lg_prof_interval", &interval, &n, NULL, 0);
    mallctl("opt.zero_realloc", &zero, &n, NULL, 0);
    void *p = realloc(malloc(10), 0);
    if ((p != NULL) != (strcmp(zero, "alloc") == 0)) return 2;
    printf("%zu %s %zd %zd %s\n", lg, prefix, decay, interval, zero);
    return 0;
}
