/* risk_16_charged.c - lives inside a memory limit that the kernel enforces by killing.
 *
 *     risk_16_charged LIMIT_MIB
 *
 * Three quarters of the limit are in use at the peak, then most of it is freed and taken again in
 * other sizes. An allocator that keeps freed memory resident while it grows elsewhere is killed
 * here.
 */
#include "risk.h"

int main(int argc, char **argv) {
    static void *kept[400000];
    MUST(argc == 2);
    size_t limit = MiB(strtoul(argv[1], NULL, 10)), sizes[] = {64, 200, 1000, 5000, 33000, 200000};
    require_preloaded();
    for (size_t turn = 0; turn < 3 * sizeof sizes / sizeof *sizes; turn++) {
        size_t n = sizes[turn % (sizeof sizes / sizeof *sizes)], held = 0, count = 0;
        while (held < limit / 4 * 3 && count < 400000) {
            void *p = malloc(n);
            if (!p) break; /* NULL is a fair answer here, death is not */
            memset(p, (int)turn, n);
            kept[count++] = p;
            held += n;
        }
        CHECK_GE(held, limit / 4 < 400000 * n ? limit / 4 : 400000 * n);
        for (size_t i = 0; i < count; i++) free(kept[i]);
    }
    check_say("peak below %s MiB, RSS now %ld KiB", argv[1], rss_kib());
    return CHECK_DONE();
}
