/* risk_08_host.c - loads another library by its bare name, through its own RUNPATH. */
#include <dlfcn.h>

void *host_load(const char *name);
void *host_load(const char *name) { return dlopen(name, RTLD_NOW); }
