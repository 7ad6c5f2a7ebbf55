/* google/heap-profiler.h - the old name of gperftools/heap-profiler.h. */
#include <gperftools/heap-profiler.h>
