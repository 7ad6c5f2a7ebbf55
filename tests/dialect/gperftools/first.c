/* first.c - first CASE: a program whose first call to the allocator is not malloc. Nothing may print before it. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char stranger[64];

int main(int argc, char **argv) {
    void *volatile nothing = NULL;
    char *volatile p = stranger + 32;
    size_t n_bytes = 0;
    if (argc < 2) return 2;
    if (strcmp(argv[1], "free_null") == 0) free(nothing);
    if (strcmp(argv[1], "size_null") == 0) n_bytes = malloc_usable_size(nothing);
    if (strcmp(argv[1], "realloc_null") == 0) free(realloc(nothing, 10));
    if (strcmp(argv[1], "free") == 0) free(p);
    if (strcmp(argv[1], "realloc") == 0) p = realloc(p, 10);
    if (strcmp(argv[1], "size") == 0) n_bytes = malloc_usable_size(p);
    free(malloc(100));
    return n_bytes != 0 || write(1, "done\n", 5) != 5;
}
