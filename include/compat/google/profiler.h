/* google/profiler.h - the old name of gperftools/profiler.h. */
#include <gperftools/profiler.h>
