/* bomb.c - makes small files that seem to have recorded far more than they have.
 *
 *   bomb FILE core N     a core file that shows one megabyte of rows at N addresses
 *   bomb FILE sparse N   a black box whose table of N rows is a hole
 *   bomb FILE circle     a black box in exact mode whose last table leads to the first
 *   bomb FILE good N     a black box with N rows
 */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vitrine-box.h"

#define MiB ((uint64_t)1 << 20)
#define BASE ((uint64_t)0x100000000)

static void put(int fd, const void *bytes, size_t n, uint64_t at) {
    if (pwrite(fd, bytes, n, (off_t)at) != (ssize_t)n) exit(1);
}

/* n rows of sites, in blocks one after the other from `rows` on. */
static struct vt_box box(uint64_t at, uint64_t rows, uint64_t n) {
    struct vt_box b = {
        .version = VT_BOX_VERSION, .n_bytes = sizeof b, .at = at, .sample_period = 1};
    struct vt_box_rows *sites = &b.table[VT_BOX_SITES];
    uint64_t n_block = VT_BOX_FIRST_ROWS;
    memcpy(b.magic, VT_BOX_MAGIC, sizeof b.magic);
    sites->row_bytes = sizeof(struct vt_box_site);
    sites->n = (uint32_t)n;
    for (int i = 0; i < VT_BOX_BLOCKS; i++, n_block *= 2) {
        sites->block[i] = rows;
        rows += n_block * sizeof(struct vt_box_site);
    }
    return b;
}

static void fill(int fd, uint64_t at, uint64_t n_bytes) {
    double *values = malloc(n_bytes);
    for (uint64_t i = 0; i < n_bytes / sizeof *values; i++) values[i] = 3;
    put(fd, values, n_bytes, at);
    free(values);
}

static void core(int fd, unsigned n) {
    Elf64_Ehdr h = {.e_type = ET_CORE,
                    .e_machine = EM_X86_64,
                    .e_phoff = sizeof h,
                    .e_phentsize = sizeof(Elf64_Phdr),
                    .e_phnum = (Elf64_Half)(n + 1)};
    Elf64_Phdr p = {.p_type = PT_LOAD, .p_offset = 15 * MiB, .p_vaddr = MiB, .p_filesz = 65536};
    struct vt_box b = box(MiB, BASE, n * MiB / sizeof(struct vt_box_site));
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    put(fd, &h, sizeof h, 0);
    put(fd, &p, sizeof p, sizeof h);
    for (unsigned i = 0; i < n; i++) {
        p = (Elf64_Phdr){
            .p_type = PT_LOAD, .p_offset = 16 * MiB, .p_vaddr = BASE + i * MiB, .p_filesz = MiB};
        put(fd, &p, sizeof p, sizeof h + (i + 1) * sizeof p);
    }
    put(fd, &b, sizeof b, 15 * MiB);
    fill(fd, 16 * MiB, MiB);
    if (ftruncate(fd, (off_t)((n + 17) * MiB)) != 0) exit(1); /* the rows could be there */
}

static void black_box(int fd, const char *way, uint64_t n) {
    uint64_t n_bytes = MiB + n * sizeof(struct vt_box_site);
    struct vt_box b = box(BASE, BASE + MiB, n);
    struct vt_box_exact table = {.next = BASE + MiB / 2};
    uint64_t first = BASE + MiB / 2 + MiB / 4;
    b.base = BASE;
    if (strcmp(way, "circle") == 0) {
        n_bytes = (uint64_t)1 << 40;
        b.exact_tables = table.next;
        b.exact_blocks_at = sizeof table;
        b.exact_run = 1;
        put(fd, &table, sizeof table, MiB / 2);
        put(fd, &first, sizeof first, MiB / 2 + sizeof table);
    }
    b.end = BASE + n_bytes;
    put(fd, &b, sizeof b, 0);
    if (ftruncate(fd, (off_t)n_bytes) != 0) exit(1);
    if (strcmp(way, "good") == 0) fill(fd, MiB, n * sizeof(struct vt_box_site));
}

int main(int argc, char **argv) {
    int fd = open(argv[1], O_CREAT | O_TRUNC | O_RDWR, 0644);
    unsigned long n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (strcmp(argv[2], "core") == 0)
        core(fd, (unsigned)n);
    else
        black_box(fd, argv[2], n);
    return close(fd);
}
