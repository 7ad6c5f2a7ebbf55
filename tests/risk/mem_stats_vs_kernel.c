/* mem_stats_vs_kernel.c - the statistics' sum against what the kernel says is resident, after
 * several workloads.
 *
 * The kernel's side is the Rss of the mappings named [anon:vitrine...]. Where the kernel cannot
 * name mappings, it is the growth since the start of main of all anonymous mappings without a name,
 * against the growth of the statistics; the program itself maps nothing meanwhile. All blocks are
 * written to: of pages that were never touched the library cannot know. Where the kernel gives huge
 * pages unasked (policy `always`) it makes such pages resident, too: at most all that is in slabs and
 * large blocks.
 */
#include "risk.h"

#include <vitrine.h>

static int (*stats_get)(struct vt_stats *);
static size_t (*release_free)(void);
static int has_names;
static bool is_huge_always;
static long kernel_at_start, stats_at_start;

struct rss {
    bool counts; /* the mapping whose lines these are */
    long kib;
};

static void add_line(const char *line, void *state) {
    struct rss *rss = state;
    if (proc_begins_mapping(line)) {
        const char *name = strpbrk(line, "/[");
        rss->counts = has_names ? name && strncmp(name, "[anon:vitrine", 13) == 0 : name == NULL;
    } else if (rss->counts && strncmp(line, "Rss:", 4) == 0) {
        rss->kib += strtol(line + 4, NULL, 10);
    }
}

/* KiB of Rss in the mappings that are the library's, see above. */
static long kernel_kib(void) {
    struct rss rss = {false, 0};
    MUST(proc_lines("/proc/self/smaps", add_line, &rss));
    return rss.kib;
}

static struct vt_stats stats(void) {
    struct vt_stats s = {.size = sizeof s};
    CHECK_EQ(stats_get(&s), 0);
    return s;
}

static void find_policy(const char *line, void *is_always) {
    *(bool *)is_always = strstr(line, "[always]") != NULL;
}

static void compare(const char *what) {
    struct vt_stats s = stats();
    long seen = (long)(s.resident >> 10), kernel = kernel_kib();
    long most = is_huge_always ? (long)((s.active + s.retained + s.metadata) >> 10) : seen;
    if (!has_names) {
        seen -= stats_at_start;
        most -= stats_at_start;
        kernel -= kernel_at_start;
    }
    check_say("%-34s statistics %8ld KiB, kernel %8ld KiB (%+.1f %%)", what, seen, kernel,
              100.0 * (double)(seen - kernel) / (double)kernel);
    CHECK_EQ(s.resident, s.allocated + s.cached + s.fragmented + s.retained + s.metadata);
    long tolerance = kernel / 20 + 256; /* 5 %, and a page here and there */
    CHECK_LE(seen, kernel + tolerance);
    CHECK_LE(kernel, most + tolerance);
}

/* ---- workloads; blocks are kept in a table outside the heap */
enum { SLOTS = 2000000 };
static char **slot;

static void fill_table(size_t from, size_t to, size_t least, size_t most) {
    uint64_t rng = from + 1;
    for (size_t i = from; i < to; i++) {
        size_t n = least + next_random(&rng) % (most - least + 1);
        slot[i] = malloc(n);
        MUST(slot[i] != NULL);
        memset(slot[i], 1, n);
    }
}
static void empty_table(size_t from, size_t to, size_t step) {
    for (size_t i = from; i < to; i += step) {
        free(slot[i]);
        slot[i] = NULL;
    }
}
static void *fill_in_thread(void *arg) {
    size_t from = (uintptr_t)arg;
    fill_table(from, from + 100000, 16, 500);
    empty_table(from, from + 100000, 2);
    return NULL;
}

int main(void) {
    pthread_t id[4];
    require_preloaded();
    stats_get = (int (*)(struct vt_stats *))dlsym(RTLD_DEFAULT, "vt_stats_get");
    release_free = (size_t(*)(void))dlsym(RTLD_DEFAULT, "vt_release_free_memory");
    MUST(stats_get && release_free);
    slot =
        mmap(NULL, SLOTS * sizeof *slot, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(slot != MAP_FAILED); /* shared: it has a name and is not counted */
    memset(slot, 0, SLOTS * sizeof *slot);
    free(malloc(1));
    has_names = 1;
    has_names = kernel_kib() > 0;
    proc_lines("/sys/kernel/mm/transparent_hugepage/enabled", find_policy, &is_huge_always);
    if (is_huge_always)
        check_say("huge pages are given unasked: comparing with what they may fill");
    if (!has_names) check_say("this kernel does not name mappings: comparing growth");
    (void)stats();
    kernel_at_start = kernel_kib();
    stats_at_start = (long)(stats().resident >> 10);

    fill_table(0, 10, 300000, 300000);
    empty_table(0, 10, 1);
    fill_table(0, 100000, 17, 32);
    compare("32 bytes where large blocks were");
    empty_table(0, 100000, 1);
    fill_table(0, 1000000, 1, 300);
    compare("1,000,000 blocks to 300 bytes");
    empty_table(0, 1000000, 3);
    compare("every third freed");
    release_free();
    compare("free memory released");
    fill_table(1000000, 1050000, 1000, 8000);
    compare("50,000 blocks to 8 KB");
    empty_table(1000000, 1050000, 2);
    compare("every second freed");
    fill_table(1100000, 1102000, 20000, 400000);
    compare("2,000 blocks to 400 KB");
    empty_table(1100000, 1102000, 2);
    compare("every second freed");
    for (uintptr_t i = 0; i < 4; i++)
        MUST(pthread_create(&id[i], NULL, fill_in_thread, (void *)(1200000 + i * 100000)) == 0);
    for (int i = 0; i < 4; i++) MUST(pthread_join(id[i], NULL) == 0);
    compare("four threads, half of it freed");
    empty_table(0, 1000000, 7);
    empty_table(1200000, 1600000, 5);
    compare("blocks of ended threads freed");
    char *grown = NULL;
    for (size_t n = 100; n < MiB(48); n += n / 2) {
        grown = realloc(grown, n);
        MUST(grown != NULL);
        memset(grown, 1, n);
    }
    compare("one block grown to 48 MiB");
    free(grown);
    empty_table(0, SLOTS, 1);
    release_free();
    struct vt_stats s = stats();
    long kernel = kernel_kib();
    check_say("all freed and released: statistics %ld KiB, kernel %ld KiB",
              (long)(s.resident >> 10), kernel);
    CHECK_LE(kernel, kernel_at_start + 32 * 1024);
    return CHECK_DONE();
}
