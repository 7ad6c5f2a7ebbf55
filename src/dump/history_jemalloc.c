/* history_jemalloc.c - single samples as jemalloc writes them: prof_log's file, and what prof_recent.alloc_dump hands over.
 *
 * In the log, threads and stacks are told once, and meant by their place afterwards. A sample that ends while we write, with a
 * stack or a thread that was not told, is left out.
 *
 * Climate: host, no malloc.   Owns: working memory for the time of one call.
 */
#include "dump/history.h"
#include "dump/impl.h"
#include "heap/heap.h"
#include "os/os.h"
#include "probe/history.h"
#include "stack/stack.h"

static void put_key(struct vt_text *t, const char *before, const char *key) {
    vt__text_put(t, before);
    vt__text_char(t, '"');
    vt__text_put(t, key);
    vt__text_put(t, "\":");
}

static void put_number(struct vt_text *t, const char *before, const char *key, uint64_t n) {
    put_key(t, before, key);
    vt__text_uint(t, n);
}

static void put_words(struct vt_text *t, const char *before, const char *key, const char *words) {
    put_key(t, before, key);
    vt__text_char(t, '"');
    vt__put_tame(t, words, vt__str_len(words), "\"\\");
    vt__text_char(t, '"');
}

static void put_stack(struct vt_text *t, uint32_t stack) {
    const uintptr_t *pc = NULL;
    unsigned n = vt__depot_get(stack, &pc);
    vt__text_char(t, '[');
    for (unsigned i = 0; i < n; i++) {
        vt__text_put(t, i == 0 ? "\"" : ",\"");
        vt__text_hex(t, pc[i]);
        vt__text_char(t, '"');
    }
    vt__text_char(t, ']');
}

/* ---- the last ones ---- */

static void put_end(struct vt_text *t, const char *const keys[4], const struct vt_past_end *end) {
    put_number(t, ",", keys[0], end->thread);
    const char *name = vt__thread_name(end->thread);
    if (name[0] != '\0') put_words(t, ",", keys[1], name);
    put_number(t, ",", keys[2], end->at_ns);
    put_key(t, ",", keys[3]);
    put_stack(t, end->stack);
}

static int write_recent(struct vt_out *o, const void *src) {
    static const char *const birth[] = {"alloc_thread_uid", "alloc_thread_name", "alloc_time",
                                        "alloc_trace"};
    static const char *const death[] = {"dalloc_thread_uid", "dalloc_thread_name", "dalloc_time",
                                        "dalloc_trace"};
    const struct vt_history_info *info = src;
    struct vt_text *t = &o->text;
    struct vt_past past;
    const char *before = "{";
    put_number(t, "{", "sample_interval", info->period_bytes);
    put_key(t, ",", "recent_alloc_max");
    vt__text_int(t, info->most_recent);
    put_key(t, ",", "recent_alloc");
    vt__text_char(t, '[');
    for (uint32_t cursor = 0; o->err == 0 && vt__history_next_recent(&cursor, &past);) {
        put_number(t, before, "size", past.requested_bytes);
        put_number(t, ",", "usize", past.block_bytes);
        put_key(t, ",", "released");
        vt__text_put(t, past.died.at_ns != 0 ? "true" : "false");
        put_end(t, birth, &past.born);
        if (past.died.at_ns != 0) put_end(t, death, &past.died);
        vt__text_char(t, '}');
        before = ",{";
    }
    vt__text_put(t, "]}");
    return 0;
}

int vt__history_write_recent(void (*sink)(void *arg, const char *data, size_t n_bytes), void *arg,
                             const struct vt_history_info *info) {
    return vt__write_sink(sink, arg, write_recent, info);
}

/* ---- the log ---- */

/* From ids to places, plus one; 0: not told yet. */
struct places {
    uint32_t *of;
    size_t n_bytes, n_ids;
    uint32_t n;
};

static int take_places(struct places *p, size_t n_ids) {
    p->n_ids = n_ids;
    p->n_bytes = vt_round_up(n_ids * sizeof(*p->of), VT_OS_PAGE);
    return vt__os_map(p->n_bytes, (void **)&p->of);
}

static bool is_new(struct places *p, uint32_t id) {
    if (id >= p->n_ids || p->of[id] != 0) return false;
    p->of[id] = ++p->n;
    return true;
}

static bool is_told(const struct places *p, uint32_t id) { return id < p->n_ids && p->of[id] != 0; }

static uint32_t highest_thread(void) {
    struct vt_past past;
    uint32_t highest = 0;
    for (uint32_t cursor = 0; vt__history_next_logged(&cursor, &past);)
        highest = (uint32_t)vt_max(highest, vt_max(past.born.thread, past.died.thread));
    return highest;
}

static void tell_thread(struct vt_text *t, struct places *threads, uint32_t id) {
    if (!is_new(threads, id)) return;
    put_number(t, threads->n == 1 ? "{" : ",{", "thr_uid", id);
    put_words(t, ",", "thr_name", vt__thread_name(id));
    vt__text_char(t, '}');
}

static void tell_stack(struct vt_text *t, struct places *stacks, uint32_t id) {
    if (!is_new(stacks, id)) return;
    if (stacks->n > 1) vt__text_char(t, ',');
    put_stack(t, id);
}

static bool put_allocation(struct vt_text *t, const char *before, const struct vt_past *p,
                           const struct places *threads, const struct places *stacks) {
    if (!is_told(threads, p->born.thread) || !is_told(threads, p->died.thread) ||
        !is_told(stacks, p->born.stack) || !is_told(stacks, p->died.stack))
        return false;
    put_number(t, before, "alloc_thread", threads->of[p->born.thread] - 1);
    put_number(t, ",", "free_thread", threads->of[p->died.thread] - 1);
    put_number(t, ",", "alloc_trace", stacks->of[p->born.stack] - 1);
    put_number(t, ",", "free_trace", stacks->of[p->died.stack] - 1);
    put_number(t, ",", "alloc_timestamp", p->born.at_ns);
    put_number(t, ",", "free_timestamp", p->died.at_ns);
    put_number(t, ",", "usize", p->block_bytes);
    vt__text_char(t, '}');
    return true;
}

static void put_log(struct vt_out *o, struct places *threads, struct places *stacks) {
    struct vt_text *t = &o->text;
    struct vt_past past;
    const char *before = "{";
    put_key(t, ",", "threads");
    vt__text_char(t, '[');
    for (uint32_t cursor = 0; o->err == 0 && vt__history_next_logged(&cursor, &past);) {
        tell_thread(t, threads, past.born.thread);
        tell_thread(t, threads, past.died.thread);
    }
    put_key(t, "],", "stack_traces");
    vt__text_char(t, '[');
    for (uint32_t cursor = 0; o->err == 0 && vt__history_next_logged(&cursor, &past);) {
        tell_stack(t, stacks, past.born.stack);
        tell_stack(t, stacks, past.died.stack);
    }
    put_key(t, "],", "allocations");
    vt__text_char(t, '[');
    for (uint32_t cursor = 0; o->err == 0 && vt__history_next_logged(&cursor, &past);)
        if (put_allocation(t, before, &past, threads, stacks)) before = ",{";
    vt__text_put(t, "]}");
}

static int write_log(struct vt_out *o, const void *src) {
    const struct vt_history_info *info = src;
    struct vt_text *t = &o->text;
    struct places threads = {0}, stacks = {0};
    int err = take_places(&threads, (size_t)highest_thread() + 1);
    if (err == 0) err = take_places(&stacks, (size_t)vt__depot_count() + 1);
    if (err == 0) {
        put_key(t, "{", "info");
        put_number(t, "{", "duration", info->duration_ns);
        put_words(t, ",", "version", info->version);
        put_number(t, ",", "lg_sample_rate", vt_log2(vt_max(info->period_bytes, 1)));
        put_words(t, ",", "prof_time_resolution", info->resolution);
        put_number(t, ",", "pid", (uint64_t)vt__os_pid());
        vt__text_char(t, '}');
        put_log(o, &threads, &stacks);
    }
    if (threads.of != NULL) vt__os_unmap(threads.of, threads.n_bytes);
    if (stacks.of != NULL) vt__os_unmap(stacks.of, stacks.n_bytes);
    return err;
}

int vt__history_write_log(const char *path, const struct vt_history_info *info) {
    return vt__write_file_quietly(path, write_log, info);
}
