/* memory.h - growing arrays, and the index that finds an element by its content.
 *
 * All of report/ takes memory through here. There is one answer to "no memory": the function that
 * report_no_memory points to. The command's writes a line and ends; a server sets one that jumps out.
 *
 * Climate: cli.
 */
#ifndef REPORT_MEMORY_H
#define REPORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern void (*report_no_memory)(void); /* does not return */

/* Never NULL; n_bytes 0 gives one byte. Freed by free(). */
void *report_alloc(size_t n_bytes); /* zeroed */
void *report_resize(void *p, size_t n_bytes);
char *report_copy(const char *text, size_t n_bytes); /* with a NUL behind */

/* Room for one more element in array[n]: use as  *REPORT_PUSH(p->lines, p->n_lines, p->cap_lines) = x;
 * the array is a pointer to elements, n and cap are uint32_t. */
#define REPORT_PUSH(array, n, cap)                                                                 \
    ((array) = report_room((array), (n), &(cap), 1, sizeof *(array)), &(array)[(n)++])
#define REPORT_ROOM(array, n, cap, more)                                                           \
    ((array) = report_room((array), (n), &(cap), (more), sizeof *(array)))
void *report_room(void *array, uint32_t n, uint32_t *cap, uint32_t more, size_t size);

/* An open hash table of numbers. The caller owns what they number, computes the hash and compares:
 *
 *   for (uint32_t *slot = index_first(&ix, hash); ; slot = index_next(&ix, slot)) {
 *       if (*slot == INDEX_FREE) { *slot = new_id; index_added(&ix, hash_of, owner); break; }
 *       if (is_equal(*slot)) break;
 *   }
 */
#define INDEX_FREE UINT32_MAX
struct index {
    uint32_t *slots; /* 2^bits of them, at most half in use */
    uint32_t mask, n;
};

void index_init(struct index *ix);
void index_free(struct index *ix);
/* After a slot was filled: doubles the table when it is half full; hash_of(owner, id) for each id. */
void index_added(struct index *ix, uint64_t (*hash_of)(const void *owner, uint32_t id),
                 const void *owner);

static inline uint64_t hash_mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}
uint64_t hash_bytes(const void *bytes, size_t n);

static inline uint32_t *index_first(const struct index *ix, uint64_t hash) {
    return &ix->slots[(uint32_t)(hash >> 16) & ix->mask];
}
static inline uint32_t *index_next(const struct index *ix, const uint32_t *slot) {
    return &ix->slots[(uint32_t)(slot - ix->slots + 1) & ix->mask];
}

#endif
