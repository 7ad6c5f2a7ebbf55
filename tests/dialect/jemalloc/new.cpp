// new.cpp - operator new when there is no memory.
//   new throw   it throws; nothrow answers nullptr
//   new one, new array, new nothrow, new aligned   of that form; does not return with experimental_infallible_new
//   new hook    experimental.hooks.safety_check_abort is told, and the answer is nullptr
#include <cstdio>
#include <cstring>
#include <jemalloc/jemalloc.h>
#include <new>

static const size_t too_much = static_cast<size_t>(-1) / 2;
static const char *said;

static void hear(const char *message) { said = strdup(message); }

static int throws() {
    if (operator new(too_much, std::nothrow) != nullptr) return 1;
    try {
        operator delete(operator new(too_much));
    } catch (const std::bad_alloc &) {
        return 0;
    }
    return 2;
}

static int is_told() {
    void (*hook)(const char *) = hear;
    if (mallctl("experimental.hooks.safety_check_abort", nullptr, nullptr, &hook, sizeof(hook)) !=
        0)
        return 1;
    void *volatile p = operator new(too_much);
    if (p != nullptr || said == nullptr) return 2;
    fputs(said, stderr);
    return 0;
}

int main(int, char **argv) {
    void *volatile p = nullptr;
    if (strcmp(argv[1], "throw") == 0) return throws();
    if (strcmp(argv[1], "hook") == 0) return is_told();
    if (strcmp(argv[1], "one") == 0) p = operator new(too_much);
    if (strcmp(argv[1], "array") == 0) p = operator new[](too_much);
    if (strcmp(argv[1], "nothrow") == 0) p = operator new(too_much, std::nothrow);
    if (strcmp(argv[1], "aligned") == 0) p = operator new(too_much, std::align_val_t(64));
    return p != nullptr ? 3 : 4;
}
