/* control.h - talking to a program that runs with the library, through its control block (vitrine-control.h).
 *
 * The block is read and written through /proc/PID/mem, opened before anything else is looked at: should the process start
 * another program meanwhile, it leads to the memory of the one that was, and writing fails. The kernel opens it for those
 * who may trace the process: the same user, unless Yama forbids it, and root.
 *
 * Climate: cli.
 */
#ifndef REPORT_CONTROL_H
#define REPORT_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include <vitrine-control.h>

#include "report/elf_symbol.h"
#include "report/error.h"

struct control;

enum control_access { CONTROL_LOOK, CONTROL_ASK };

/* 0, or a negative errno: -ESRCH no such process, -EPERM not permitted, -ENOENT no library in it, -EPROTO of another version. */
int control_open(struct symbol_cache *cache, int pid, enum control_access access,
                 struct control **out, struct report_error *e);
void control_close(struct control *c);

/* What can be seen without asking. */
struct control_figures {
    uint64_t heap_bytes;   /* in slabs and large blocks */
    uint64_t period_bytes; /* mean bytes between samples; 0: none */
    bool is_exact;
};
bool control_look(const struct control *c, struct control_figures *out);

struct control_question {
    enum vt_control_command command;
    uint32_t format; /* see struct vt_control_request */
    uint64_t number;
    const char *text; /* may be NULL */
};
struct control_reply {
    struct vt_control_answer answer;
    char *data; /* answer.n_bytes and a NUL; malloc'ed. NULL when there are none */
};
/* Waits for the answer, so long at most. 0, or a negative errno: -ETIMEDOUT, the process's own, or why it could not be asked. */
int control_ask(struct control *c, const struct control_question *q, unsigned timeout_ms,
                struct control_reply *reply, struct report_error *e);

#endif
