/* google/malloc_hook.h - the old name of gperftools/malloc_hook.h. */
#include <gperftools/malloc_hook.h>
