/* maps.c - maps memory and moves the break, in every way. Nothing in between allocates. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    static void *volatile p;
    free(p = malloc(10));
    void *room = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *to = mmap(NULL, 131072, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p = mremap(room, 8192, 65536, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    munmap(p, 131072);
    sbrk(4096);
    sbrk(-4096);
    sbrk(0);
    return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, 0, -1, 0) != MAP_FAILED;
}
