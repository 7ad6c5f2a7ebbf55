/* asking.h - what asking and asking_child say to each other: rdi at a breakpoint. */
enum { ASKING_NEXT = 1, ASKING_BEGINS, ASKING_ENDS };
enum { N_WARM = 3, N_ASKS = 5 };
