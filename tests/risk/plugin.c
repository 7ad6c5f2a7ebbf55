/* plugin.c - a library that comes and goes: allocates as it is loaded, hands blocks out, frees as
 * it goes.
 *
 * Built twice with another PLUGIN_ID, for rows 5, 6 and 8. The functions keep C linkage and are
 * found by dlsym.
 */
#include <stdlib.h>
#include <string.h>

#ifndef PLUGIN_ID
#define PLUGIN_ID 1
#endif

static unsigned char *held[32];
static const size_t held_bytes[4] = {24, 300, 5000, 150000};

__attribute__((constructor)) static void load(void) {
    for (int i = 0; i < 32; i++) {
        size_t n = held_bytes[i % 4];
        held[i] = malloc(n);
        if (!held[i]) abort();
        memset(held[i], PLUGIN_ID + i, n);
    }
}

__attribute__((destructor)) static void unload(void) {
    for (int i = 0; i < 32; i++) {
        size_t n = held_bytes[i % 4];
        if (held[i][0] != (unsigned char)(PLUGIN_ID + i) || held[i][n - 1] != held[i][0]) abort();
        free(held[i]);
    }
}

int plugin_id(void);
void *plugin_take(size_t n);
void plugin_drop(void *p);
char *plugin_text(const char *text);
void *plugin_resize(void *p, size_t n);

int plugin_id(void) { return PLUGIN_ID; }
void *plugin_take(size_t n) { return malloc(n); }
void plugin_drop(void *p) { free(p); }
char *plugin_text(const char *text) { return strdup(text); } /* libc allocates for us */
void *plugin_resize(void *p, size_t n) { return realloc(p, n); }
