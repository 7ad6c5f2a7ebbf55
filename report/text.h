/* text.h - names of any bytes in what we write: one function for each kind of output.
 *
 * Functions, files, labels, programs and messages come from strangers. Wild is what must not be written as it is: control
 * characters (C0, DEL, C1), what turns the direction of text around, separators of lines, what XML forbids, and bytes that
 * are no UTF-8. It is spelled: "\x1b" for a byte, "\u202e" for a character. All other characters stay.
 *
 * Climate: cli.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

/* Bytes of the UTF-8 character at s, or 0 when there is none; overlong forms and surrogates are none. */
unsigned text_utf8_length(const char *s);

/* For people, on a terminal or in a file of lines: the text itself when nothing in it is wild, else a copy that is good until
 * eight more were asked for. It has one line, without tabs. */
const char *text_shown(const char *text);
/* The same for a line of source, whose tabs stay. */
const char *text_shown_source(const char *text);
/* The same into `out`, whose n_bytes it does not pass. */
void text_shown_to(const char *text, char *out, size_t n_bytes);
/* The same for several lines, with their ends. */
void text_shown_lines(FILE *out, const char *text);
/* At most `width` characters, 0: all; what is too long loses its middle. */
void text_fit(FILE *out, const char *text, unsigned width);

/* XML and HTML: text or an attribute's value. Tabs stay. */
void text_xml(FILE *out, const char *text);
/* A JSON string with its quotes. Wild characters have JSON's own escape, so a reader gets what was there. */
void text_json(FILE *out, const char *text);
/* A CSV field with its quotes where it needs them. */
void text_csv(FILE *out, const char *text);
void text_csv_inner(FILE *out, const char *text); /* for a field whose quotes the caller writes */
/* A frame of collapsed stacks: ';' ends one and cannot be escaped, so it becomes ':'. */
void text_collapsed(FILE *out, const char *text);
/* Inside the quotes of graphviz's language. */
void text_dot(FILE *out, const char *text);

#endif
