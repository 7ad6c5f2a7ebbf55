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

/* To the byte: a block of 1 MiB is that much of the heap. */
static void account(MallocExtension *e) {
    static const size_t mib = 1 << 20, asked[] = {mib / 2, mib / 4, mib / 4, 1};
    void *volatile p;
    e->ReleaseFreeMemory();
    size_t before = unmapped();
    for (size_t n : asked) {
        p = malloc(mib), memset(p, 1, mib), free(p);
        e->ReleaseToSystem(n);
        printf("asked for %zu: %ld\n", n, static_cast<long>(unmapped() - before));
    }
    e->ReleaseToSystem(mib / 8);
    e->ReleaseFreeMemory();
    p = malloc(mib), free(p);
    e->ReleaseToSystem(1);
    printf("after all was released: %ld\n", static_cast<long>(unmapped() - before));
}

/* Memory goes with the free, from the moment that this is asked for, and until it is not. */
static void at_once(MallocExtension *e) {
    static const size_t mib = 1 << 20;
    void *volatile p;
    for (size_t is_on = 1; is_on < 2; is_on--) {
        printf("set: %d\n", e->SetNumericProperty("tcmalloc.aggressive_memory_decommit", is_on));
        p = malloc(mib), memset(p, 1, mib);
        e->ReleaseFreeMemory();
        size_t before = unmapped();
        free(p);
        printf("freed, aggressive %zu: %zu\n", is_on, unmapped() - before);
    }
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
    account(e);
    at_once(e);
    return 0;
}
