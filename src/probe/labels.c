/* labels.c - what a thread is doing, as nested (key, value) pairs.
 *
 * A label is a node: its parent, and one pair. Equal nodes are one, so a thread's labels are one number, and so are a sample's.
 *
 * Climate: host for push and pop; malloc for asking.   Owns: nodes and strings, for good.   Locks: probe.
 */
#include <errno.h>

#include "heap/heap.h"
#include "os/box.h"
#include "probe/cpu.h"
#include "probe/impl.h"
#include "probe/table.h"

#define TEXT_MAX 255 /* bytes of a key or a value; the rest is cut */

static uint64_t hash_node(const struct vt_label *l) {
    uint64_t h = l->parent;
    for (const char *c = l->key; *c != '\0'; c++) h = h * 31 + (unsigned char)*c;
    for (const char *c = l->value; *c != '\0'; c++) h = h * 37 + (unsigned char)*c;
    return vt__mix(h);
}

static struct vt_rows rows = {.row_bytes = sizeof(struct vt_label), .box = VT_BOX_LABELS};
_Static_assert(sizeof(struct vt_label) == sizeof(struct vt_box_label) &&
                   offsetof(struct vt_label, value) == offsetof(struct vt_box_label, value),
               "vitrine-box.h");
static uint64_t hash_of(uint32_t id) { return hash_node(vt__row(&rows, id)); }
static struct vt_index nodes = {.hash_of = hash_of};

static bool is_same(uint32_t id, const void *key) {
    const struct vt_label *a = vt__row(&rows, id), *b = key;
    return a->parent == b->parent && vt__str_equal(a->key, b->key) &&
           vt__str_equal(a->value, b->value);
}

static const char *kept(const char *text) {
    size_t n = vt__str_len(text);
    char *copy = vt__box_take(n + 1, 1);
    if (copy != NULL) __builtin_memcpy(copy, text, n);
    return copy;
}

static uint32_t node_of(const struct vt_label *wanted) {
    uint32_t id = vt__index_find(&nodes, hash_node(wanted), is_same, wanted);
    if (id != 0) return id;
    struct vt_label l = {wanted->parent, kept(wanted->key), kept(wanted->value)};
    if (l.key == NULL || l.value == NULL || (id = vt__row_add(&rows)) == 0) return 0;
    *(struct vt_label *)vt__row(&rows, id) = l;
    return vt__index_add(&nodes, id) ? id : 0;
}

static const char *cut(char *buf, const char *text) {
    size_t n = vt_min(vt__str_len(text), TEXT_MAX);
    __builtin_memcpy(buf, text, n);
    buf[n] = '\0';
    return buf;
}

int vt__label_push(const char *key, const char *value) {
    char key_buf[TEXT_MAX + 1], value_buf[TEXT_MAX + 1];
    uint32_t *label = vt__heap_label();
    if (label == NULL) return -ENOMEM;
    struct vt_label wanted = {*label, cut(key_buf, key), cut(value_buf, value)};
    if (!vt__probe_enter()) return -EAGAIN;
    uint32_t id = node_of(&wanted);
    vt__probe_leave();
    if (id == 0) return -ENOMEM;
    vt__cpu_label_changes(id);
    *label = id;
    return 0;
}

void vt__label_pop(void) {
    uint32_t *label = vt__heap_label();
    if (label == NULL || *label == 0) return;
    if (!vt__probe_enter()) return;
    uint32_t parent = ((const struct vt_label *)vt__row(&rows, *label))->parent;
    vt__probe_leave();
    vt__cpu_label_changes(parent);
    *label = parent;
}

bool vt__label_get(uint32_t label, struct vt_label *out) {
    if (!vt__probe_enter()) return false;
    bool is_there = label != 0 && label <= rows.n;
    if (is_there) *out = *(const struct vt_label *)vt__row(&rows, label);
    vt__probe_leave();
    return is_there;
}

unsigned vt__label_pairs(uint32_t label, const char **keys, const char **values, unsigned max) {
    struct vt_label l;
    unsigned n = 0;
    for (; n < max && vt__label_get(label, &l); label = l.parent, n++) {
        keys[n] = l.key;
        values[n] = l.value;
    }
    return n;
}

uint32_t vt__label_of_thread(void) {
    const uint32_t *label = vt__heap_label();
    return label != NULL ? *label : 0;
}
