/* plain.c - a program that knows nothing of its malloc. With an argument it takes so many blocks. */
#include <stdlib.h>

void *volatile sink;

int main(int argc, char **argv) {
    free(malloc(100));
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) sink = malloc(100);
    return 0;
}
