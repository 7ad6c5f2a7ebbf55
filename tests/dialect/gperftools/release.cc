/* release.cc - ReleaseToSystem gives back what it is asked for: at once, or in many small pieces, where what went too much is put to the
 * account of the next. Compiled for gperftools' own header. */
#include <gperftools/malloc_extension.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static size_t unmapped() {
    size_t n = 0;
    MallocExtension::instance()->GetNumericProperty("tcmalloc.pageheap_unmapped_bytes", &n);
    return n;
}

/* To 2 MiB: pieces are given back whole. */
static void show(const char *what, size_t seen, size_t expected) {
    bool is_near = seen >= expected && seen < expected + (size_t(2) << 20);
    printf("%s: %s %zu MiB\n", what, is_near ? "about" : "not", expected >> 20);
    if (!is_near) printf("but %zu bytes\n", seen);
}

int main() {
    static const size_t block = 1 << 20, n_blocks = 128;
    MallocExtension *e = MallocExtension::instance();
    static void *blocks[n_blocks];
    setvbuf(stdout, nullptr, _IONBF, 0);
    e->SetMemoryReleaseRate(0); /* nothing goes by itself */
    for (auto &b : blocks) memset(b = malloc(block), 1, block);
    for (size_t i = 0; i < n_blocks; i += 2) free(blocks[i]); /* no two beside each other */
    size_t before = unmapped();
    e->ReleaseToSystem(size_t(16) << 20);
    show("at once", unmapped() - before, size_t(16) << 20);
    for (int i = 0; i < 256; i++) e->ReleaseToSystem(1 << 16);
    show("in 256 pieces", unmapped() - before, size_t(32) << 20);
    e->ReleaseToSystem(0);
    e->ReleaseFreeMemory();
    size_t left = 1;
    e->GetNumericProperty("tcmalloc.pageheap_free_bytes", &left);
    show("left of the rest", left, 0);
    return 0;
}
