/* held.cpp - a program without mistakes: every way to ask for a block, and the right way to free it. The secure library says nothing. */
#include "risk.h"

#include <algorithm>
#include <functional>
#include <locale>
#include <map>
#include <memory>
#include <memory_resource>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/* C23's two are not in every libc. */
static void (*free_sized)(void *p, size_t n);
static void (*free_aligned_sized)(void *p, size_t align, size_t n);
template <typename function> static void find(function &f, const char *name) {
    f = reinterpret_cast<function>(dlsym(RTLD_DEFAULT, name));
    MUST(f != nullptr);
}

struct alignas(256) wide {
    char bytes[300];
};
struct base {
    virtual ~base() = default;
    char some[40];
};
struct derived : base {
    std::string text = "a text that is too long for the place in the string itself";
    char more[3000];
};
struct counted { /* an array of these begins with its length */
    ~counted() { bytes[0] = 1; }
    char bytes[24];
};

static const size_t sizes[] = {0,    1,    16,    17,    64,    100,   1000,   1024,
                               1025, 5000, 20000, 60000, 65536, 65537, 300000, 3000000};
static const size_t aligns[] = {1, 8, 16, 32, 64, 512, 4096, 32768, 65536};

/* All operators by hand, with the size and the alignment they were given. */
static void operators() {
    for (size_t n : sizes) {
        ::operator delete(::operator new(n));
        ::operator delete(::operator new(n), n);
        ::operator delete[](::operator new[](n));
        ::operator delete[](::operator new[](n), n);
        ::operator delete(::operator new(n, std::nothrow), std::nothrow);
        ::operator delete[](::operator new[](n, std::nothrow));
        for (size_t a : aligns) {
            std::align_val_t al{a};
            ::operator delete(::operator new(n, al), al);
            ::operator delete(::operator new(n, al), n, al);
            ::operator delete[](::operator new[](n, al), n, al);
            ::operator delete[](::operator new[](n, al, std::nothrow), al, std::nothrow);
        }
    }
}

static void c_functions() {
    for (size_t n : sizes) {
        free_sized(malloc(n), n);
        free_sized(calloc(1, n), n);
        char *p = static_cast<char *>(malloc(n));
        for (size_t to = 1; to < 400000; to = to * 3 / 2 + 1)
            p = static_cast<char *>(realloc(p, to));
        p = static_cast<char *>(realloc(p, 70));
        p = static_cast<char *>(realloc(p, 60));
        free_sized(p, 60);
        free(reallocarray(nullptr, n + 1, 3));
        for (size_t a : aligns) {
            free_aligned_sized(aligned_alloc(a, n), a, n);
            void *q = nullptr;
            if (a >= sizeof(void *)) CHECK_EQ(posix_memalign(&q, a, n), 0);
            free(q);
            free(memalign(a, n));
        }
    }
    char *line = nullptr, *text = nullptr;
    size_t room = 0;
    FILE *in = fopen("/proc/self/maps", "r");
    while (getline(&line, &room, in) > 0) {}
    fclose(in);
    free(line);
    CHECK_TRUE(asprintf(&text, "%s and %d", "text", 7) > 0);
    free(text);
    free(strdup("a copy"));
    free(realpath("/proc/self", nullptr));
    free(valloc(100));
    free(pvalloc(100));
    CHECK_TRUE(realloc(malloc(10), 0) == nullptr);
}

static void containers() {
    std::map<std::string, std::vector<int>> words;
    for (int i = 0; i < 3000; i++)
        words[std::to_string(i * 7919 % 1000) + " with some more text"].push_back(i);
    std::vector<derived> many(50);
    auto by_text = [](const derived &a, const derived &b) { return a.text < b.text; };
    std::stable_sort(many.begin(), many.end(), by_text);
    std::unique_ptr<base> one(new derived);
    std::shared_ptr<base> shared = std::make_shared<derived>(), other(new derived);
    std::unique_ptr<counted[]> array(new counted[17]);
    std::vector<wide> aligned(9);
    std::unique_ptr<wide[]> aligned_array(new wide[5]);
    std::pmr::monotonic_buffer_resource pool;
    std::pmr::vector<std::pmr::string> in_pool(&pool);
    for (int i = 0; i < 100; i++)
        in_pool.emplace_back("a string that lies in memory of the pool, and is long");
    std::ostringstream out;
    out.imbue(std::locale::classic());
    for (auto &w : words) out << w.first << w.second.size();
    CHECK_TRUE(out.str().size() > 1000);
    std::function<size_t()> f = [many] { return many.size(); };
    CHECK_EQ(f(), 50);
    try {
        throw std::runtime_error(std::string(300, 'x'));
    } catch (const std::exception &e) {
        CHECK_EQ(strlen(e.what()), 300);
    }
}

/* What one thread makes, another frees. */
static void threads() {
    std::vector<std::string> made[4];
    std::vector<std::thread> running;
    for (int i = 0; i < 4; i++)
        running.emplace_back([i, &made] {
            containers();
            made[i].assign(2000, std::string(50 + i, 'y'));
        });
    for (auto &t : running) t.join();
}

int main() {
    check_allocator();
    find(free_sized, "free_sized");
    find(free_aligned_sized, "free_aligned_sized");
    operators();
    c_functions();
    containers();
    threads();
    return CHECK_DONE();
}
