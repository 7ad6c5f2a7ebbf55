// hello.cpp - the same for C++: operator new and the containers come from the library.
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include <vitrine.h>

static unsigned long long in_use() {
    vt_stats s{};
    s.size = sizeof s;
    return vt_stats_get(&s) == 0 ? s.allocated : 0;
}

int main() {
    const unsigned long long before = in_use();
    std::vector<std::string> v;
    std::thread t([&] {
        for (int i = 0; i < 2000; i++) v.emplace_back(1000, 'x');
    });
    t.join();
    const unsigned long long after = in_use();
    if (after < before + 2000 * 1000) {
        std::printf("expected %llu bytes or more in use, seen %llu\n", before + 2000 * 1000, after);
        return 1;
    }
    try {
        volatile std::size_t absurd = static_cast<std::size_t>(-1) / 2;
        char *volatile p = new char[absurd];
        delete[] p;
        return 2;
    } catch (const std::bad_alloc &) {}
    std::printf("hello from vitrine %s\n", vt_version());
    return std::strcmp(vt_version(), VITRINE_VERSION) == 0 ? 0 : 3;
}
