/* google/malloc_extension.h - the old name of gperftools/malloc_extension.h. */
#include <gperftools/malloc_extension.h>
