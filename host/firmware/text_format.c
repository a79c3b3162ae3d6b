// SPDX-License-Identifier: Apache-2.0
#include "host/firmware/text_format.h"

#include <stdint.h>
#include <string.h>

typedef struct text {
  char* out;
  size_t capacity;
  size_t length;
} text;

// One conversion: the characters between % and the letter.
typedef struct spec {
  int is_left, is_zero_padded;
  int width;
  int precision;  // -1: none
  int size;       // bytes of an integer
} spec;

static void put(text* to, char character) {
  if (to->length + 1 < to->capacity) to->out[to->length] = character;
  ++to->length;
}

static void put_padded(text* to, const spec* by, const char* from, size_t length) {
  const size_t width = by->width > 0 ? (size_t)by->width : 0;
  const size_t padding = width > length ? width - length : 0;
  size_t i = 0;
  if (by->is_zero_padded && !by->is_left && length > 0 && from[0] == '-') {
    put(to, from[0]);
    i = 1;
  }
  if (!by->is_left)
    for (size_t k = 0; k < padding; ++k) put(to, by->is_zero_padded ? '0' : ' ');
  for (; i < length; ++i) put(to, from[i]);
  if (by->is_left)
    for (size_t k = 0; k < padding; ++k) put(to, ' ');
}

// Writes digits before `end`; returns the first.
static char* digits_of(uint64_t number, unsigned base, const char* digits, char* end) {
  do {
    *--end = digits[number % base];
    number /= base;
  } while (number != 0);
  return end;
}

static void put_integer(text* to, const spec* by, uint64_t number, int is_negative, unsigned base,
                        const char* digits) {
  char buffer[24];
  char* const end = buffer + sizeof buffer;
  char* begin = digits_of(number, base, digits, end);
  if (is_negative) *--begin = '-';
  put_padded(to, by, begin, (size_t)(end - begin));
}

// Six significant digits: 0.25, 1234.5, 1.5e+20.
static void put_real(text* to, const spec* by, double number) {
  char buffer[24];
  char* at = buffer;
  int exponent = 0;
  if (number != number) {
    put_padded(to, by, "nan", 3);
    return;
  }
  if (number < 0) {
    *at++ = '-';
    number = -number;
  }
  if (number > 1.7976931348623157e308) {
    memcpy(at, "inf", 3);
    put_padded(to, by, buffer, (size_t)(at + 3 - buffer));
    return;
  }
  if (number > 0) {
    while (number >= 10 && exponent < 400) number /= 10, ++exponent;
    while (number < 1) number *= 10, --exponent;
  }
  uint32_t six = (uint32_t)(number * 100000 + 0.5);
  if (six >= 1000000) six /= 10, ++exponent;
  char digits[6];
  for (int i = 5; i >= 0; --i, six /= 10) digits[i] = (char)('0' + six % 10);
  int last = 5;
  while (last > 0 && digits[last] == '0') --last;
  const int is_scientific = exponent < -4 || exponent > 5;
  const int point = is_scientific ? 0 : exponent;  // digits before the point, less one
  if (point < 0) {
    *at++ = '0', *at++ = '.';
    for (int i = point + 1; i < 0; ++i) *at++ = '0';
  }
  for (int i = 0; i <= last || i <= point; ++i) {
    *at++ = digits[i];
    if (i == point && i < last) *at++ = '.';
  }
  if (is_scientific) {
    *at++ = 'e', *at++ = exponent < 0 ? '-' : '+';
    const unsigned size = (unsigned)(exponent < 0 ? -exponent : exponent);
    if (size >= 100) *at++ = (char)('0' + size / 100);
    *at++ = (char)('0' + size / 10 % 10), *at++ = (char)('0' + size % 10);
  }
  put_padded(to, by, buffer, (size_t)(at - buffer));
}

static int read_number(const char** at) {
  int number = 0;
  while (**at >= '0' && **at <= '9' && number < 10000) number = number * 10 + (*(*at)++ - '0');
  return number;
}

// Reads the length of an integer: bytes.
static int read_size(const char** at) {
  int size = (int)sizeof(int);
  for (;; ++*at) {
    if (**at == 'h')
      size = size == (int)sizeof(short) ? 1 : (int)sizeof(short);
    else if (**at == 'l')
      size = size == (int)sizeof(long) && (*at)[-1] == 'l' ? (int)sizeof(long long) : (int)sizeof(long);
    else if (**at == 'z')
      size = (int)sizeof(size_t);
    else if (**at == 't')
      size = (int)sizeof(ptrdiff_t);
    else if (**at == 'j')
      size = (int)sizeof(intmax_t);
    else
      return size;
  }
}

static const char kLower[] = "0123456789abcdef";
static const char kUpper[] = "0123456789ABCDEF";

// va_list may be an array, so it crosses functions in a struct.
typedef struct arguments {
  va_list list;
} arguments;

static void put_signed(text* to, const spec* by, arguments* from) {
  int64_t number;
  if (by->size > (int)sizeof(int))
    number = by->size == 8 ? va_arg(from->list, long long) : va_arg(from->list, long);
  else
    number = va_arg(from->list, int);
  if (by->size == 1) number = (int8_t)number;
  if (by->size == 2) number = (int16_t)number;
  put_integer(to, by, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, number < 0, 10, kLower);
}

static void put_unsigned(text* to, const spec* by, arguments* from, unsigned base, const char* digits) {
  uint64_t number;
  if (by->size > (int)sizeof(unsigned))
    number = by->size == 8 ? va_arg(from->list, unsigned long long) : va_arg(from->list, unsigned long);
  else
    number = va_arg(from->list, unsigned);
  if (by->size < 4) number &= by->size == 1 ? 0xFF : 0xFFFF;
  put_integer(to, by, number, 0, base, digits);
}

static void put_string(text* to, const spec* by, const char* from) {
  size_t length = 0;
  if (from == NULL) from = "(null)";
  while ((by->precision < 0 || length < (size_t)by->precision) && from[length] != '\0') ++length;
  put_padded(to, by, from, length);
}

static void put_conversion(text* to, const spec* by, char letter, arguments* from) {
  switch (letter) {
    case 'd':
    case 'i':
      put_signed(to, by, from);
      return;
    case 'u':
      put_unsigned(to, by, from, 10, kLower);
      return;
    case 'x':
      put_unsigned(to, by, from, 16, kLower);
      return;
    case 'X':
      put_unsigned(to, by, from, 16, kUpper);
      return;
    case 'p':
      put(to, '0'), put(to, 'x');
      put_integer(to, by, (uintptr_t)va_arg(from->list, void*), 0, 16, kLower);
      return;
    case 'f':
    case 'g':
      put_real(to, by, va_arg(from->list, double));
      return;
    case 'c': {
      const char character = (char)va_arg(from->list, int);
      put_padded(to, by, &character, 1);
      return;
    }
    case 's':
      put_string(to, by, va_arg(from->list, const char*));
      return;
    default:
      put(to, letter);
  }
}

int etb_format_text(char* out, size_t capacity, const char* format, va_list args) {
  text to = {out, capacity, 0};
  arguments from;
  va_copy(from.list, args);
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      put(&to, *at);
      continue;
    }
    spec by = {0, 0, 0, -1, (int)sizeof(int)};
    for (++at; *at == '-' || *at == '0' || *at == '#' || *at == ' ' || *at == '+'; ++at) {
      if (*at == '-') by.is_left = 1;
      if (*at == '0') by.is_zero_padded = 1;
    }
    if (*at == '*') {
      by.width = va_arg(from.list, int);
      ++at;
    } else {
      by.width = read_number(&at);
    }
    if (*at == '.') {
      ++at;
      if (*at == '*') {
        by.precision = va_arg(from.list, int);
        ++at;
      } else {
        by.precision = read_number(&at);
      }
    }
    by.size = read_size(&at);
    if (*at == '\0') break;
    put_conversion(&to, &by, *at, &from);
  }
  va_end(from.list);
  if (capacity > 0) out[to.length < capacity ? to.length : capacity - 1] = '\0';
  return (int)to.length;
}
