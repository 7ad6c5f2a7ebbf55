// app.cc - the program that the examples of vitrine(1) speak of: what a Cache holds, what parse() drops again.
#include <cstdlib>
#include <cstring>

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

int main() {
    Cache cache;
    cache.fill();
    parse();
    return 0;
}
