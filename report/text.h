/* text.h - names of any bytes inside files that must be well-formed: XML, JSON, CSV. What is no character of UTF-8
 * becomes '?'.   Climate: cli.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdio.h>

/* Bytes of the UTF-8 character at s, or 0 when there is none; overlong forms and surrogates are none. */
unsigned text_utf8_length(const char *s);
/* Text or an attribute's value; control characters become '?' too. */
void text_xml(FILE *out, const char *text);
/* A JSON string with its quotes. */
void text_json(FILE *out, const char *text);
/* A CSV field with its quotes where it needs them. */
void text_csv(FILE *out, const char *text);
void text_csv_inner(FILE *out, const char *text); /* for a field whose quotes the caller writes */
/* At most `width` characters, 0: all; what is too long loses its middle. */
void text_fit(FILE *out, const char *text, unsigned width);

#endif
