/* intervals.c - intervals STEP...: +N allocates so many mebibytes, -N frees the last, wait waits for the file i.0001.heap, small
 * allocates 2,000 blocks of 400 bytes, and then frees them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_BLOCKS 100

static void *block[MAX_BLOCKS];
static int n_blocks;

static void use_small(void) {
    static void *small[2000];
    for (int i = 0; i < 2000; i++) small[i] = malloc(400);
    for (int i = 0; i < 2000; i++) free(small[i]);
}

static void step(const char *what) {
    int n = atoi(what);
    for (; n > 0; n--) block[n_blocks++] = malloc((size_t)1 << 20);
    for (; n < 0; n++) free(block[--n_blocks]);
    if (strcmp(what, "small") == 0) use_small();
    for (int i = 0; strcmp(what, "wait") == 0 && i < 1000 && access("i.0001.heap", F_OK) != 0; i++)
        usleep(10000);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) step(argv[i]);
    return 0;
}
