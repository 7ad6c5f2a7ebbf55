/* terminal.h - what is different when a person looks: width, colour, progress. Climate: cli. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Columns of the terminal that `out` is (COLUMNS says otherwise); 0 when it is none: lines are then as long as they are. */
unsigned terminal_width(FILE *out);
/* A terminal, NO_COLOR is not set, TERM is not dumb. */
bool terminal_has_colour(FILE *out);

/* From now on long work is told on stderr, if that is a terminal. */
void progress_begin(void);
/* Takes the line away again; before anything else is written. */
void progress_end(void);

#endif
