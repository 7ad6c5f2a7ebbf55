/* mimalloc_options.c - mi_option_... by number, and the list of them. Climate: malloc. */
#include <limits.h>

#include "dialect/mimalloc_impl.h"

static int row_of(mi_option_t number) {
    for (int o = 0; o < VT_MI_N_OPTIONS; o++)
        if ((int)number >= 0 && vt__mi_option_rows[o].number[vt__mi_line.line] == (int)number)
            return o;
    return -1;
}

VT_EXPORT long mi_option_get(mi_option_t option) {
    int o = row_of(option);
    (void)vt__mi_started();
    return o >= 0 ? vt__mi_option((enum vt_mi_option)o) : 0;
}

VT_EXPORT long mi_option_get_clamp(mi_option_t option, long min, long max) {
    long n = mi_option_get(option);
    return n < min ? min : n > max ? max : n;
}

VT_EXPORT size_t mi_option_get_size(mi_option_t option) {
    int o = row_of(option);
    size_t n = (size_t)mi_option_get_clamp(option, 0, LONG_MAX / 1024);
    return o >= 0 && vt__mi_option_rows[o].unit == VT_MI_KIB ? n * 1024 : n;
}

VT_EXPORT void mi_option_set(mi_option_t option, long value) {
    int o = row_of(option);
    (void)vt__mi_started();
    if (o >= 0) vt__mi_option_put((enum vt_mi_option)o, value);
}

VT_EXPORT void mi_option_set_default(mi_option_t option, long value) {
    int o = row_of(option);
    (void)vt__mi_started();
    if (o >= 0 && !vt__mi_option_is_set((enum vt_mi_option)o))
        vt__mi_option_put((enum vt_mi_option)o, value);
}

VT_EXPORT bool mi_option_is_enabled(mi_option_t option) { return mi_option_get(option) != 0; }
VT_EXPORT void mi_option_set_enabled(mi_option_t option, bool enable) {
    mi_option_set(option, enable);
}
VT_EXPORT void mi_option_set_enabled_default(mi_option_t option, bool enable) {
    mi_option_set_default(option, enable);
}
VT_EXPORT void mi_option_enable(mi_option_t option) { mi_option_set(option, 1); }
VT_EXPORT void mi_option_disable(mi_option_t option) { mi_option_set(option, 0); }

/* ---- the list ---- */

static void put_line_start(struct vt_text *t) {
    if (vt__mi_line.options_have_prefix) vt__text_put(t, "mimalloc: ");
}

static void put_option(struct vt_text *t, enum vt_mi_option o) {
    const struct vt_mi_option_row *row = &vt__mi_option_rows[o];
    if (row->number[vt__mi_line.line] < 0) return;
    put_line_start(t);
    vt__text_put(t, "option '");
    if (row->unit == VT_MI_PAST && vt__mi_line.line == VT_MI_V3) vt__text_put(t, "deprecated_");
    vt__text_put(t, row->name);
    vt__text_put(t, "': ");
    vt__text_int(t, vt__mi_option(o));
    vt__text_put(t, row->unit == VT_MI_KIB ? " KiB\n" : "\n");
}

VT_EXPORT void mi_options_print_out(mi_output_fun *out, void *arg) {
    struct vt_mi_printer p;
    struct vt_text *t = vt__mi_print_begin(&p, out, arg);
    (void)vt__mi_started();
    put_line_start(t);
    vt__text_put(t, vt__mi_line.version_text);
    vt__text_put(t, ", release (vitrine)\n");
    for (unsigned o = 0; o < VT_MI_N_OPTIONS; o++) put_option(t, (enum vt_mi_option)o);
    static const char *const levels[] = {"debug level : 0\n", "secure level: 0\n",
                                         "mem tracking: none\n"};
    for (unsigned i = 0; i < vt_countof(levels); i++) {
        put_line_start(t);
        vt__text_put(t, levels[i]);
    }
    vt__text_flush(t);
}

VT_EXPORT void mi_options_print(void) { mi_options_print_out(NULL, NULL); }
