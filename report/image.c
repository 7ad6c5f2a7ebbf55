/* image.c - see image.h. Climate: cli. */
#include "report/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SEGMENTS (1u << 20)
#define MAX_FILES (1u << 20)
#define MAX_NOTE_BYTES (1u << 28)
#define SCAN_BYTES ((uint64_t)1 << 20)

/* ---- the file */

static bool read_file(const struct image *m, uint64_t offset, void *out, uint64_t n_bytes) {
    char *to = out;
    if (offset > m->n_bytes || n_bytes > m->n_bytes - offset) return false;
    while (n_bytes > 0) {
        ssize_t n = pread(m->fd, to, (size_t)n_bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        to += n, offset += (uint64_t)n, n_bytes -= (uint64_t)n;
    }
    return true;
}

static int open_file(struct image *m, int folder, int flags, struct report_error *e) {
    struct stat st;
    m->fd = openat(folder, m->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (m->fd < 0 || fstat(m->fd, &st) != 0)
        return report_fail(e, errno, "cannot read '%s': %s", m->name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return report_fail(e, EINVAL, "cannot read '%s': not a regular file", m->name);
    m->n_bytes = (uint64_t)st.st_size;
    return 0;
}

/* ---- core files */

static void add_segment(struct image *m, uint64_t start, uint64_t offset, uint64_t n_bytes) {
    if (offset >= m->n_bytes) return; /* the file was cut */
    if (n_bytes > m->n_bytes - offset) n_bytes = m->n_bytes - offset;
    if (n_bytes == 0 || start + n_bytes < start) return;
    *REPORT_PUSH(m->segments, m->n_segments, m->cap_segments) =
        (struct image_segment){start, start + n_bytes, offset};
}

static uint64_t word_at(const unsigned char *p) {
    uint64_t n;
    memcpy(&n, p, sizeof n);
    return n;
}

/* NT_FILE: how many, the size of a page, then start, end and page of the file for each, then the names. */
static void read_file_note(struct image *m, const unsigned char *at, uint64_t n_bytes) {
    if (n_bytes < 16) return;
    uint64_t n = word_at(at), page = word_at(at + 8);
    if (n > MAX_FILES || n > (n_bytes - 16) / 24) return;
    const char *name = (const char *)at + 16 + n * 24, *end = (const char *)at + n_bytes;
    for (uint64_t i = 0; i < n && name < end; i++) {
        const char *nul = memchr(name, '\0', (size_t)(end - name));
        const unsigned char *row = at + 16 + i * 24;
        if (nul == NULL) return;
        *REPORT_PUSH(m->files, m->n_files, m->cap_files) =
            (struct image_file){word_at(row), word_at(row + 8), word_at(row + 16) * page, name};
        name = nul + 1;
    }
}

static void read_process_note(struct image *m, const unsigned char *at, uint64_t n_bytes) {
    struct elf_prpsinfo process;
    if (n_bytes < sizeof process) return;
    memcpy(&process, at, sizeof process);
    m->pid = (uint32_t)process.pr_pid;
}

/* A core file has one such segment. */
static void read_notes(struct image *m, uint64_t offset, uint64_t n_bytes) {
    if (m->notes != NULL || n_bytes > MAX_NOTE_BYTES || n_bytes > m->n_bytes) return;
    const unsigned char *at = m->notes = report_alloc(n_bytes);
    if (!read_file(m, offset, m->notes, n_bytes)) return;
    while (n_bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, at, sizeof h);
        uint64_t name = ((uint64_t)h.n_namesz + 3) & ~(uint64_t)3;
        uint64_t data = ((uint64_t)h.n_descsz + 3) & ~(uint64_t)3;
        if (sizeof h + name + data > n_bytes) return;
        if (h.n_type == NT_PRSTATUS && h.n_descsz >= sizeof m->signal && m->signal == 0)
            memcpy(&m->signal, at + sizeof h + name, sizeof m->signal); /* si_signo comes first */
        if (h.n_type == NT_PRPSINFO) read_process_note(m, at + sizeof h + name, h.n_descsz);
        if (h.n_type == NT_FILE) read_file_note(m, at + sizeof h + name, h.n_descsz);
        at += sizeof h + name + data;
        n_bytes -= sizeof h + name + data;
    }
}

static int by_address(const void *a, const void *b) {
    const struct image_segment *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Above 65534 segments the number is in the first section. */
static uint64_t n_headers(const struct image *m, const Elf64_Ehdr *h) {
    Elf64_Shdr first;
    if (h->e_phnum != PN_XNUM || !read_file(m, h->e_shoff, &first, sizeof first)) return h->e_phnum;
    return first.sh_info;
}

static int by_offset(const void *a, const void *b) {
    const struct image_segment *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* How many bytes the segments show that another one shows already. */
static uint64_t shown_again(const struct image *m) {
    uint64_t n_again = 0, end = 0;
    struct image_segment *all = report_alloc(m->n_segments * sizeof *all);
    if (m->n_segments > 0) memcpy(all, m->segments, m->n_segments * sizeof *all);
    if (m->n_segments > 0) qsort(all, m->n_segments, sizeof *all, by_offset);
    for (uint32_t i = 0; i < m->n_segments; i++) {
        uint64_t limit = all[i].offset + (all[i].end - all[i].start);
        if (all[i].offset < end) n_again += (limit < end ? limit : end) - all[i].offset;
        if (limit > end) end = limit;
    }
    free(all);
    return n_again;
}

/* No kernel writes one piece of the file at two addresses. A megabyte could be the memory of a million. */
static int check_segments(const struct image *m, struct report_error *e) {
    uint64_t n_again = shown_again(m);
    if (n_again <= m->max_bytes) return 0;
    return report_fail(e, EFBIG,
                       "'%s': its segments show %llu bytes more than once; --limit=SIZE reads more",
                       m->name, (unsigned long long)n_again);
}

static int read_core(struct image *m, struct report_error *e) {
    Elf64_Ehdr h;
    Elf64_Phdr p;
    if (!read_file(m, 0, &h, sizeof h) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_type != ET_CORE || h.e_phentsize != sizeof p)
        return report_fail(e, EINVAL, "'%s' is no core file of a 64-bit program", m->name);
    uint64_t n = n_headers(m, &h);
    m->is_core = true;
    for (uint64_t i = 0; i < n && i < MAX_SEGMENTS; i++) {
        if (!read_file(m, h.e_phoff + i * sizeof p, &p, sizeof p))
            return report_fail(e, EINVAL, "'%s' is truncated: its headers are not all there",
                               m->name);
        if (p.p_type == PT_LOAD) add_segment(m, p.p_vaddr, p.p_offset, p.p_filesz);
        if (p.p_type == PT_NOTE) read_notes(m, p.p_offset, p.p_filesz);
    }
    if (m->n_segments > 0) qsort(m->segments, m->n_segments, sizeof *m->segments, by_address);
    return check_segments(m, e);
}

/* ---- black boxes */

static int read_box(struct image *m, struct report_error *e) {
    struct vt_box b;
    if (m->n_bytes < sizeof b)
        return report_fail(e, EINVAL, "'%s' is truncated: it has %llu bytes, and its head has %zu",
                           m->name, (unsigned long long)m->n_bytes, sizeof b);
    if (!read_file(m, 0, &b, sizeof b) || b.end < b.base || b.end - b.base < sizeof b ||
        b.at != b.base)
        return report_fail(e, EINVAL, "'%s' is damaged: its addresses make no sense", m->name);
    uint64_t n_bytes = b.end - b.base;
    add_segment(m, b.base, 0, n_bytes);
    if (m->n_bytes < n_bytes)
        return report_fail(e, EINVAL, "'%s' is truncated: it has %llu of %llu bytes", m->name,
                           (unsigned long long)m->n_bytes, (unsigned long long)n_bytes);
    return 0;
}

/* ---- exported */

static int open_image(struct image *m, int folder, int flags, const char *name, uint64_t max_bytes,
                      struct report_error *e) {
    char magic[16] = "";
    *m = (struct image){.name = name, .max_bytes = max_bytes};
    int error = open_file(m, folder, flags, e);
    if (error == 0 && m->n_bytes >= sizeof magic) (void)read_file(m, 0, magic, sizeof magic);
    if (error != 0)
        ;
    else if (memcmp(magic, ELFMAG, SELFMAG) == 0)
        error = read_core(m, e);
    else if (memcmp(magic, VT_BOX_MAGIC, sizeof magic) == 0)
        error = read_box(m, e);
    else
        error = report_fail(e, EINVAL, "'%s' is neither a black box nor a core file", name);
    if (error != 0) image_close(m);
    return error;
}

int image_open(struct image *m, const char *name, uint64_t max_bytes, struct report_error *e) {
    return open_image(m, AT_FDCWD, 0, name, max_bytes, e);
}

int image_open_at(struct image *m, int folder, const char *name, uint64_t max_bytes,
                  struct report_error *e) {
    return open_image(m, folder, O_NOFOLLOW, name, max_bytes, e);
}

void image_close(struct image *m) {
    if (m->fd >= 0) (void)close(m->fd);
    free(m->segments);
    free(m->files);
    free(m->notes);
    *m = (struct image){.fd = -1};
}

/* The last that begins at or before the address; NULL: none. */
static const struct image_segment *segment_of(const struct image *m, uint64_t address) {
    uint32_t low = 0, high = m->n_segments;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->segments[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct image_segment *s = low > 0 ? &m->segments[low - 1] : NULL;
    return s != NULL && address < s->end ? s : NULL;
}

bool image_read(const struct image *m, uint64_t address, void *out, uint64_t n_bytes) {
    unsigned char *to = out;
    while (n_bytes > 0) {
        const struct image_segment *s = segment_of(m, address);
        if (s == NULL) return false;
        uint64_t n = s->end - address < n_bytes ? s->end - address : n_bytes;
        if (!read_file(m, s->offset + (address - s->start), to, n)) return false;
        to += n, address += n, n_bytes -= n;
    }
    return true;
}

bool image_text(const struct image *m, uint64_t address, char *out, uint64_t n_bytes) {
    const struct image_segment *s = segment_of(m, address);
    if (s == NULL || n_bytes == 0) return false;
    if (n_bytes > s->end - address) n_bytes = s->end - address;
    return image_read(m, address, out, n_bytes) && memchr(out, '\0', (size_t)n_bytes) != NULL;
}

static int check_head(const struct image *m, const struct vt_box *b, struct report_error *e) {
    if (b->version != VT_BOX_VERSION || b->n_bytes != sizeof *b)
        return report_fail(e, EINVAL, "'%s' is of another version of the library than this command",
                           m->name);
    return 0;
}

/* A box knows its own address: a copy of it, as in the memory of a program that read one, does not count. */
static bool find_in_piece(const struct image *m, const unsigned char *piece, uint64_t start,
                          uint64_t n_bytes, struct vt_box *out) {
    for (uint64_t i = 0; i + sizeof out->magic <= n_bytes; i += VT_BOX_ALIGN) {
        if (piece[i] != VT_BOX_MAGIC[0]) continue;
        if (memcmp(piece + i, VT_BOX_MAGIC, sizeof out->magic) != 0) continue;
        if (image_read(m, start + i, out, sizeof *out) && out->at == start + i) return true;
    }
    return false;
}

static bool find_in(const struct image *m, const struct image_segment *s, unsigned char *piece,
                    struct vt_box *out) {
    uint64_t at = (s->start + VT_BOX_ALIGN - 1) & ~(uint64_t)(VT_BOX_ALIGN - 1);
    for (; at < s->end; at += SCAN_BYTES) {
        uint64_t n = s->end - at < SCAN_BYTES ? s->end - at : SCAN_BYTES;
        if (!image_read(m, at, piece, n)) return false;
        if (find_in_piece(m, piece, at, n, out)) return true;
    }
    return false;
}

/* gcore has the mapped file, too. */
static void follow(const struct image *m, struct vt_box *b) {
    struct vt_box mapped;
    if (image_read(m, b->base, &mapped, sizeof mapped) && mapped.at == b->base &&
        memcmp(mapped.magic, VT_BOX_MAGIC, sizeof mapped.magic) == 0)
        *b = mapped;
}

int image_find_box(const struct image *m, struct vt_box *out, struct report_error *e) {
    if (!m->is_core) {
        if (!read_file(m, 0, out, sizeof *out)) memset(out, 0, sizeof *out);
        return check_head(m, out, e);
    }
    bool is_found = false;
    unsigned char *piece = report_alloc(SCAN_BYTES);
    for (uint32_t i = 0; i < m->n_segments && !is_found; i++)
        is_found = find_in(m, &m->segments[i], piece, out);
    free(piece);
    if (is_found && out->state == VT_BOX_MOVED) follow(m, out);
    if (!is_found)
        return report_fail(e, ENOENT,
                           "'%s' has nothing recorded by vitrine: the program ran without the "
                           "library, or had no sample yet",
                           m->name);
    out->pid = m->pid;
    return check_head(m, out, e);
}

/* A later process may have a file of the same name. The child of a fork has its parent's start. */
static bool is_box_of(const struct vt_box *b, const struct image *core,
                      const struct vt_box *moved) {
    return b->start_ns == moved->start_ns && (core->pid == 0 || b->pid == core->pid);
}

int image_open_moved(const struct image *core, const struct vt_box *moved, char path[IMAGE_PATH],
                     struct image *m, struct vt_box *out, struct report_error *e) {
    struct report_error why;
    if (!image_text(core, moved->file, path, IMAGE_PATH))
        return report_fail(
            e, ENOENT, "'%s': what was recorded is in a black box whose name is lost", core->name);
    int error = image_open(m, path, core->max_bytes, &why);
    if (error == -ENOENT)
        return report_fail(e, ENOENT,
                           "'%s': what was recorded was in the black box '%s', which is gone",
                           core->name, path);
    if (error != 0)
        return report_fail(e, -error, "'%s': what was recorded is in a black box: %s", core->name,
                           why.line);
    error = image_find_box(m, out, e);
    if (error == 0 && !is_box_of(out, core, moved))
        error = report_fail(e, ENOENT,
                            "'%s': what was recorded was in the black box '%s', which is another "
                            "process's now",
                            core->name, path);
    m->signal = core->signal;
    if (error != 0) image_close(m);
    return error;
}
