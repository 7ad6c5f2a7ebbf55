/* mistakes.cc - mistakes CASE: makes one mistake, for the debug libraries to find. Compiled for gperftools' own headers. */
#include <gperftools/malloc_extension_c.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

static char *volatile p;

static char *made() { return static_cast<char *>(malloc(100)); }

static void twice() { p = made(), free(p), free(p); }
static void never() { p = made(), free(p + 48); }
static void under() { p = made(), p[-1] = 1, free(p); }
static void over() { p = made(), p[100] = 1, free(p); }
static void over_far() { p = made(), p[115] = 1, free(p); }
static void read_far() { p = made(), p[0] = p[115], free(p); }
static void over_realloc() { p = made(), p[100] = 1, p = static_cast<char *>(realloc(p, 200)); }
static void over_verify() { p = made(), p[100] = 1, MallocExtension_VerifyAllMemory(); }
static void over_verify_one() { p = made(), p[100] = 1, MallocExtension_VerifyMallocMemory(p); }
static void malloc_delete() { ::operator delete(p = made()); }
static void new_array_delete() { ::operator delete(::operator new[](100)); }
static void new_free() { free(::operator new(100)); }
static void new_delete_array() { ::operator delete[](::operator new(100)); }
static void malloc_delete_array() { ::operator delete[](p = made()); }
static void new_array_free() { free(::operator new[](100)); }
static void written() { p = made(), free(p), p[5] = 1; }
static void wrong_size() { ::operator delete(::operator new(100), size_t(50)); }
static void massive() { printf("%d\n", malloc(size_t(-1000)) == nullptr); }

/* Does a block come again? */
static void reused() {
    char *first = p = made();
    bool is_same = false;
    for (int i = 0; i < 1000; i++) free(p), is_same |= (p = made()) == first;
    printf("%d\n", is_same);
}

static void traced() {
    free(malloc(4711));
    p = static_cast<char *>(realloc(malloc(100), 300));
    free(p);
    free(calloc(3, 7));
    free(nullptr);
    ::operator delete(::operator new(44));
    p = static_cast<char *>(malloc(4712));
}

static void right() {
    int n_blocks, histogram[64];
    size_t n_bytes;
    p = static_cast<char *>(malloc(1000));
    printf("fresh %02x\n", static_cast<unsigned char>(p[0]));
    MallocExtension_MallocMemoryStats(&n_blocks, &n_bytes, histogram);
    printf("counted %d %d\n", n_blocks > 0, n_bytes >= 1000);
    printf("size %zu %zu\n", MallocExtension_GetAllocatedSize(p), malloc_usable_size(p));
    printf("verify %d %d\n", MallocExtension_VerifyAllMemory(),
           MallocExtension_VerifyMallocMemory(p));
    p = static_cast<char *>(realloc(p, 3000));
    free(p);
    void *aligned = nullptr;
    printf("aligned %d", posix_memalign(&aligned, 4096, 100));
    printf(" %d\n", reinterpret_cast<uintptr_t>(aligned) % 4096 == 0);
    free(aligned);
    char *zeros = static_cast<char *>(calloc(10, 10));
    printf("zero %d\n", zeros[0] == 0 && zeros[99] == 0);
    free(zeros);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([t] {
            std::vector<char *> mine;
            for (int i = 0; i < 5000; i++) {
                mine.push_back(new char[1 + (i * 37 + t) % 3000]);
                if (i % 3 == 0) delete[] mine[mine.size() / 2], mine[mine.size() / 2] = nullptr;
            }
            for (char *m : mine) delete[] m;
        });
    for (auto &t : threads) t.join();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*make)();
    } cases[] = {{"twice", twice},
                 {"never", never},
                 {"under", under},
                 {"over", over},
                 {"over_far", over_far},
                 {"read_far", read_far},
                 {"over_realloc", over_realloc},
                 {"over_verify", over_verify},
                 {"over_verify_one", over_verify_one},
                 {"malloc_delete", malloc_delete},
                 {"new_array_delete", new_array_delete},
                 {"new_free", new_free},
                 {"new_delete_array", new_delete_array},
                 {"malloc_delete_array", malloc_delete_array},
                 {"new_array_free", new_array_free},
                 {"written", written},
                 {"wrong_size", wrong_size},
                 {"massive", massive},
                 {"reused", reused},
                 {"traced", traced},
                 {"right", right}};
    setvbuf(stdout, nullptr, _IONBF, 0);
    for (const auto &c : cases)
        if (argc > 1 && strcmp(argv[1], c.name) == 0) c.make();
    return 0;
}
