/* google/tcmalloc.h - the old name of gperftools/tcmalloc.h. */
#include <gperftools/tcmalloc.h>
