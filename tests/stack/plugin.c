/* plugin.c - a library that comes and goes. It is compiled twice, with other frame sizes: PLUGIN_ROOM, 32 or 64, so that both
 * have the same instructions at the same places, and the second is likely to be where the first was. (For libunwind there is
 * one of 88, with other instructions: what it knows of an unloaded library it does not forget.) */
typedef void callback(void *arg);
void plugin_run(int depth, callback *f, void *arg);

__attribute__((noinline)) static void go_down(int depth, callback *f, void *arg) {
    volatile char room[PLUGIN_ROOM];
    room[depth % PLUGIN_ROOM] = 1;
    if (depth > 0)
        go_down(depth - 1, f, arg);
    else
        f(arg);
    room[0] = 2;
}

void plugin_run(int depth, callback *f, void *arg) {
    volatile char room[PLUGIN_ROOM + 16];
    room[0] = 1;
    go_down(depth, f, arg);
    room[1] = 1;
}
