/* names.h - function names as people read them. Climate: cli. */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* C++ or Rust: begins like a name that the linker made. */
bool name_is_mangled(const char *name);
/* With parameters, malloc'ed; NULL when it is no mangled name, or one that stands for more than 64 KiB, or for more than 1 KiB and
 * 64 times its length. */
char *name_demangle(const char *name);
/* Without parameters, template arguments and return type: ns::Box<int>::fill(int) const -> ns::Box::fill.
 * Writes at most n_bytes with the NUL; gives `out`. Names that are not C++ come out as they are. */
char *name_shorten(const char *name, char *out, size_t n_bytes);
/* The same with template arguments: ns::Box<int>::fill. */
char *name_shorten_instance(const char *name, char *out, size_t n_bytes);

#endif
