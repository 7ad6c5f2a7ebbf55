/* asker.c - prints options by number: asker NUMBER... ; with `json`, the statistics. */
#include <mimalloc-stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "json") == 0) {
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
