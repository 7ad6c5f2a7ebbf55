/* storm_plugin.c - a library that is loaded and unloaded all the time. */
int storm_plugin(int n);
__attribute__((noinline)) static int inner(int n) { return n * 31 + 7; }
int storm_plugin(int n) {
    int x = 0;
    for (int i = 0; i < n * 100; i++) x = inner(x);
    return x;
}
