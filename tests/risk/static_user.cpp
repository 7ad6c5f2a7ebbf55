/* static_user.cpp - the C++ side of static_user.c: containers, exceptions, aligned new, a new
 * handler. */
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct alignas(128) wide {
    char c[128];
};

static bool refuses() {
    try {
        volatile std::size_t absurd = SIZE_MAX / 2;
        char *volatile p = new char[absurd]; /* volatile: or the compiler may leave it out */
        delete[] p;
        return false;
    } catch (const std::bad_alloc &) {
        return true;
    }
}

static bool work() {
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 5000; i++) m["key " + std::to_string(i % 500)].push_back(i);
    for (int i = 0; i < 100; i++) {
        std::unique_ptr<wide> w(new wide);
        if (reinterpret_cast<std::uintptr_t>(w.get()) % 128) return false;
    }
    return m.size() == 500 && m["key 7"].size() == 10;
}

int main() {
    bool ok[3] = {};
    std::thread a([&] { ok[0] = work(); }), b([&] { ok[1] = work(); });
    ok[2] = work();
    a.join();
    b.join();
    if (!ok[0] || !ok[1] || !ok[2] || !refuses()) return 1;
    std::puts("static user: ok");
    return 0;
}
