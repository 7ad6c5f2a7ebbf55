/* made_by.h - how a program asks for a block; what frees it is to match. Climate: any. */
#ifndef VT_BASE_MADE_BY_H
#define VT_BASE_MADE_BY_H

enum vt_made_by { VT_MADE_BY_MALLOC, VT_MADE_BY_NEW, VT_MADE_BY_NEW_ARRAY };

#endif
