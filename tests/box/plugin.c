/* plugin.c - a library that is opened late, and the program that opens it, if WITH_MAIN. */
#include <stdlib.h>
#ifdef WITH_MAIN
#include <dlfcn.h>
#include <signal.h>
int main(int argc, char **argv) {
    void *volatile first = malloc(1 << 20);
    void *h = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*keep)(void) = h != NULL ? (void (*)(void))dlsym(h, "keep_in_plugin") : NULL;
    if (first == NULL || keep == NULL) return 1;
    keep();
    raise(SIGKILL);
}
#else
static void *volatile kept[100];
void keep_in_plugin(void);
void keep_in_plugin(void) {
    for (int i = 0; i < 100; i++) kept[i] = malloc(65536);
}
#endif
