/* plain.c - knows nothing of the library; says whether it is there all the same (LD_PRELOAD). */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "vt_version");
    char *text = strdup("some text"), *p = realloc(calloc(10, 10), 100000);
    if (!text || !p || p[50]) return 1;
    free(p);
    free(text);
    if (version)
        printf("hello from vitrine %s\n", version());
    else
        puts("hello from libc");
    return 0;
}
