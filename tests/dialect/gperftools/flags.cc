/* flags.cc - flags CASE: gperftools' flags, which programs declare by hand and change while they run. Same output with both. */
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace FLAG__namespace_do_not_use_directly_use_DECLARE_int64_instead {
extern int64_t FLAGS_heap_profile_allocation_interval, FLAGS_heap_profile_deallocation_interval;
extern int64_t FLAGS_heap_profile_inuse_interval, FLAGS_heap_profile_time_interval;
} // namespace FLAG__namespace_do_not_use_directly_use_DECLARE_int64_instead
using namespace FLAG__namespace_do_not_use_directly_use_DECLARE_int64_instead;

#ifdef DEBUG_LIBRARY
namespace FLAG__namespace_do_not_use_directly_use_DECLARE_int32_instead {
extern int32_t FLAGS_max_free_queue_size;
}
namespace FLAG__namespace_do_not_use_directly_use_DECLARE_bool_instead {
extern bool FLAGS_malloc_page_fence, FLAGS_malloc_page_fence_never_reclaim;
extern bool FLAGS_malloc_page_fence_readable, FLAGS_malloc_reclaim_memory;
extern bool FLAGS_symbolize_stacktrace, FLAGS_malloctrace;
} // namespace FLAG__namespace_do_not_use_directly_use_DECLARE_bool_instead
using namespace FLAG__namespace_do_not_use_directly_use_DECLARE_int32_instead;
using namespace FLAG__namespace_do_not_use_directly_use_DECLARE_bool_instead;
#endif

static char *volatile p;

static char *made(size_t n_bytes) { return static_cast<char *>(malloc(n_bytes)); }

static void values() {
    printf("%ld %ld", FLAGS_heap_profile_allocation_interval, FLAGS_heap_profile_inuse_interval);
    printf(" %ld %ld\n", FLAGS_heap_profile_deallocation_interval,
           FLAGS_heap_profile_time_interval);
#ifdef DEBUG_LIBRARY
    printf("%d %d %d", FLAGS_max_free_queue_size, FLAGS_malloc_page_fence, FLAGS_malloctrace);
    printf(" %d %d", FLAGS_malloc_page_fence_never_reclaim, FLAGS_malloc_page_fence_readable);
    printf(" %d %d\n", FLAGS_malloc_reclaim_memory, FLAGS_symbolize_stacktrace);
#endif
}

static void profile(const char *prefix, int64_t interval) {
    FLAGS_heap_profile_allocation_interval = interval;
    HeapProfilerStart(prefix);
    for (int i = 0; i < 8; i++) p = made(1 << 20);
    HeapProfilerStop();
}

static void intervals() {
    profile("first", 3 << 20);
    profile("second", 2 << 20);
    profile("third", 0);
}

static void refused() {
    printf("%d\n",
           MallocExtension_SetNumericProperty("tcmalloc.min_per_thread_cache_bytes", 65536));
}

#ifdef DEBUG_LIBRARY
static size_t allocated() {
    size_t n = 0;
    MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &n);
    return n;
}

static bool comes_again() {
    char *first = p = made(100);
    bool is_same = false;
    for (int i = 0; i < 1000; i++) free(p), is_same |= (p = made(100)) == first;
    free(p);
    return is_same;
}

/* -1: there is no such line. */
static long queued() {
    std::vector<MallocExtension::FreeListInfo> lists;
    MallocExtension::instance()->GetFreeListSizes(&lists);
    for (const auto &list : lists)
        if (strcmp(list.type, "debug.free_queue") == 0) return (long)list.total_bytes_free;
    return -1;
}

static void queue() {
    printf("again %d, queued %d\n", comes_again(), queued() > 0);
    FLAGS_max_free_queue_size = 0;
    printf("again %d, queued %ld\n", comes_again(), queued());
    free(p = made(1));
    FLAGS_max_free_queue_size = 1 << 20;
    p = made(1000);
    size_t before = allocated();
    free(p);
    printf("counted %d\n", allocated() <= before - 1000);
    FLAGS_max_free_queue_size = 0;
    FLAGS_malloc_reclaim_memory = false;
    printf("again %d\n", comes_again());
}

static bool ends_at_a_page() { return (reinterpret_cast<uintptr_t>(p) + 160) % 4096 == 0; }

static void fence() {
    p = made(160);
    bool was = ends_at_a_page();
    FLAGS_malloc_page_fence = true;
    p = made(160);
    printf("fence %d\n", !was && ends_at_a_page());
    FLAGS_malloc_page_fence_readable = true;
    p = made(160);
    printf("readable %d\n", p[160] == p[161]);
    FLAGS_malloc_page_fence = false;
    p = made(160);
    printf("fence %d\n", ends_at_a_page() && was);
}

static void traced() {
    printf("before %d\n", access("trace", F_OK) == 0);
    FLAGS_malloctrace = true;
    p = made(10);
    printf("after %d\n", access("trace", F_OK) == 0);
    FLAGS_malloctrace = false;
}

static void unnamed() {
    FLAGS_symbolize_stacktrace = false;
    free(p = made(100));
    p[5] = 1;
}
#endif

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*make)();
    } cases[] = {
        {"values", values}, {"intervals", intervals}, {"refused", refused},
#ifdef DEBUG_LIBRARY
        {"queue", queue},   {"fence", fence},         {"traced", traced},   {"unnamed", unnamed},
#endif
    };
    setvbuf(stdout, nullptr, _IONBF, 0);
    for (const auto &c : cases)
        if (argc > 1 && strcmp(argv[1], c.name) == 0) c.make();
    return 0;
}
