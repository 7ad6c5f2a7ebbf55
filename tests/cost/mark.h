/* mark.h - what the stepped program tells the stepper: where the two functions begin. */
#ifndef VT_TESTS_COST_MARK_H
#define VT_TESTS_COST_MARK_H

struct mark {
    void *malloc_entry, *free_entry;
};

#endif
