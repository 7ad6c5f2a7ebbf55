/* google/malloc_hook_c.h - the old name of gperftools/malloc_hook_c.h. */
#include <gperftools/malloc_hook_c.h>
