/* test_threads.c - names of threads: whose number is whose. */
#include <pthread.h>
#include <sys/prctl.h>

#include "../heap/look.h"

#include "probe/threads.c"

struct life {
    const char *name;
    bool is_named_late; /* it has something recorded under the name it was born with */
    uint32_t number;
};

static void *live(void *arg) {
    struct life *l = arg;
    if (l->is_named_late) vt__free(vt__malloc(100));
    prctl(PR_SET_NAME, (unsigned long)l->name);
    for (int i = 0; i < 5; i++) vt__free(vt__malloc(100));
    l->number = vt__heap_thread_number();
    assert_string_equal(vt__thread_name(l->number), l->name);
    return NULL;
}

static uint32_t number_of(const char *name, bool is_named_late) {
    pthread_t t;
    struct life l = {name, is_named_late, 0};
    assert_int_equal(pthread_create(&t, NULL, live, &l), 0);
    assert_int_equal(pthread_join(t, NULL), 0);
    return l.number;
}

static void begin(void) {
    vt__sample_set_period(1); /* every malloc is one */
    vt__free(vt__malloc(100));
}

TEST(threads, that_follow_each_other_keep_their_names) {
    begin();
    uint32_t one = number_of("one", false), two = number_of("two", false);
    assert_true_msg(one != two, "a number for each name expected, seen %u for both", one);
    assert_string_equal(vt__thread_name(one), "one");
    assert_string_equal(vt__thread_name(two), "two");
}

TEST(threads, of_one_name_share_a_number_however_many_there_are) {
    begin();
    uint32_t one = number_of("one", false), two = number_of("two", false);
    for (int i = 0; i < 100; i++) {
        uint32_t again = number_of("one", i % 2 == 1);
        assert_true_msg(again == one, "%u expected, seen %u", one, again);
        again = number_of("two", i % 3 == 1);
        assert_true_msg(again == two, "%u expected, seen %u", two, again);
    }
    /* this thread's, the common heap's, and one of those that were not named yet */
    assert_true_msg(threads.rows.n <= 5, "5 numbers expected at most, seen %u", threads.rows.n);
}

TEST(threads, of_many_names_have_not_more_numbers_than_allowed) {
    begin();
    for (int i = 0; i < MAX_NEW + 100; i++) {
        char name[VT_TASK_NAME_BYTES];
        snprintf(name, sizeof(name), "n%d", i);
        (void)number_of(name, false);
    }
    /* this thread's heap, the common one, and that of the others */
    assert_true_msg(threads.rows.n <= MAX_NEW + 3, "%d numbers expected at most, seen %u",
                    MAX_NEW + 3, threads.rows.n);
}

TEST(threads, a_profile_has_the_name_of_the_moment) {
    begin();
    prctl(PR_SET_NAME, (unsigned long)"late");
    vt__threads_refresh();
    assert_string_equal(vt__thread_name(vt__heap_thread_number()), "late");
}

UNIT_MAIN()
