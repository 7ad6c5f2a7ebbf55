/* context.cc - stacks that a signal handler asks for, by each function and skip count; * is before the interrupted pc. */
#include <dlfcn.h>
#include <gperftools/profiler.h>
#include <gperftools/stacktrace.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define MAX 64

extern "C" {
int way, n_skipped, n;
void *stack[MAX];
int sizes[MAX];
void *interrupted;
ucontext_t kept;

__attribute__((noinline)) void ask(const void *uc) {
    switch (way) {
    case 0: n = GetStackTraceWithContext(stack, MAX, n_skipped, uc); break;
    case 1: n = GetStackFramesWithContext(stack, sizes, MAX, n_skipped, uc); break;
    case 2: n = ProfilerGetStackTrace(stack, MAX, n_skipped, uc); break;
    case 3: n = GetStackTrace(stack, MAX, n_skipped); break;
    case 4: n = GetStackFrames(stack, sizes, MAX, n_skipped); break;
    case 5: n = GetStackTraceWithContext(stack, MAX, n_skipped, NULL); break;
    case 6: n = GetStackTraceWithContext(stack, 2, n_skipped, uc); break;
    }
    asm volatile("");
}

void handler(int, siginfo_t *, void *uc) {
    greg_t *pc = &((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
    interrupted = (void *)*pc;
    memcpy(&kept, uc, sizeof(kept));
    ask(uc);
    *pc += 2; /* behind the ud2 */
}

__attribute__((noinline)) void leaf(void) { asm volatile("ud2" ::: "memory"); }

__attribute__((noinline)) void middle(void) {
    leaf();
    asm volatile("");
}
}

static void print(void) {
    printf("way %d, skip %d:", way, n_skipped);
    for (int i = 0; i < n; i++) {
        Dl_info info;
        bool is_pc = stack[i] == interrupted;
        bool is_known = dladdr((char *)stack[i] - !is_pc, &info) != 0 && info.dli_sname != NULL;
        printf(" %s%s", is_pc ? "*" : "", is_known ? info.dli_sname : "?");
    }
    puts("");
}

int main(int argc, char **argv) {
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGILL, &action, NULL);
    for (way = 0; way < 7; way++)
        for (n_skipped = 0; n_skipped < 6; n_skipped++) {
            middle();
            print();
        }
    if (argc > 1) { /* a context of another time: there is no way to it from here */
        way = 0;
        n_skipped = 1;
        interrupted = NULL;
        kept.uc_mcontext.gregs[REG_RIP]++;
        ask(&kept);
        printf("%s: %d\n", argv[1], n > 1 && stack[0] == (void *)kept.uc_mcontext.gregs[REG_RIP]);
    }
    return 0;
}
