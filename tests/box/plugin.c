/* plugin.c - a library that is opened late, and the program that opens such, if WITH_MAIN: each is closed again, but for the last. */
#include <stdlib.h>
#ifdef WITH_MAIN
#include <dlfcn.h>
#include <signal.h>
int main(int argc, char **argv) {
    void *volatile first = malloc(1 << 20);
    for (int i = 1; i + 1 < argc; i += 2) {
        void *h = dlopen(argv[i], RTLD_NOW);
        void (*keep)(void) = h != NULL ? (void (*)(void))dlsym(h, argv[i + 1]) : NULL;
        if (first == NULL || keep == NULL) return 1;
        keep();
        if (i + 2 < argc) dlclose(h);
    }
    raise(SIGKILL);
}
#else
static void *volatile kept[100];
void KEEP(void);
void KEEP(void) {
    for (int i = 0; i < 100; i++) kept[i] = malloc(65536);
}
#endif
