// SPDX-License-Identifier: Apache-2.0
//
// etb_format_text: vsnprintf for messages, without heap and without the C library's tables for numbers. Firmware defines
// vsnprintf and snprintf by it (newlib_functions.c), because those of newlib allocate memory and are 15 KiB larger.
#ifndef ETB_HOST_FIRMWARE_TEXT_FORMAT_H_
#define ETB_HOST_FIRMWARE_TEXT_FORMAT_H_

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Knows c, d, i, u, x, X, p, s, %, and f and g as a number of six significant digits; the flags - and 0, a width, a precision
// of s, and * for both; hh, h, l, ll, z, t and j. Returns the length of the whole text.
int etb_format_text(char* out, size_t capacity, const char* format, va_list args);

#ifdef __cplusplus
}
#endif

#endif
