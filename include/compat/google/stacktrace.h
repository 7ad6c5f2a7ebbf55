/* google/stacktrace.h - the old name of gperftools/stacktrace.h. */
#include <gperftools/stacktrace.h>
