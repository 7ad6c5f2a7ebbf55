/* heard.c - conf/options.c, whose warnings are heard: see heard.h. */
#include "heard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/options.h"
#include "os/os.h"

struct heard said;

static void hear(int fd, const char *data, size_t n_bytes);

#define vt__os_write hear
#include "conf/options.c"
#include "expect.h"
#undef vt__os_write

/* One call, one line, printable, with the prefix all our warnings have. */
static void hear(int fd, const char *data, size_t n_bytes) {
    static const char prefix[] = "vitrine: warning: ";
    EXPECT(fd == 2);
    EXPECT(n_bytes < sizeof(said.last));
    memcpy(said.last, data, n_bytes);
    said.last[n_bytes] = '\0';
    EXPECT(n_bytes > sizeof(prefix) && memcmp(data, prefix, sizeof(prefix) - 1) == 0);
    EXPECT(data[n_bytes - 1] == '\n');
    for (size_t i = 0; i + 1 < n_bytes; i++)
        EXPECT((unsigned char)data[i] >= ' ' && data[i] != 127);
    said.n_lines++;
}
