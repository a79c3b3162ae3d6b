// SPDX-License-Identifier: Apache-2.0
// Hexagon with the kernel of Linux, without C library and without the compiler's run-time library, which Debian has not: start,
// console, and the functions that the driver needs.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/cross/codes/platform.h"

enum { kWrite = 64, kExit = 93 };  // numbers of asm-generic/unistd.h

static long system_call(long number, long a, long b, long c) {
  register long r6 __asm__("r6") = number;
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  __asm__ volatile("trap0(#1)" : "+r"(r0) : "r"(r6), "r"(r1), "r"(r2) : "memory");
  return r0;
}

void platform_write(const char* text) { system_call(kWrite, 1, (long)text, (long)strlen(text)); }

int main(void);
void start(void);
void start(void) {
  system_call(kExit, main(), 0, 0);
  for (;;) {
  }
}

void* memcpy(void* to, const void* from, size_t nbytes) {
  for (size_t i = 0; i < nbytes; ++i) ((char*)to)[i] = ((const char*)from)[i];
  return to;
}

void* memset(void* to, int value, size_t nbytes) {
  for (size_t i = 0; i < nbytes; ++i) ((char*)to)[i] = (char)value;
  return to;
}

int memcmp(const void* a, const void* b, size_t nbytes) {
  for (size_t i = 0; i < nbytes; ++i)
    if (((const uint8_t*)a)[i] != ((const uint8_t*)b)[i])
      return ((const uint8_t*)a)[i] - ((const uint8_t*)b)[i];
  return 0;
}

int strncmp(const char* a, const char* b, size_t most) {
  for (size_t i = 0; i < most; ++i)
    if (a[i] != b[i] || a[i] == '\0') return (uint8_t)a[i] - (uint8_t)b[i];
  return 0;
}

int strcmp(const char* a, const char* b) { return strncmp(a, b, SIZE_MAX); }

size_t strlen(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

// Knows %s only; other conversions are written as they are.
int snprintf(char* out, size_t capacity, const char* format, ...) {
  size_t length = 0;
  va_list args;
  va_start(args, format);
  for (; *format != '\0' && length + 1 < capacity; ++format) {
    if (format[0] != '%' || format[1] != 's') {
      out[length++] = *format;
      continue;
    }
    for (const char* text = va_arg(args, const char*); *text != '\0' && length + 1 < capacity; ++text)
      out[length++] = *text;
    ++format;
  }
  va_end(args);
  if (capacity != 0) out[length] = '\0';
  return (int)length;
}

// ---- Functions of the compiler's run-time library ----

uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b);
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b);
int64_t __hexagon_divdi3(int64_t a, int64_t b);
int64_t __hexagon_moddi3(int64_t a, int64_t b);
uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b);
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b);
int32_t __hexagon_divsi3(int32_t a, int32_t b);
int32_t __hexagon_modsi3(int32_t a, int32_t b);
void* __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from, size_t nbytes);

static uint64_t divide(uint64_t a, uint64_t b, uint64_t* rest) {
  uint64_t quotient = 0;
  *rest = 0;
  for (int bit = 63; bit >= 0; --bit) {
    *rest = *rest << 1 | (a >> bit & 1);
    if (*rest >= b) {
      *rest -= b;
      quotient |= (uint64_t)1 << bit;
    }
  }
  return quotient;
}

static uint64_t magnitude(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }

uint64_t __hexagon_udivdi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  return divide(a, b, &rest);
}
uint64_t __hexagon_umoddi3(uint64_t a, uint64_t b) {
  uint64_t rest;
  divide(a, b, &rest);
  return rest;
}
int64_t __hexagon_divdi3(int64_t a, int64_t b) {
  const uint64_t quotient = __hexagon_udivdi3(magnitude(a), magnitude(b));
  return (int64_t)((a < 0) != (b < 0) ? 0 - quotient : quotient);
}
int64_t __hexagon_moddi3(int64_t a, int64_t b) {
  const uint64_t rest = __hexagon_umoddi3(magnitude(a), magnitude(b));
  return (int64_t)(a < 0 ? 0 - rest : rest);
}
uint32_t __hexagon_udivsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_udivdi3(a, b); }
uint32_t __hexagon_umodsi3(uint32_t a, uint32_t b) { return (uint32_t)__hexagon_umoddi3(a, b); }
int32_t __hexagon_divsi3(int32_t a, int32_t b) { return (int32_t)__hexagon_divdi3(a, b); }
int32_t __hexagon_modsi3(int32_t a, int32_t b) { return (int32_t)__hexagon_moddi3(a, b); }
void* __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void* to, const void* from, size_t nbytes) {
  return memcpy(to, from, nbytes);
}
