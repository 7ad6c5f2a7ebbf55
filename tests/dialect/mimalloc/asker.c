/* asker.c - prints options by number: asker NUMBER... ; with `json`, the statistics; with `hear`, what was said before. */
#include <mimalloc-stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hear(const char *text, void *to) { fputs(text, to); }

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "hear") == 0) {
            mi_register_output(hear, stdout);
            mi_register_output(NULL, NULL);
        } else if (strcmp(argv[i], "json") == 0) {
            char *json = mi_stats_get_json(0, NULL);
            if (json == NULL) return 1;
            fputs(json, stdout);
            mi_free(json);
        } else {
            printf("%ld\n", mi_option_get((mi_option_t)atoi(argv[i])));
        }
    }
    return 0;
}
