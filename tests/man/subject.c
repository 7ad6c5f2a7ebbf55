/* subject.c - prints statistics of its own in both forms, for names.sh to compare with the page. */
#include <stdlib.h>

#include "vitrine.h"

int main(void) {
    void *volatile p = malloc(100);
    int err = vt_stats_print(1, VT_TEXT_FORMAT);
    if (err == 0) err = vt_stats_print(1, VT_JSON_FORMAT);
    free(p);
    return err == 0 ? 0 : 1;
}
