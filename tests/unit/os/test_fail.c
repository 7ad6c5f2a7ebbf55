/* test_fail.c - the hooks by which a test makes system calls fail: they fail what was asked for, and only that. */
#include "unit.h"

#include "os/impl.h"

/* Which of the first n calls of this kind fail, as a string of . and x. */
static const char *pattern(enum vt_os_call call, int n) {
    static char text[64];
    for (int i = 0; i < n; i++) text[i] = vt__os_forced_failure(call) != 0 ? 'x' : '.';
    text[n] = '\0';
    return text;
}

TEST(fail, without_wishes_nothing_fails) {
    for (int c = 0; c < VT_CALL_COUNT; c++)
        assert_string_equal(pattern(c, 20), "....................");
}

TEST_WITH(fail, the_third_call_of_any_kind_fails_once, "VITRINE_FAIL_NTH=3") {
    assert_int_equal(vt__os_forced_failure(VT_CALL_RESERVE), 0);
    assert_int_equal(vt__os_forced_failure(VT_CALL_COMMIT), 0);
    assert_int_equal(vt__os_forced_failure(VT_CALL_MAP), -ENOMEM);
    assert_string_equal(pattern(VT_CALL_MAP, 10), "..........");
}

TEST_WITH(fail, the_second_call_of_one_kind_fails_once, "VITRINE_FAIL_NTH=2:commit") {
    assert_string_equal(pattern(VT_CALL_MAP, 5), ".....");
    assert_string_equal(pattern(VT_CALL_COMMIT, 5), ".x...");
}

TEST_WITH(fail, calls_that_are_not_about_memory_are_not_counted, "VITRINE_FAIL_NTH=1") {
    assert_string_equal(pattern(VT_CALL_NAME, 3), "...");
    assert_string_equal(pattern(VT_CALL_RANDOM, 3), "...");
    assert_string_equal(pattern(VT_CALL_SYSFS, 3), "...");
    assert_string_equal(pattern(VT_CALL_NOREPLACE, 3), "...");
    assert_string_equal(pattern(VT_CALL_MOVE, 3), "x..");
}

TEST_WITH(fail, what_is_missing_fails_always_with_enosys,
          "VITRINE_FAIL_ALWAYS=purge,mremap_dontunmap") {
    assert_int_equal(vt__os_forced_failure(VT_CALL_PURGE), -ENOSYS);
    assert_string_equal(pattern(VT_CALL_PURGE, 4), "xxxx");
    assert_string_equal(pattern(VT_CALL_MOVE, 4), "xxxx");
    assert_string_equal(pattern(VT_CALL_COMMIT, 4), "....");
}

TEST_WITH(
    fail, every_kind_has_its_name,
    "VITRINE_FAIL_ALWAYS=reserve,commit,map,noreplace,purge,mremap_dontunmap,hugepages,anon_name,getrandom,sysfs,proc,populate,file") {
    for (int c = 0; c < VT_CALL_COUNT; c++) assert_string_equal(pattern(c, 2), "xx");
}

TEST_WITH(fail, a_part_of_a_name_is_no_name, "VITRINE_FAIL_ALWAYS=com,mapp,purge2,xsysfs") {
    for (int c = 0; c < VT_CALL_COUNT; c++) assert_string_equal(pattern(c, 2), "..");
}

TEST_WITH(fail, the_system_calls_do_ask,
          "VITRINE_FAIL_ALWAYS=reserve,commit,map,purge,mremap_dontunmap,hugepages,sysfs") {
    void *at;
    char buf[16];
    assert_int_equal(vt__os_reserve(MiB(1), MiB(2), &at), -ENOSYS);
    assert_int_equal(vt__os_commit(NULL, 0), -ENOSYS);
    assert_int_equal(vt__os_map(MiB(1), &at), -ENOSYS);
    assert_int_equal(vt__os_map_at(NULL, MiB(1)), -ENOSYS);
    assert_int_equal(vt__os_purge(NULL, 0), -ENOSYS);
    assert_int_equal(vt__os_move(NULL, 0, NULL), -ENOSYS);
    assert_int_equal(vt__os_hugepages(NULL, 0, true), -ENOSYS);
    assert_int_equal(vt__os_read_file("/proc/self/status", buf, sizeof(buf)), 0);
}

TEST_WITH(fail, without_getrandom_random_numbers_come_from_elsewhere,
          "VITRINE_FAIL_ALWAYS=getrandom") {
    assert_true(vt__os_random() != 0);
}

UNIT_MAIN()
