/* risk_08_host.c - a library that loads another by its bare name, found through this one's RUNPATH. */
#include <dlfcn.h>

void *host_load(const char *name);
void *host_load(const char *name) { return dlopen(name, RTLD_NOW); }
