/* fold.h - stacks as people read them: a view without the frames that nobody wrote.
 *
 *   __gnu_cxx::new_allocator::allocate < std::vector::_M_realloc_insert < parse < parse < parse < main < __libc_start_main
 *   std::vector growth < parse x3 < main
 *
 * Frames of libc, libstdc++ and the like at the leaf become one, named for what the caller asked for; those that call main or a
 * thread's function are left out; frames that repeat are there once. A stack of nothing else stays as it is.
 *
 * Climate: cli.   Owns: its arrays; the view must live as long.
 */
#ifndef REPORT_FOLD_H
#define REPORT_FOLD_H

#include "report/view.h"

struct fold_frame {
    uint32_t times; /* in a row */
    uint32_t
        group; /* this frame and so many less one behind it repeat together; 0: inside such a group */
};

struct fold {
    struct view view; /* the folded stacks, in the order of the old ones; nodes may be more */
    struct fold_frame *marks; /* by view.frames */
    uint32_t cap_marks;
    bool
        *has_library; /* by stack: its first frame stands for a library's, and the second decides */
    bool *is_library; /* by node */
    uint32_t *
        words; /* by node of the old view: the node that says what its library did; PROFILE_NONE: its own name does */
};

/* With the view's option all_frames nothing is folded. May add strings to the profile. */
void fold_new(struct fold *f, const struct view *v);
void fold_free(struct fold *f);
/* The frame of a stack that decides what is counted for it: the innermost of the program's own. */
static inline uint32_t fold_decider(const struct fold *f, uint32_t stack) {
    const struct view_stack *s = &f->view.stacks[stack];
    return f->view.frames[s->first + (f->has_library[stack] && s->n > 1 ? 1 : 0)];
}

#endif
