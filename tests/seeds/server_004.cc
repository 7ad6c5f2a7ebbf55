/* server_004.cc - what brpc's heap pages do, by note 004: with TCMALLOC_SAMPLE_PARAMETER in the environment they ask MallocExtension,
 * which they find by its mangled name, for the sampled heap and for where it grew.
 *
 *     server_004 SAMPLE GROWTH      writes both to these files; status 3 when the variable is not there
 */
#include <dlfcn.h>

#include <gperftools/malloc_extension.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

static void *volatile kept;

__attribute__((noinline)) static void leaks_many_mebibytes() {
    for (int i = 0; i < 4000; i++) memset(kept = malloc(10000), 1, 10000);
}

static void write(const char *path, const std::string &text) {
    FILE *f = fopen(path, "w");
    if (f == nullptr || fwrite(text.data(), 1, text.size(), f) != text.size() || fclose(f) != 0)
        exit(4);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    if (getenv("TCMALLOC_SAMPLE_PARAMETER") == nullptr) {
        fprintf(stderr, "no TCMALLOC_SAMPLE_PARAMETER in env\n");
        return 3;
    }
    leaks_many_mebibytes();
    auto instance = reinterpret_cast<MallocExtension *(*)()>(
        dlsym(RTLD_DEFAULT, "_ZN15MallocExtension8instanceEv"));
    if (instance == nullptr) instance = MallocExtension::instance;
    std::string sample, growth;
    instance()->GetHeapSample(&sample);
    instance()->GetHeapGrowthStacks(&growth);
    write(argv[1], sample);
    write(argv[2], growth);
    return 0;
}
