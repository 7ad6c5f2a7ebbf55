// app.cc - the program that the examples of vitrine(1) speak of: what a Cache holds, for its user ann, what parse() drops again.
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

static void *volatile last;

struct Cache {
    __attribute__((noinline)) void fill() {
        for (int i = 0; i < 3000; i++) {
            void *p = malloc(10000);
            memset(p, 1, 10000);
            last = p;
        }
    }
};

__attribute__((noinline)) static void parse() {
    for (int i = 0; i < 25000; i++) {
        void *p = malloc(10000);
        last = p;
        free(p);
    }
}

int main(int argc, char **) {
    Cache cache;
    auto push =
        reinterpret_cast<int (*)(const char *, const char *)>(dlsym(RTLD_DEFAULT, "vt_label_push"));
    if (push != nullptr) push("user", "ann");
    cache.fill();
    if (argc > 1) cache.fill(); // it has grown
    parse();
    return 0;
}
