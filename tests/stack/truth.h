/* truth.h - what truth.cpp calls where it wants stacks compared; in C, where our headers are at home. */
#ifdef __cplusplus
extern "C" {
#endif
void truth_here(void);
void truth_context(const void *uc); /* a signal that was raised, in a known place */
void truth_tick(const void *uc);    /* a timer's signal, anywhere */
int truth_has_ticks(void);          /* enough of them; truth_here does nothing from now on */
void truth_loader(int is_at_work);  /* ticks are not compared: libunwind would wait for its locks */
void truth_unloaded(void);
void truth_thread_ends(void);
void truth_failed(const char *why);
int truth_report(void);
#ifdef __cplusplus
}
#endif
