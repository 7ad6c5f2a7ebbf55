// cxx_library.cc - the standard library over our operators: before main, in threads, over-aligned, and
// in objects that live until after main.

#include "../check.h"

#include <future>
#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

// Allocates before main runs, frees after it has returned.
static std::map<int, std::string> before_main = [] {
    std::map<int, std::string> m;
    for (int i = 0; i < 1000; i++) m[i] = std::string(size_t(i % 100), 'x');
    return m;
}();

struct alignas(64) cache_line {
    char bytes[64];
};
struct alignas(4096) whole_page {
    char bytes[4096];
};

static void over_aligned_types() {
    for (int i = 0; i < 100; i++) {
        std::unique_ptr<cache_line> one(new cache_line);
        std::unique_ptr<cache_line[]> many(new cache_line[i + 1]);
        std::unique_ptr<whole_page> page(new whole_page);
        CHECK_ALIGNED(one.get(), 64);
        CHECK_ALIGNED(many.get(), 64);
        CHECK_ALIGNED(page.get(), 4096);
        fill(page.get(), sizeof(whole_page), 1);
    }
    std::vector<cache_line> v;
    for (int i = 0; i < 1000; i++) {
        v.push_back(cache_line{});
        if ((uintptr_t)v.data() % 64) CHECK_ALIGNED(v.data(), 64);
    }
    CHECK_EQ(v.size(), 1000);
}

static long work(int seed) {
    std::unordered_map<std::string, std::vector<int>> m;
    for (int i = 0; i < 3000; i++) m["key " + std::to_string(i % (100 + seed))].push_back(i);
    long sum = 0;
    for (auto &kv : m)
        for (int x : kv.second) sum += x;
    std::ostringstream out;
    out << sum;
    return std::stol(out.str());
}

static thread_local std::vector<std::string> dies_with_the_thread;

static void threads() {
    std::vector<std::future<long>> results;
    for (int t = 0; t < 8; t++)
        results.push_back(std::async(std::launch::async, [t] {
            for (int i = 0; i < 100; i++) dies_with_the_thread.push_back(std::string(200, 'y'));
            return work(t);
        }));
    for (auto &r : results) CHECK_EQ(r.get(), 3000L * 2999 / 2);
}

// Allocated in one thread, freed in another.
static void objects_change_threads() {
    auto box = std::make_shared<std::vector<std::string>>();
    std::thread maker([&] {
        for (int i = 0; i < 10000; i++) box->push_back(std::string(size_t(i % 300), 'z'));
    });
    maker.join();
    size_t total = 0;
    for (auto &s : *box) total += s.size();
    CHECK_EQ(total, 33 * 44850 + 4950); // 33 rounds of 0..299 and one of 0..99
    std::thread([moved = std::move(box)]() mutable { moved.reset(); }).join();
}

int main() {
    check_allocator();
    CHECK_EQ(before_main.size(), 1000);
    CHECK_STR(before_main[101].c_str(), "x");
    over_aligned_types();
    CHECK_EQ(work(0), 3000L * 2999 / 2);
    threads();
    objects_change_threads();
    return CHECK_DONE();
}
