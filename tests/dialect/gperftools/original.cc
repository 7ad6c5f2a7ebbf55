/* original.cc - a program for gperftools' own headers and library, which is to run on ours as it is. What it prints is the same under
 * both, but for numbers. MINIMAL: without what the minimal libraries do not have. */
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>
#include <gperftools/malloc_hook.h>
#include <gperftools/nallocx.h>
#include <gperftools/stacktrace.h>
#include <gperftools/tcmalloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <typeinfo>

static void *volatile kept;
__attribute__((noinline)) static void *grab(size_t n) {
    kept = malloc(n);
    memset(kept, 1, n);
    return kept;
}

static void add_range(void *sums, const base::MallocRange *r) {
    static_cast<size_t *>(sums)[r->type] += r->length;
}

static int n_new, n_delete, n_callers;
static size_t new_bytes;
static void on_new(const void *, size_t n) {
    void *callers[8];
    n_new++, new_bytes += n;
    n_callers = MallocHook::GetCallerStackTrace(callers, 8, 0);
}
static void on_delete(const void *) { n_delete++; }

class Mine : public MallocExtension {
public:
    size_t GetThreadCacheSize() override { return 4711; }
};

class Allocator : public SysAllocator {
public:
    void *Alloc(size_t, size_t *, size_t) override { return nullptr; }
};

static void properties(MallocExtension *e) {
    static const char *const names[] = {"generic.current_allocated_bytes",
                                        "generic.heap_size",
                                        "generic.total_physical_bytes",
                                        "tcmalloc.max_total_thread_cache_bytes",
                                        "tcmalloc.current_total_thread_cache_bytes",
                                        "tcmalloc.central_cache_free_bytes",
                                        "tcmalloc.transfer_cache_free_bytes",
                                        "tcmalloc.thread_cache_free_bytes",
                                        "tcmalloc.pageheap_free_bytes",
                                        "tcmalloc.pageheap_unmapped_bytes",
                                        "tcmalloc.slack_bytes",
                                        "tcmalloc.pageheap_committed_bytes",
                                        "tcmalloc.pageheap_scavenge_count",
                                        "tcmalloc.pageheap_commit_count",
                                        "tcmalloc.pageheap_total_commit_bytes",
                                        "tcmalloc.pageheap_decommit_count",
                                        "tcmalloc.pageheap_total_decommit_bytes",
                                        "tcmalloc.pageheap_reserve_count",
                                        "tcmalloc.pageheap_total_reserve_bytes",
                                        "tcmalloc.aggressive_memory_decommit",
                                        "tcmalloc.heap_limit_mb",
                                        "no.such.property"};
    for (const char *name : names) {
        size_t value = 0;
        bool known = e->GetNumericProperty(name, &value);
        size_t in_c = 0;
        printf("%s known=%s again=%s\n", name, known ? "yes" : "no",
               MallocExtension_GetNumericProperty(name, &in_c) ? "yes" : "no");
    }
    size_t n = 0;
    printf("set: %s",
           e->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 1 << 20) ? "yes" : "no");
    e->GetNumericProperty("tcmalloc.max_total_thread_cache_bytes", &n);
    printf(" %s", n == 1 << 20 ? "same" : "other");
    printf(" %s", e->SetNumericProperty("generic.heap_size", 1) ? "yes" : "no");
    e->SetNumericProperty("tcmalloc.aggressive_memory_decommit", 1);
    e->GetNumericProperty("tcmalloc.aggressive_memory_decommit", &n);
    printf(" %s\n", n == 1 ? "on" : "off");
    e->SetNumericProperty("tcmalloc.aggressive_memory_decommit", 0);
}

/* What a thread keeps goes when it is idle, and who asks at once sees that. */
static int n_kept_when_idle(MallocExtension *e) {
    static void *volatile blocks[3000];
    const char *name = "tcmalloc.current_total_thread_cache_bytes";
    int n_kept = 0;
    for (int k = 0; k < 20; k++) {
        size_t before = 0, after = 0;
        for (void *volatile &p : blocks) p = malloc(1000);
        for (void *volatile &p : blocks) free(p);
        e->GetNumericProperty(name, &before);
        e->MarkThreadIdle();
        e->GetNumericProperty(name, &after);
        n_kept += after > 20000;
    }
    return n_kept;
}

static void first_line(const char *what, const std::string &text) {
    printf("%s: %s\n", what, text.substr(0, text.find('\n')).c_str());
    printf("%s: %s\n", what,
           text.find("\n\nMAPPED_LIBRARIES:\n") != std::string::npos ? "maps" : "no maps");
}

int main() {
    MallocExtension *e = MallocExtension::instance();
    MallocExtension::Initialize();
    for (int i = 0; i < 20000; i++) grab(3000);
    free(grab(4 << 20));
    properties(e);
    grab(3000);
    printf("sizes %zu %s %s\n", e->GetEstimatedAllocatedSize(13),
           e->GetAllocatedSize(kept) >= 3000 ? "enough" : "too little",
           e->GetAllocatedSize(kept) == nallocx(3000, 0) ? "as said" : "not as said");
    printf("owned %d %d %d\n", e->GetOwnership(grab(1)) == MallocExtension::kOwned,
           e->GetOwnership(&n_new) == MallocExtension::kNotOwned,
           e->GetOwnership(nullptr) == MallocExtension::kNotOwned);
    std::string sample, growth;
    e->GetHeapSample(&sample);
    first_line("sample", sample);
    e->GetHeapGrowthStacks(&growth);
    first_line("growth", growth);
    std::vector<MallocExtension::FreeListInfo> lists;
    e->GetFreeListSizes(&lists);
    printf("lists %d %.9s\n", lists.size() > 10, lists[0].type);
    size_t sums[4] = {0};
    e->Ranges(sums, add_range);
    printf("ranges in use %d\n", sums[base::MallocRange::INUSE] > 60000000);
    int period = 0;
    void **stacks = e->ReadStackTraces(&period);
    size_t n_stacks = 0;
    for (void **p = stacks; *p != nullptr; p += 3 + reinterpret_cast<size_t>(p[2])) n_stacks++;
    printf("stacks %d period %d\n", n_stacks > 0, period);
    delete[] stacks;
    stacks = e->ReadHeapGrowthStackTraces();
    printf("growth stacks %d\n", stacks[0] != nullptr);
    delete[] stacks;
    static char text[20000], small[2000];
    e->GetStats(text, sizeof(text));
    printf("%s", text);
    MallocExtension_GetStats(small, sizeof(small));
    printf("%d\n", strstr(small, "PageHeap") == nullptr);
    e->SetMemoryReleaseRate(3);
    printf("rate %g\n", e->GetMemoryReleaseRate());
    e->ReleaseToSystem(1000);
    e->ReleaseFreeMemory();
    e->MarkThreadIdle();
    printf("idle %d %d\n", e->GetThreadCacheSize() < 10000, n_kept_when_idle(e));
    e->MarkThreadBusy();
    int blocks, histogram[64];
    size_t total;
    printf("verify %d %d\n", e->VerifyAllMemory(),
           e->MallocMemoryStats(&blocks, &total, histogram));

    printf("hooks %d %d", MallocHook::AddNewHook(on_new), MallocHook::AddDeleteHook(on_delete));
    free(grab(100));
    void *volatile nothing = nullptr;
    free(nothing);
    kept = realloc(grab(100000), 100001);
    free(kept);
    printf(" %d %d %zu", n_new, n_delete, new_bytes);
    printf(" %d %d\n", MallocHook::RemoveNewHook(on_new), MallocHook::RemoveDeleteHook(on_delete));
    free(grab(100));
    printf("hooks then %d, the callers of malloc %s\n", n_new, n_callers > 0 ? "seen" : "hidden");

#ifndef MINIMAL
    void *pcs[8];
    printf("frames %d\n", GetStackTrace(pcs, 8, 0) > 0);
    printf("profiler %d\n", IsHeapProfilerRunning());
#endif
    printf("version %s\n",
           tc_version(nullptr, nullptr, nullptr) != nullptr ? "gperftools" : "none");
    tc_delete(tc_new(10));
    tc_free(tc_realloc(tc_calloc(2, 3), 100));
    printf("tc %zu\n", tc_malloc_size(kept = tc_malloc(100)));

    Allocator allocator;
    SysAllocator *before = e->GetSystemAllocator();
    e->SetSystemAllocator(&allocator);
    printf("allocator %d\n", e->GetSystemAllocator() == &allocator);
    e->SetSystemAllocator(before); /* theirs cannot do without one */
    Mine mine;
    try {
        throw mine;
    } catch (MallocExtension &) {
        printf("mine %d\n", dynamic_cast<Mine *>(e) == nullptr);
    }
    MallocExtension::Register(&mine);
    printf("mine %zu %d %s %d\n", MallocExtension::instance()->GetThreadCacheSize(),
           MallocExtension::instance()->VerifyAllMemory(),
           typeid(*MallocExtension::instance()).name(),
           dynamic_cast<Mine *>(MallocExtension::instance()) != nullptr);
    return 0;
}
