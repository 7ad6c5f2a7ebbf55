/* plain.c - a program that knows nothing of its malloc. */
#include <stdlib.h>

int main(void) {
    free(malloc(100));
    return 0;
}
