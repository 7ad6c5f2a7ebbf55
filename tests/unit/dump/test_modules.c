/* test_modules.c - the table of modules against what the dynamic linker says, with /proc and without. */
#include "source.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

static int own_function(void) { return 1; }

/* The build id of the object at `bias`, by the section headers' view of it: the linker keeps the note loaded. */
struct wanted {
    uintptr_t bias;
    const unsigned char *id;
    size_t n_bytes;
};

static int find_note(struct dl_phdr_info *info, size_t size, void *arg) {
    struct wanted *w = arg;
    (void)size;
    if (info->dlpi_addr != w->bias) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type != PT_NOTE) continue;
        const char *notes = (const char *)info->dlpi_addr + h->p_vaddr;
        const char *at =
            memmem(notes, h->p_memsz, "\x14\0\0\0\3\0\0\0GNU", 12); /* 20 bytes, type 3 */
        if (at == NULL) continue;
        w->id = (const unsigned char *)at + 12;
        w->n_bytes = 20;
    }
    return 1;
}

/* The base the dynamic linker added to the ELF addresses of the object that holds `p`. */
static uintptr_t bias_of(const void *p) {
    Dl_info info;
    struct link_map *map = NULL;
    assert_int_not_equal(dladdr1(p, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
    return map->l_addr;
}

static const struct vt_module *assert_module(const struct vt_modules *m, uintptr_t address,
                                             const char *name) {
    const struct vt_module *found = vt__modules_find(m, address);
    assert_non_null(found);
    assert_true(found->start <= address && address < found->end);
    char path[4096];
    snprintf(path, sizeof(path), "%.*s", (int)found->n_path, found->path);
    assert_true_msg(strstr(path, name) != NULL, "expected a path with '%s', seen '%s'", name, path);
    uintptr_t bias = bias_of((void *)address);
    assert_int_equal(address - found->start + found->file_offset + found->elf_delta,
                     address - bias);
    return found;
}

static void compare_with_linker(const char *program) {
    struct vt_modules m;
    vt__modules_read(&m);
    const struct vt_module *own = assert_module(&m, (uintptr_t)own_function, program);
    assert_ptr_equal(own, &m.module[m.main]);
    const struct vt_module *libc =
        assert_module(&m, (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), "libc.so");
    struct wanted w = {.bias = bias_of((void *)libc->start)};
    dl_iterate_phdr(find_note, &w);
    assert_int_equal(w.n_bytes, 20); /* Debian's have one */
    assert_int_equal(libc->n_build_id, 20);
    assert_memory_equal(libc->build_id, w.id, 20);
    for (size_t i = 1; i < m.n; i++) assert_true(m.module[i - 1].end <= m.module[i].start);
    assert_null(vt__modules_find(&m, 0));
    assert_null(vt__modules_find(&m, 1));
    assert_null(vt__modules_find(&m, UINTPTR_MAX));
    assert_null(vt__modules_find(&m, (uintptr_t)&m)); /* not executable */
    vt__modules_free(&m);
    assert_null(vt__modules_find(&m, (uintptr_t)own_function));
}

TEST(modules, with_proc) {
    char program[4096] = "";
    assert_true(readlink("/proc/self/exe", program, sizeof(program) - 1) > 0);
    compare_with_linker(program);
}

TEST_WITH(modules, without_proc, "VITRINE_FAIL_ALWAYS=proc") {
    compare_with_linker((const char *)getauxval(AT_EXECFN)); /* all that is known of its name */
}

TEST(modules, a_main_thread_that_has_ended_is_no_obstacle) {
    /* /proc/self/maps of such a process is empty */
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t id;
        void *outlive(void *);
        pthread_create(&id, NULL, outlive, NULL);
        pthread_exit(NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

void *outlive(void *arg);
void *outlive(void *arg) {
    struct vt_modules m;
    char text[16];
    for (int fd;; usleep(1000)) { /* until the main thread is gone */
        fd = open("/proc/self/maps", O_RDONLY);
        ssize_t n = read(fd, text, sizeof(text));
        close(fd);
        if (n <= 0) break;
    }
    vt__modules_read(&m);
    if (memmem(m.maps, m.n_maps_bytes, "[vdso]", 6) == NULL)
        _exit(2); /* the linker's list has another name for it */
    _exit(vt__modules_find(&m, (uintptr_t)own_function) != NULL ? 0 : 1);
    return arg;
}

/* ---- many mappings, odd names ---- */

TEST(modules, thousands_of_mappings_and_a_deleted_file) {
    enum { N = 5000 };
    char name[] = "/tmp/vt modules;XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    assert_int_equal(unlink(name), 0);
    char *first = mmap(NULL, 2 * N * 4096ul, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < N; i++)
        assert_ptr_not_equal(
            mmap(first + 2 * i * 4096, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0),
            MAP_FAILED);
    struct vt_modules m;
    vt__modules_read(&m);
    assert_true(m.n >= N);
    assert_true(m.n_maps_bytes > KiB(256)); /* more than one try to read them */
    for (size_t i = 0; i < N; i++) {
        const struct vt_module *found = vt__modules_find(&m, (uintptr_t)first + 2 * i * 4096 + 5);
        assert_non_null(found);
        assert_int_equal(found->start, (uintptr_t)first + 2 * i * 4096);
        assert_int_equal(found->n_path, strlen(name)); /* without " (deleted)" */
        assert_memory_equal(found->path, name, strlen(name));
        assert_int_equal(found->n_build_id, 0); /* it is no ELF file */
        assert_null(vt__modules_find(&m, (uintptr_t)first + (2 * i + 1) * 4096));
    }
    vt__modules_free(&m);
}

/* ---- damaged ELF images: mapped executable, from a file we make ---- */

static void look_at_image(const void *bytes, size_t n_bytes) {
    int fd = memfd_create("image", 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_int_equal(pwrite(fd, bytes, n_bytes, 0), n_bytes);
    char *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    struct vt_modules m;
    vt__modules_read(&m);
    const struct vt_module *found = vt__modules_find(&m, (uintptr_t)at);
    assert_non_null(found);
    assert_int_equal(found->n_build_id, 0);
    vt__modules_free(&m);
    munmap(at, 4096);
    close(fd);
}

TEST(modules, damaged_elf_headers_are_harmless) {
    struct {
        ElfW(Ehdr) file;
        ElfW(Phdr) header[2];
        uint32_t note[8];
    } good = {.file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                       .e_phoff = sizeof(ElfW(Ehdr)),
                       .e_phentsize = sizeof(ElfW(Phdr)),
                       .e_phnum = 2},
              .header = {{.p_type = PT_LOAD, .p_filesz = 4096, .p_memsz = 4096},
                         {.p_type = PT_NOTE,
                          .p_vaddr = offsetof(__typeof__(good), note),
                          .p_memsz = 32}}},
      bad;
    uint64_t seed = 42;
    bad = good, bad.header[1].p_vaddr = UINTPTR_MAX - 5;
    look_at_image(&bad, sizeof(bad));
    bad = good, bad.file.e_phoff = UINT64_MAX - 100;
    look_at_image(&bad, sizeof(bad));
    bad = good, bad.file.e_phnum = 65535;
    look_at_image(&bad, sizeof(bad));
    bad = good, bad.note[0] = 4, bad.note[1] = UINT32_MAX,
    bad.note[2] = 3; /* a build id without an end */
    memcpy(&bad.note[3], "GNU", 4);
    look_at_image(&bad, sizeof(bad));
    bad = good, bad.note[0] = UINT32_MAX, bad.note[1] = UINT32_MAX, bad.note[2] = 3;
    look_at_image(&bad, sizeof(bad));
    for (int i = 0; i < 200; i++) { /* bytes behind the magic number at random */
        bad = good;
        for (int k = 0; k < 6; k++)
            ((unsigned char *)&bad)[5 + unit_random(&seed) % (sizeof(bad) - 5)] =
                (unsigned char)unit_random(&seed);
        look_at_image(&bad, sizeof(bad));
    }
}

/* ---- the text section ---- */

static char *maps_section(void) {
    size_t n;
    struct rows none = {NULL, 0, 0};
    struct vt_heap_source src = source_of(&none, VT_HEAP_EXACT, 1);
    char *text = written(VT_GPERFTOOLS_HEAP, &src, &n);
    char *section = strstr(text, "\nMAPPED_LIBRARIES:\n");
    assert_non_null(section);
    return section + strlen("\nMAPPED_LIBRARIES:\n");
}

TEST(modules, the_section_is_the_text_of_proc_maps) {
    static char maps[1 << 20];
    const char *section = maps_section();
    FILE *f = fopen("/proc/self/maps", "r");
    size_t n = fread(maps, 1, sizeof(maps) - 1, f);
    fclose(f);
    maps[n] = '\0';
    *strchr(maps, '\n') = '\0'; /* the program's first mapping: nothing changes there */
    assert_non_null(strstr(section, maps));
    assert_non_null(strstr(section, "libc.so"));
    assert_null(strstr(section, "# no "));
    const char *ids = strchr(section, '#'); /* behind the maps, and nothing behind them */
    assert_non_null(ids);
    assert_true(strncmp(ids, "# build-id ", 11) == 0);
    assert_null(strstr(ids, " r-xp "));
}

TEST_WITH(modules, without_proc_the_section_says_so_and_lists_the_modules,
          "VITRINE_FAIL_ALWAYS=proc") {
    const char *section = maps_section();
    char line[256];
    assert_true(strncmp(section, "# no /proc/self/maps", 20) == 0);
    assert_non_null(strstr(section, "libc.so"));
    unsigned long start, end, offset, inode;
    char perms[8], device[16], path[4096];
    unsigned n_executable = 0;
    for (const char *s = strchr(section, '\n') + 1; *s != '\0'; s = strchr(s, '\n') + 1) {
        if (strncmp(s, "# build-id ", 11) == 0) continue;
        snprintf(line, sizeof(line), "%.*s", (int)(strchr(s, '\n') - s), s);
        assert_int_equal(sscanf(line, "%lx-%lx %7s %lx %15s %lu %4095s", &start, &end, perms,
                                &offset, device, &inode, path),
                         7);
        assert_true(start < end);
        bool is_own = (uintptr_t)own_function >= start && (uintptr_t)own_function < end;
        if (is_own) assert_string_equal(perms, "r-xp");
        n_executable += perms[2] == 'x';
    }
    assert_true(n_executable >= 3);
}

UNIT_MAIN()
