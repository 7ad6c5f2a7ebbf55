/* test_elf_symbol.c - one symbol in files and in this very process. */
#include "unit.h"

#include "report/elf_symbol.h"

extern int vt_unit_landmark;
int vt_unit_landmark = 4711;

static struct elf_symbol in_this_program(const char *name) {
    return elf_symbol_find("/proc/self/exe", name);
}

TEST(elf_symbol, a_variable_is_found_where_the_process_has_it) {
    struct symbol_cache cache = {0};
    uint64_t address = 0;
    assert_int_equal(process_symbol_find(&cache, getpid(), "vt_unit_landmark", &address), 0);
    assert_true(address == (uintptr_t)&vt_unit_landmark);
    uint32_t n_files = cache.n_files;
    address = 0;
    assert_int_equal(process_symbol_find(&cache, getpid(), "vt_unit_landmark", &address), 0);
    assert_true(address == (uintptr_t)&vt_unit_landmark);
    assert_int_equal(cache.n_files, n_files); /* no file is read twice */
    symbol_cache_free(&cache);
}

TEST(elf_symbol, a_variable_of_a_library_is_found_by_its_dynamic_symbols) {
    struct symbol_cache cache = {0};
    uint64_t address = 0;
    assert_int_equal(process_symbol_find(&cache, getpid(), "daylight", &address), 0);
    assert_true(address != 0);
    symbol_cache_free(&cache);
}

TEST(elf_symbol, what_is_not_there_is_not_found) {
    struct symbol_cache cache = {0};
    uint64_t address = 0;
    assert_true(in_this_program("vt_unit_landmark").is_found);
    assert_false(in_this_program("vt_unit_landmar").is_found); /* a name begins with it */
    assert_false(in_this_program("unit_landmark").is_found);   /* a name ends with it */
    assert_int_equal(process_symbol_find(&cache, getpid(), "no such name", &address), -ENOENT);
    assert_true(cache.n_files > 1);
    symbol_cache_free(&cache);
}

TEST(elf_symbol, what_is_no_elf_file_has_none) {
    static const char *const paths[] = {"/proc/self/maps", "/dev/null", "/", "/no/such/file"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_false(elf_symbol_find(paths[i], "malloc").is_found);
}

/* A file cut off anywhere, or with any of its bytes changed: no symbol, or some symbol, but nothing worse. */
TEST(elf_symbol, damaged_files_do_no_harm) {
    char path[] = "/tmp/vt-unit.XXXXXX";
    static char data[1 << 22];
    int fd = mkstemp(path), self = open("/proc/self/exe", O_RDONLY);
    assert_true(fd >= 0 && self >= 0);
    size_t n = (size_t)read(self, data, sizeof data);
    uint64_t random = 1;
    for (int round = 0; round < 60; round++) {
        size_t cut = unit_random(&random) % n;
        size_t at = unit_random(&random) % (round % 2 ? 1024 : n);
        char old = data[at];
        data[at] = (char)unit_random(&random);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, data, round % 3 ? n : cut, 0), round % 3 ? n : cut);
        (void)elf_symbol_find(path, "vt_unit_landmark");
        data[at] = old;
    }
    unlink(path);
}

TEST(elf_symbol, a_process_that_is_not_there_is_an_error) {
    struct symbol_cache cache = {0};
    uint64_t address;
    assert_int_equal(process_symbol_find(&cache, 99999999, "malloc", &address), -ENOENT);
    symbol_cache_free(&cache);
}

UNIT_MAIN()
