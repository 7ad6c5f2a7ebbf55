/* storm.h - what storm.cpp calls to have stacks taken and memory allocated; in C, where our headers are at home. */
#ifdef __cplusplus
extern "C" {
#endif
void storm_begin(void);
void storm_tick(const void *uc);
void storm_here(void);
void storm_allocate(void); /* some blocks, and frees some that any thread allocated */
void storm_profile(int i); /* writes one; exact mode on at some i, off at others */
void storm_unloading(void);
void storm_unloaded(void);
void storm_thread_ends(void);
void storm_failed(const char *what);
int storm_is_good(void);
int storm_has_enough(void); /* happened for storm_report to tell */
int storm_report(void);
#ifdef __cplusplus
}
#endif
