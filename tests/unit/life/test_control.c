/* test_control.c - requests as another process writes them: who answers, when, and what is refused. */
#include "../heap/look.h"

#include <time.h>

#include "life/control.c"

static uint64_t wall_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct vt_control_request request_for(uint32_t command) {
    static uint32_t id;
    return (struct vt_control_request){.id = ++id,
                                       .pid = (uint32_t)getpid(),
                                       .until_ns = wall_now_ns() + 60000000000u,
                                       .command = command};
}

/* As a client writes it; nobody has been told yet. */
static void put(struct vt_control_request r) {
    r.sum = vt_control_sum(&r);
    vt_control.request = r;
    vt_control.wanted = r.id;
}

static bool is_answered(void) {
    return vt_control.answer.id == vt_control.request.id && vt_control.wanted == 0;
}

static int answer_to(struct vt_control_request r) {
    put(r);
    raise(SIGURG);
    assert_true(is_answered());
    return vt_control.answer.error;
}

static int answer_with(uint32_t command, uint64_t number) {
    struct vt_control_request r = request_for(command);
    r.number = number;
    return answer_to(r);
}

static int answer_with_text(uint32_t command, const char *text) {
    struct vt_control_request r = request_for(command);
    snprintf(r.text, sizeof(r.text), "%s", text);
    return answer_to(r);
}

/* ---- who answers ---- */

TEST(control, the_block_is_found_by_its_words) {
    assert_string_equal(vt_control.magic, "vitrine");
    assert_int_equal(vt_control.version, 1);
    assert_int_equal(vt_control.n_bytes, sizeof(struct vt_control));
    assert_int_equal(vt_control.signal, SIGURG);
}

TEST(control, a_signal_is_answered_before_malloc_was_ever_called) {
    if (getenv("VITRINE_SAMPLE") != NULL) { /* with options the library starts by itself */
        clearenv();
        unit_exec("a_signal_is_answered_before_malloc_was_ever_called");
    }
    struct vt_control_request r = request_for(VT_CONTROL_rate);
    r.number = 12345;
    put(r); /* as answer_to, but cmocka has not called vt__malloc: nobody has */
    assert_int_equal(vt__map.n_slices, 0);
    raise(SIGURG);
    assert_true(is_answered());
    assert_int_equal(vt_control.answer.error, 0);
    assert_int_equal(vt__sample_period(), 12345);
    vt__free(vt__malloc(1)); /* the rest of the start does not undo it */
    assert_int_equal(vt__sample_period(), 12345);
}

TEST(control, a_slow_path_answers_without_a_signal) {
    vt__free(vt__malloc(1));
    put(request_for(VT_CONTROL_stop));
    vt__free(vt__malloc(MiB(1)));
    assert_true(is_answered());
}

TEST_WITH(control, no_signal_is_handled_when_the_option_says_none, "VITRINE_CONTROL_SIGNAL=0") {
    struct sigaction now;
    assert_int_equal(sigaction(SIGURG, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    assert_int_equal(vt_control.signal, 0);
    put(request_for(VT_CONTROL_stop));
    raise(SIGURG);
    assert_false(is_answered());
}

static void somebody(int number) { (void)number; }

TEST(control, a_handler_of_the_programs_own_stays) {
    struct sigaction now;
    vt_control.signal = 0;
    signal(SIGUSR2, somebody);
    handle_signal(SIGUSR2);
    assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
    assert_true(now.sa_handler == somebody);
    assert_int_equal(vt_control.signal, 0);
    signal(SIGUSR2, SIG_IGN);
    handle_signal(SIGUSR2);
    assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
}

TEST(control, a_signal_in_the_middle_of_a_slow_path_is_put_off_to_the_next) {
    vt__free(vt__malloc(1));
    put(request_for(VT_CONTROL_stats));
    assert_true(vt__enter());
    raise(SIGURG);
    assert_null(vt__malloc(MiB(1))); /* as a handler of the program's might do */
    assert_false(is_answered());
    vt__leave();
    vt__free(vt__malloc(MiB(1)));
    assert_true(is_answered());
}

TEST(control, a_signal_in_the_middle_of_a_fork_is_put_off) {
    vt__free(vt__malloc(1));
    put(request_for(VT_CONTROL_stats));
    vt__heap_fork_prepare();
    raise(SIGURG);
    vt__free(vt__malloc(MiB(1)));
    assert_false(is_answered());
    vt__heap_fork_done(/* is_child */ false);
    raise(SIGURG);
    assert_true(is_answered());
}

TEST(control, one_thread_works_at_a_time) {
    put(request_for(VT_CONTROL_stop));
    control.is_working = true;
    raise(SIGURG);
    assert_false(is_answered());
    control.is_working = false;
    raise(SIGURG);
    assert_true(is_answered());
}

TEST(control, errno_stays_what_it_was) {
    struct vt_control_request r = request_for(VT_CONTROL_dump);
    snprintf(r.text, sizeof(r.text), "/nowhere/at/all");
    freopen("/dev/null", "w", stderr);
    errno = 4711;
    int err = answer_to(r);
    assert_int_equal(errno, 4711);
    assert_int_equal(err, -ENOENT);
}

TEST(control, the_child_of_a_fork_does_not_obey_what_was_meant_for_its_parent) {
    int status;
    vt__free(vt__malloc(1));
    struct vt_control_request r = request_for(VT_CONTROL_rate);
    r.number = 12345;
    put(r);
    pid_t pid = fork();
    if (pid == 0) {
        raise(SIGURG);
        _exit(vt__sample_period() == 12345 || vt_control.wanted != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(is_answered());
    raise(SIGURG);
    assert_int_equal(vt__sample_period(), 12345);
}

/* ---- what is refused ---- */

static void damaged(struct vt_control_request *r) { r->number ^= 1; }
static void of_another_id(struct vt_control_request *r) { vt_control.wanted = r->id + 1; }
static void of_another_pid(struct vt_control_request *r) { r->pid++; }
static void too_late(struct vt_control_request *r) { r->until_ns = wall_now_ns() - 1; }
static void without_end(struct vt_control_request *r) { memset(r->text, 'x', sizeof(r->text)); }
static void of_no_command(struct vt_control_request *r) { r->command = 0; }
static void of_unknown_command(struct vt_control_request *r) { r->command = 999; }
static void of_huge_command(struct vt_control_request *r) { r->command = UINT32_MAX; }

TEST(control, requests_that_make_no_sense_are_refused_and_nothing_is_done) {
    static const struct {
        void (*spoil)(struct vt_control_request *r);
        bool has_sum; /* of the spoilt request */
        int error;
    } rows[] = {
        {damaged, false, -EBADMSG},          {of_another_id, true, -EBADMSG},
        {of_another_pid, true, -ESRCH},      {too_late, true, -ETIME},
        {without_end, true, -EBADMSG},       {of_no_command, true, -ENOSYS},
        {of_unknown_command, true, -ENOSYS}, {of_huge_command, true, -ENOSYS},
    };
    vt__free(vt__malloc(1));
    uint64_t period = vt__sample_period();
    for (unsigned i = 0; i < vt_countof(rows); i++) {
        struct vt_control_request r = request_for(VT_CONTROL_rate);
        r.number = 777;
        r.sum = vt_control_sum(&r);
        vt_control.wanted = r.id;
        rows[i].spoil(&r);
        if (rows[i].has_sum) r.sum = vt_control_sum(&r);
        vt_control.request = r;
        raise(SIGURG);
        assert_int_equal(vt_control.wanted, 0);
        assert_true_msg(vt_control.answer.error == rows[i].error, "row %u: expected %d, seen %d", i,
                        rows[i].error, vt_control.answer.error);
        assert_true(vt_control.answer.text[0] != '\0');
        assert_int_equal(vt__sample_period(), period);
    }
}

TEST(control, arguments_are_checked) {
    assert_int_equal(answer_with(VT_CONTROL_rate, TiB(1)), 0);
    assert_int_equal(answer_with(VT_CONTROL_rate, TiB(1) + 1), -ERANGE);
    assert_int_equal(answer_with(VT_CONTROL_exact, 2), -EINVAL);
    assert_int_equal(answer_with_text(VT_CONTROL_start, ""), -EINVAL);
    assert_int_equal(answer_with_text(VT_CONTROL_dump, ""), -ENOENT); /* there is no prefix */
    struct vt_control_request r = request_for(VT_CONTROL_stats);
    r.format = 2;
    assert_int_equal(answer_to(r), -EINVAL);
    r = request_for(VT_CONTROL_dump);
    r.format = VT_COLLAPSED + 2;
    snprintf(r.text, sizeof(r.text), "/tmp/x");
    assert_int_equal(answer_to(r), -EINVAL);
}

/* ---- what is done ---- */

TEST(control, exact_goes_on_and_off) {
    assert_int_equal(answer_with(VT_CONTROL_exact, 1), 0);
    assert_true(vt__exact_is_set());
    assert_true(*(const bool *)vt_control.is_exact);
    assert_int_equal(answer_with(VT_CONTROL_exact, 0), 0);
    assert_false(vt__exact_is_set());
}

TEST(control, figures_can_be_read_without_asking) {
    void *p = vt__malloc(MiB(5));
    assert_non_null(p);
    assert_true(*(const uint64_t *)vt_control.used_slices * vt_control.slice_bytes >= MiB(5));
    assert_int_equal(answer_with(VT_CONTROL_rate, 9999), 0);
    assert_int_equal(*(const uint64_t *)vt_control.period, 9999);
    vt__free(p);
}

TEST(control, statistics_come_as_text_and_as_json) {
    static const char *const starts[] = {"vitrine ", "{"};
    vt__free(vt__malloc(1));
    for (uint32_t format = 0; format < 2; format++) {
        struct vt_control_request r = request_for(VT_CONTROL_stats);
        r.format = format;
        assert_int_equal(answer_to(r), 0);
        const char *text = (const char *)(uintptr_t)vt_control.answer.data;
        size_t n = vt_control.answer.n_bytes;
        assert_true(n > 500 && n < KiB(64));
        assert_int_equal(strncmp(text, starts[format], strlen(starts[format])), 0);
        assert_non_null(memmem(text, n, "n_samples_lost", 14));
        assert_int_equal(text[n - 1], '\n');
    }
}

TEST(control, purge_gives_memory_back_and_says_how_much) {
    void *p = fill(vt__malloc(MiB(3)), MiB(3));
    vt__free(p); /* below what is retained */
    size_t before = n_dirty_slices();
    assert_true(before > 0);
    assert_int_equal(answer_with(VT_CONTROL_purge, 0), 0);
    assert_int_equal(vt_control.answer.number, before * VT_SLICE);
    assert_int_equal(n_dirty_slices(), 0);
}

static bool is_file(const char *path) { return access(path, R_OK) == 0; }

TEST(control, profiles_are_written_under_the_name_that_is_told) {
    char folder[] = "/tmp/vt-unit.XXXXXX", path[128], expected[160];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/one", folder);
    assert_int_equal(answer_with_text(VT_CONTROL_dump, path), 0);
    assert_string_equal(vt_control.answer.text, path);
    assert_true(is_file(path));
    unlink(path);

    assert_int_equal(answer_with_text(VT_CONTROL_start, path), 0);
    assert_int_equal(answer_with_text(VT_CONTROL_dump, ""), 0);
    snprintf(expected, sizeof(expected), "%s.0001.heap", path);
    assert_string_equal(vt_control.answer.text, expected);
    assert_true(is_file(expected));
    unlink(expected);
    assert_int_equal(answer_with(VT_CONTROL_stop, 0), 0);
    assert_int_equal(answer_with_text(VT_CONTROL_dump, ""), -ENOENT);
    rmdir(folder);
}

UNIT_MAIN()
