/* test_cpu_profile.c - profiles of time byte for byte, in all formats, from rows that are made up. */
#include "made_up_modules.h"

#include "dump/cpu_profile.h"

static const struct vt_cpu_stack cpu_rows[] = {
    {.pc = stack_a,
     .n_pcs = 2,
     .thread = 7,
     .thread_name = "main",
     .n_labels = 1,
     .label_keys = keys_a,
     .label_values = values_a,
     .n = 3,
     .on_ns = 300,
     .off_ns = 5},
    {.n = 1, .on_ns = 100}, /* a stack that is not known */
};

static size_t at;
static void rewind_cpu(void *state) { at = 0, (void)state; }
static bool next_cpu(void *state, struct vt_cpu_stack *row) {
    (void)state;
    if (at == vt_countof(cpu_rows)) return false;
    *row = cpu_rows[at++];
    return true;
}

static struct vt_cpu_source source(enum vt_cpu_kind kind) {
    return (struct vt_cpu_source){.kind = kind,
                                  .period_ns = 10000000,
                                  .time_ns = 1,
                                  .duration_ns = 2,
                                  .rewind = rewind_cpu,
                                  .next = next_cpu};
}

static void expect(enum vt_cpu_format format, enum vt_cpu_kind kind, const void *wanted,
                   size_t n_wanted) {
    static char seen[4096];
    struct vt_cpu_source src = source(kind);
    int fd = memfd_create("profile", 0);
    assert_int_equal(vt__cpu_write_fd(fd, format, &src), 0);
    ssize_t n = pread(fd, seen, sizeof(seen), 0);
    for (size_t i = 0; i < (size_t)n && i < n_wanted; i++)
        assert_true_msg(seen[i] == ((const char *)wanted)[i], "byte %zu: expected %02x, seen %02x",
                        i, ((const unsigned char *)wanted)[i], (unsigned char)seen[i]);
    assert_int_equal(n, n_wanted);
    close(fd);
}

TEST(cpu_profile, gperftools_has_words_and_then_maps) {
    static const uint64_t words[] = {0, 3, 0, 10000, 0, 3, 2, 0x401010, 0x401100, 1, 1, 1, 0, 1, 0};
    char wanted[sizeof(words) + 7];
    memcpy(wanted, words, sizeof(words));
    memcpy(wanted + sizeof(words), "(maps)\n", 7);
    expect(VT_CPU_GPERFTOOLS_FORMAT, VT_CPU_TIME, wanted, sizeof(wanted));
    struct vt_cpu_source src = source(VT_CPU_TIME);
    assert_int_equal(vt__cpu_gperftools_bytes(&src), sizeof(words));
    assert_int_equal(vt__cpu_n_periods(&src), 4);
}

/* clang-format off */ /* one message per line */
#define STRING(length, text) "\x32" length text
#define MAPPINGS(prog, id, odd) \
    STRING("\x09", "/bin/prog") STRING("\x04", "abcd") \
    "\x1a\x13\x08\x02\x10\x80\xa0\x80\x02\x18\x80\xc0\x80\x02\x20\x80\x20\x28" prog "\x30" id \
    STRING("\x11", "/lib/odd;na me.so") \
    "\x1a\x12\x08\x01\x10\x80\x80\xc0\x01\x18\x80\xa0\xc0\x01\x20\x00\x28" odd "\x30\x00" \
    "\x1a\x12\x08\x03\x10\x80\x80\x80\x03\x18\x80\xa0\x80\x03\x20\x00\x28\x00\x30\x00"

static const char cpu_expected[] =
    STRING("\x00", "")
    STRING("\x07", "samples") STRING("\x05", "count") "\x0a\x04\x08\x01\x10\x02"
    STRING("\x03", "cpu") STRING("\x0b", "nanoseconds") "\x0a\x04\x08\x03\x10\x04"
    "\x48\x01" "\x50\x02" /* time, duration */
    "\x5a\x04\x08\x03\x10\x04" "\x60\x80\xad\xe2\x04" /* cpu/nanoseconds, 10,000,000 */
    STRING("\x13", "vitrine CPU profile") "\x68\x05" /* comment */
    MAPPINGS("\x06", "\x07", "\x08")
    "\x22\x09\x08\x01\x10\x02\x18\x90\xa0\x80\x02" /* 0x401010: where it was interrupted */
    "\x22\x09\x08\x02\x10\x02\x18\xff\xa1\x80\x02" /* 0x4010ff: the call */
    STRING("\x06", "thread") STRING("\x04", "main") STRING("\x01", "k") STRING("\x01", "v") STRING("\x09", "thread_id")
    "\x12\x1b\x0a\x02\x01\x02\x12\x03\x03\xac\x02"
    "\x1a\x04\x08\x0d\x18\x07"
    "\x1a\x04\x08\x09\x10\x0a"
    "\x1a\x04\x08\x0b\x10\x0c"
    "\x22\x06\x08\x03\x10\x00\x18\x00" /* not known */
    "\x12\x07\x0a\x01\x03\x12\x02\x01\x64"
    "\x70\x03"; /* default type: the end */

static const char wall_values[] = "\x12\x06\x03\xb1\x02\xac\x02\x05" /* 3 samples, 305 = 300 + 5 ns */;
/* clang-format on */

TEST(cpu_profile, proto_has_samples_and_nanoseconds) {
    expect(VT_CPU_PROTO_FORMAT, VT_CPU_TIME, cpu_expected, sizeof(cpu_expected) - 1);
}

TEST(cpu_profile, wall_time_is_split_into_running_and_waiting) {
    static char seen[4096];
    struct vt_cpu_source src = source(VT_WALL_TIME);
    int fd = memfd_create("profile", 0);
    assert_int_equal(vt__cpu_write_fd(fd, VT_CPU_PROTO_FORMAT, &src), 0);
    size_t n = (size_t)pread(fd, seen, sizeof(seen), 0);
    assert_non_null(memmem(seen, n, wall_values, sizeof(wall_values) - 1));
    assert_non_null(memmem(seen, n, "offcpu", 6));
    close(fd);
}

TEST(cpu_profile, contention_text_has_nanoseconds_and_counts_and_then_maps) {
    static const char wanted[] = "--- contention:\n"
                                 "cycles/second=1000000000\n"
                                 "sampling period=1\n"
                                 "ms since reset=0\n"
                                 "300 3 @ 0x401010 0x401100\n"
                                 "100 1 @ 0x0\n"
                                 "--- Memory map: ---\n"
                                 "(maps)\n";
    expect(VT_CONTENTION_FORMAT, VT_WAITS, wanted, sizeof(wanted) - 1);
}

TEST(cpu_profile, waits_are_contentions_and_delay_at_return_addresses) {
    static char seen[4096];
    struct vt_cpu_source src = source(VT_WAITS);
    int fd = memfd_create("profile", 0);
    assert_int_equal(vt__cpu_write_fd(fd, VT_CPU_PROTO_FORMAT, &src), 0);
    size_t n = (size_t)pread(fd, seen, sizeof(seen), 0);
    assert_non_null(memmem(seen, n,
                           "\x32\x0b"
                           "contentions",
                           13));
    assert_non_null(memmem(seen, n,
                           "\x32\x05"
                           "delay",
                           7));
    assert_non_null(
        memmem(seen, n, "\x22\x09\x08\x01\x10\x02\x18\x8f\xa0\x80\x02", 11)); /* 0x40100f */
    close(fd);
}

TEST(cpu_profile, a_format_that_is_none_is_refused) {
    struct vt_cpu_source src = source(VT_CPU_TIME);
    assert_int_equal(vt__cpu_write_fd(2, (enum vt_cpu_format)9, &src), -EINVAL);
}

UNIT_MAIN()
