/* risk_08_deepbind.c - a plug-in loaded with RTLD_DEEPBIND, as php and oneTBB users met it.
 *
 *     risk_08_deepbind PLUGIN.so HOST.so
 *
 * Deep binding makes the plug-in prefer libc's malloc over the preloaded one, and then blocks cross
 * between two allocators in both directions. HOST.so has a RUNPATH of $ORIGIN/inner and loads
 * inner.so by its bare name: whoever wraps dlopen must not hide the caller from the loader.
 */
#include "risk.h"

typedef void *take_fn(size_t);
typedef void drop_fn(void *);
typedef void *resize_fn(void *, size_t);
typedef char *text_fn(const char *);
typedef void *load_fn(const char *);

static void cross(const char *file, int flags) {
    void *lib = dlopen(file, flags);
    if (!lib) check_say("dlopen: %s", dlerror());
    MUST(lib != NULL);
    take_fn *take = (take_fn *)dlsym(lib, "plugin_take");
    drop_fn *drop = (drop_fn *)dlsym(lib, "plugin_drop");
    resize_fn *resize = (resize_fn *)dlsym(lib, "plugin_resize");
    text_fn *text = (text_fn *)dlsym(lib, "plugin_text");
    for (size_t n = 1; n < MiB(4); n = n * 3 + 7) {
        unsigned char *theirs = take(n), *ours = malloc(n);
        MUST(theirs && ours);
        fill(theirs, n, 1);
        fill(ours, n, 2);
        theirs = realloc(theirs, n * 2);
        ours = resize(ours, n * 2);
        MUST(theirs && ours);
        CHECK_EQ(intact(theirs, n, 1), n);
        CHECK_EQ(intact(ours, n, 2), n);
        free(theirs);
        drop(ours);
    }
    char *s = text("a text that libc duplicates");
    CHECK_STR(s, "a text that libc duplicates");
    free(s);
    drop(strdup("and one the other way round"));
    CHECK_EQ(dlclose(lib), 0);
}

int main(int argc, char **argv) {
    require_preloaded();
    MUST(argc == 3);
    cross(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    cross(argv[1], RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND);
    cross(argv[1], RTLD_NOW);

    void *host = dlopen(argv[2], RTLD_NOW);
    if (!host) check_say("dlopen: %s", dlerror());
    MUST(host != NULL);
    void *inner = ((load_fn *)dlsym(host, "host_load"))("inner.so");
    if (!inner) check_say("dlopen through RUNPATH: %s", dlerror());
    CHECK_NOT_NULL(inner);
    CHECK_NULL(dlopen("no-such-library.so", RTLD_NOW));
    CHECK_NOT_NULL(dlerror()); /* the loader's message still arrives */
    CHECK_NOT_NULL(dlopen(NULL, RTLD_NOW));
    return CHECK_DONE();
}
