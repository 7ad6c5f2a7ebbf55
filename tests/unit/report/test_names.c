/* test_names.c - demangling and short names. */
#include "unit.h"

#include "report/names.h"

TEST(names, short_names_lose_parameters_templates_and_return_types) {
    const struct {
        const char *full, *expected;
    } rows[] = {
        {"main", "main"},
        {"", ""},
        {"app::Keeper::keep(int)", "app::Keeper::keep"},
        {"app::Box<int>::fill(int) const", "app::Box::fill"},
        {"void app::each<std::vector<int, std::allocator<int> > >(int)", "app::each"},
        {"std::map<int, Foo>::operator[](int const&)", "std::map::operator[]"},
        {"Percentile::operator()(int) const", "Percentile::operator()"},
        {"bool operator< <int>(Box<int> const&, Box<int> const&)", "operator<"},
        {"std::ostream& operator<< <char>(std::ostream&, char)", "operator<<"},
        {"Ptr<X>::operator->() const", "Ptr::operator->"},
        {"A::operator+=(int)", "A::operator+="},
        {"A::operator==(A const&) const", "A::operator=="},
        {"operator new(unsigned long)", "operator new"},
        {"operator new[](unsigned long)", "operator new[]"},
        {"operator delete(void*)", "operator delete"},
        {"A::operator bool() const", "A::operator bool"},
        {"(anonymous namespace)::helper(int)", "(anonymous namespace)::helper"},
        {"app::(anonymous namespace)::Cache::get(std::string const&)",
         "app::(anonymous namespace)::Cache::get"},
        {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
        {"run(int)::{lambda()#2}::operator()() const", "run::{lambda()#2}::operator()"},
        {"std::function<void (int)>::operator()(int) const", "std::function::operator()"},
        {"void (*pick<int>(int))(char)", "void (*pick<int>(int))(char)"},
        {"foo(int) [clone .isra.0]", "foo"},
        {"foo[abi:cxx11](int)", "foo"},
        {"A::~A()", "A::~A"},
        {"app::each(void (*)(int), int)", "app::each"},
        {"a name with blanks", "a name with blanks"},
        {"net/http.(*conn).serve", "net/http.(*conn).serve"},
        {"core::fmt::write", "core::fmt::write"},
        {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
         "<alloc::vec::Vec<T> as core::ops::Drop>::drop"},
        {"unclosed<int", "unclosed"},
        {"f(((", "f"},
        {"libc.so.6+0x26000", "libc.so.6+0x26000"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char out[200];
        (void)name_shorten(rows[i].full, out, sizeof out);
        if (strcmp(out, rows[i].expected) != 0)
            fail_msg("%s: expected '%s', seen '%s'", rows[i].full, rows[i].expected, out);
    }
}

TEST(names, a_name_that_does_not_fit_is_cut) {
    char out[6];
    assert_string_equal(name_shorten("abcdefghijk(int)", out, sizeof out), "abcde");
    assert_string_equal(name_shorten("(((((((((((((((", out, sizeof out), "(((((");
}

TEST(names, mangled_names_become_readable_and_others_are_left) {
    const struct {
        const char *mangled, *expected;
    } rows[] = {
        {"_ZN3app6Keeper4keepEi", "app::Keeper::keep(int)"},
        {"_ZNK3BoxIiE4fillEi", "Box<int>::fill(int) const"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"main", NULL},
        {"_start", NULL},
        {"_Z", NULL},
        {"_ZN3app6Keep", NULL},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *out = name_demangle(rows[i].mangled);
        if (rows[i].expected == NULL)
            assert_null(out);
        else if (out == NULL || strcmp(out, rows[i].expected) != 0)
            fail_msg("%s: expected '%s', seen '%s'", rows[i].mangled, rows[i].expected,
                     out ? out : "(null)");
        free(out);
    }
}

/* Each parameter is the pair of the one before, twice: 2^n characters. */
static char *doubled(unsigned n, char *out, size_t n_bytes) {
    int at = snprintf(out, n_bytes, "_Z1f1pI1aS0_E");
    for (unsigned i = 1; i < n; i++) {
        char c = (char)(i < 10 ? '0' + i : 'A' + i - 10);
        at += snprintf(out + at, n_bytes - (size_t)at, "S_IS%c_S%c_E", c, c);
    }
    return out;
}

TEST(names, a_name_that_doubles_itself_stays_mangled) {
    char name[512];
    char *out = name_demangle(doubled(3, name, sizeof name));
    assert_string_equal(
        out, "f(p<a, a>, p<p<a, a>, p<a, a> >, p<p<p<a, a>, p<a, a> >, p<p<a, a>, p<a, a> > >)");
    free(out);
    assert_null(name_demangle(doubled(16, name, sizeof name)));
    assert_null(name_demangle(doubled(34, name, sizeof name)));
}

UNIT_MAIN()
