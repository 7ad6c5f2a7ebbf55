/* google/malloc_extension_c.h - the old name of gperftools/malloc_extension_c.h. */
#include <gperftools/malloc_extension_c.h>
