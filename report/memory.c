/* memory.c - see memory.h. Climate: cli. */
#include "report/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_and_end(void) {
    (void)fputs("vitrine: error: out of memory\n", stderr);
    exit(3);
}

void (*report_no_memory)(void) = say_and_end;

static void *or_end(void *p) {
    if (p == NULL) {
        report_no_memory();
        abort();
    }
    return p;
}

void *report_alloc(size_t n_bytes) { return or_end(calloc(1, n_bytes ? n_bytes : 1)); }

void *report_resize(void *p, size_t n_bytes) { return or_end(realloc(p, n_bytes ? n_bytes : 1)); }

char *report_copy(const char *text, size_t n_bytes) {
    char *copy = report_alloc(n_bytes + 1);
    memcpy(copy, text, n_bytes);
    return copy;
}

void *report_room(void *array, uint32_t n, uint32_t *cap, uint32_t more, size_t size) {
    if (*cap - n >= more) return array;
    uint64_t wanted = (uint64_t)n + more;
    uint64_t larger = wanted + wanted / 2 + 16;
    if (larger > UINT32_MAX - 1) larger = UINT32_MAX - 1; /* ids are 32 bit, and one means "none" */
    if (wanted > larger) {
        report_no_memory();
        abort();
    }
    *cap = (uint32_t)larger;
    return report_resize(array, larger * size);
}

#define FIRST_SLOTS 64

static uint32_t *free_slots(size_t n) {
    uint32_t *slots = report_resize(NULL, n * sizeof *slots);
    memset(slots, 0xff, n * sizeof *slots);
    return slots;
}

void index_init(struct index *ix) {
    ix->slots = free_slots(FIRST_SLOTS);
    ix->mask = FIRST_SLOTS - 1;
    ix->n = 0;
}

void index_free(struct index *ix) {
    free(ix->slots);
    ix->slots = NULL;
}

void index_added(struct index *ix, uint64_t (*hash_of)(const void *owner, uint32_t id),
                 const void *owner) {
    if (++ix->n <= ix->mask / 2) return;
    uint32_t *old = ix->slots, n_old = ix->mask + 1;
    ix->mask = n_old * 2 - 1;
    ix->slots = free_slots((size_t)n_old * 2);
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i] == INDEX_FREE) continue;
        uint32_t *slot = index_first(ix, hash_of(owner, old[i]));
        while (*slot != INDEX_FREE) slot = index_next(ix, slot);
        *slot = old[i];
    }
    free(old);
}

uint64_t hash_bytes(const void *bytes, size_t n) {
    const unsigned char *b = bytes;
    uint64_t h = n, word;
    for (; n >= 8; n -= 8, b += 8) {
        memcpy(&word, b, 8);
        h = hash_mix(h, word);
    }
    word = 0;
    memcpy(&word, b, n);
    return hash_mix(hash_mix(h, word), n);
}
