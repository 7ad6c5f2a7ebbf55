// dumps.cc - a program linked with libtcmalloc_and_profiler that writes several profiles of itself:
//
//   dumps FOLDER     growth.heap (where the heap grew), sampled.heap (a sample of what lives: TCMALLOC_SAMPLE_PARAMETER),
//                    before.0001.heap and after.0001.heap (all that lives, and later: for differences at equal addresses)
#include <cstdio>
#include <cstdlib>
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
static std::vector<void *> kept;

namespace app {
NOINLINE void early(size_t n) {
    kept.push_back(malloc(n));
    asm volatile("");
}
NOINLINE void late(size_t n) {
    kept.push_back(malloc(n));
    asm volatile("");
}
NOINLINE void gone() {
    free(kept.back());
    kept.pop_back();
    asm volatile("");
}
} // namespace app

static void write(const std::string &folder, const char *name, const std::string &text) {
    FILE *f = fopen((folder + "/" + name).c_str(), "w");
    fwrite(text.data(), 1, text.size(), f);
    fclose(f);
}

static void copy(const std::string &folder, const char *name) {
    char *text = GetHeapProfile();
    write(folder, name, text);
    free(text);
}

int main(int, char **argv) {
    std::string folder = argv[1], text;
    kept.reserve(10000);
    HeapProfilerStart((folder + "/unused").c_str());
    for (int i = 0; i < 301; i++) app::early(2000);
    app::gone();
    copy(folder, "before.heap");
    for (int i = 0; i < 200; i++) app::late(5000);
    for (int i = 0; i < 50; i++) app::gone();
    copy(folder, "after.heap");
    HeapProfilerStop();
    for (int i = 0; i < 3000; i++) app::early(3000 + i);
    MallocExtension::instance()->GetHeapSample(&text);
    write(folder, "sampled.heap", text);
    text.clear();
    MallocExtension::instance()->GetHeapGrowthStacks(&text);
    write(folder, "growth.heap", text);
    return 0;
}
