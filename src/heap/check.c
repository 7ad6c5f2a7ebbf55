/* check.c - the user's heap is damaged: one line that says what, where and how large, then abort.
 *
 * Climate: malloc.   Owns: nothing.   Callers: the heap, when a check failed. None of these return.
 */
#include "base/text.h"
#include "heap/impl.h"
#include "heap/link.h"
#include "os/os.h"

struct report {
    char line[256];
    struct vt_text text;
};

static void begin(struct report *r, const char *what, const void *p) {
    r->text = (struct vt_text){r->line, sizeof(r->line) - 1, 0, false, NULL, NULL};
    vt__text_put(&r->text, "vitrine: error: ");
    vt__text_put(&r->text, what);
    vt__text_put(&r->text, " ");
    vt__text_hex(&r->text, (uintptr_t)p);
    vt__text_put(&r->text, ": ");
}

static void put_size(struct report *r, size_t n_bytes, const char *behind) {
    vt__text_uint(&r->text, n_bytes);
    vt__text_put(&r->text, behind);
}

static void put_block(struct report *r, size_t block_bytes) {
    if (block_bytes > VT_MEDIUM_MAX) {
        put_size(r, block_bytes, " bytes (large)");
        return;
    }
    put_size(r, block_bytes, " bytes (class ");
    put_size(r, vt__class_of(block_bytes), ")");
}

VT_NORETURN static void end(struct report *r) {
    r->line[r->text.len++] = '\n';
    vt__os_write(2, r->line, r->text.len);
    vt__os_abort();
}

void vt__already_free(const void *p, size_t block_bytes) {
    struct report r;
    begin(&r, "double free of", p);
    vt__text_put(&r.text, "block of ");
    put_block(&r, block_bytes);
    vt__text_put(&r.text, " is already free");
    end(&r);
}

void vt__double_free(const void *p, const struct slab *head) {
    vt__already_free(p, vt__classes[head->cls].block_bytes);
}

void vt__double_free_near(const void *p, const struct slab *head) {
    struct report r;
    begin(&r, "double free near", p);
    vt__text_put(&r.text, "a block of ");
    put_block(&r, vt__classes[head->cls].block_bytes);
    vt__text_put(&r.text, " in this slab was freed again when malloc was about to use it");
    end(&r);
}

void vt__no_block(const void *p) {
    struct report r;
    begin(&r, "double free of", p);
    vt__text_put(&r.text, "no block is there, it was freed or never allocated");
    end(&r);
}

/* The large block that p points into, if any: its first slice is the nearest one below that has an owner. */
static const struct slab *large_around(slab_id i) {
    const struct slab *s = vt__slab(i);
    for (slab_id back = 0; back < i; back++)
        if (atomic_load_explicit(&s[-(long)back].owner, memory_order_relaxed) != VT_OWNER_NONE) {
            s -= back;
            bool is_inside =
                atomic_load_explicit(&s->owner, memory_order_relaxed) == VT_OWNER_LARGE &&
                back < s->run_slices;
            return is_inside ? s : NULL;
        }
    return NULL;
}

void vt__not_a_start(const void *p, size_t inside, size_t block_bytes) {
    struct report r;
    begin(&r, "free of", p);
    vt__text_put(&r.text, "not the start of a block: ");
    put_size(&r, inside, " bytes inside a block of ");
    put_block(&r, block_bytes);
    end(&r);
}

void vt__bad_free(const void *p) {
    slab_id i = vt__slice_of(p);
    const struct slab *s = vt__slab(i);
    uintptr_t owner = atomic_load_explicit(&s->owner, memory_order_relaxed);
    const struct slab *large = owner == VT_OWNER_LARGE  ? s
                               : owner == VT_OWNER_NONE ? large_around(i)
                                                        : NULL;
    if (large != NULL)
        vt__not_a_start(p, (uintptr_t)p - vt__slice_address(vt__slab_id(large)),
                        vt__large_usable(large));
    if (owner == VT_OWNER_NONE) vt__no_block(p);
    const struct slab *head = (owner & VT_OWNER_INNER) != 0 ? s - s->delta : s;
    size_t block_bytes = vt__classes[head->cls].block_bytes;
    size_t inside = ((uintptr_t)p - vt__slice_address(vt__slab_id(head))) % block_bytes;
    if (inside != 0) vt__not_a_start(p, inside, block_bytes);
    vt__double_free(p, head);
}

/* The link of b is not one of the list that led there. Is it a sound one, but of another list? */
static bool is_in_another_list(const struct block *b) {
    uintptr_t next = (b->link ^ (uintptr_t)b ^ vt__map.key) & VT_ADDRESS_MASK;
    return next == 0 || vt__is_in_window((const void *)next);
}

void vt__bad_link(const struct block *b, unsigned cls) {
    struct report r;
    /* medium ones are on no shelf, only in magazines, and of these their links tell nothing */
    if (cls < VT_N_SMALL && is_in_another_list(b)) vt__already_free(b, vt__class_bytes(cls));
    begin(&r, "free list corrupted at", b);
    vt__text_put(&r.text, "a freed block of ");
    put_size(&r, vt__class_bytes(cls), " bytes (class ");
    put_size(&r, cls, ") was written to");
    end(&r);
}

void vt__bad_kind(const void *p, size_t usable, enum vt_made_by made, enum vt_made_by freed) {
    static const char *const makers[] = {"malloc", "new", "new[]"};
    static const char *const freers[] = {"free", "delete", "delete[]"};
    struct report r;
    begin(&r, "mismatched free of", p);
    vt__text_put(&r.text, "block of ");
    put_block(&r, usable);
    vt__text_put(&r.text, " was made by ");
    vt__text_put(&r.text, makers[made]);
    vt__text_put(&r.text, ", expected ");
    vt__text_put(&r.text, freers[made]);
    vt__text_put(&r.text, ", found ");
    vt__text_put(&r.text, freers[freed]);
    end(&r);
}

void vt__bad_size(const void *p, size_t n_bytes, size_t usable) {
    struct report r;
    begin(&r, "sized delete of", p);
    put_size(&r, n_bytes, " bytes given, but the block has ");
    put_size(&r, usable, " bytes");
    if (usable <= VT_MEDIUM_MAX) {
        vt__text_put(&r.text, " (class ");
        put_size(&r, vt__class_of(usable), ")");
    }
    end(&r);
}

#ifdef VT_WITH_AUDIT
void vt__assert_failed(const char *what, const char *file, int line) {
    struct report r;
    r.text = (struct vt_text){r.line, sizeof(r.line) - 1, 0, false, NULL, NULL};
    vt__text_put(&r.text, "vitrine: error: audit failed: ");
    vt__text_put(&r.text, what);
    vt__text_put(&r.text, " at ");
    vt__text_put(&r.text, file);
    vt__text_char(&r.text, ':');
    put_size(&r, (size_t)line, "");
    end(&r);
}
#endif
