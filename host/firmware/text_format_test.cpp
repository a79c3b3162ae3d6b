// SPDX-License-Identifier: Apache-2.0
// The texts of firmware are those of the C library.
#include "host/firmware/text_format.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <string>

namespace {

struct Texts {
  std::string ours, expected;
  int length, expected_length;
};

__attribute__((format(printf, 2, 3))) Texts format(size_t capacity, const char* text, ...) {
  char ours[400], expected[400];
  va_list args, again;
  va_start(args, text);
  va_copy(again, args);
  Texts out;
  out.length = etb_format_text(ours, capacity, text, args);
  out.expected_length = std::vsnprintf(expected, capacity, text, again);
  va_end(again);
  va_end(args);
  out.ours = ours;
  out.expected = expected;
  return out;
}

#define EXPECT_EQUAL_TEXTS(...)                                 \
  do {                                                          \
    const Texts texts = format(sizeof(char[400]), __VA_ARGS__); \
    EXPECT_EQ(texts.ours, texts.expected);                      \
    EXPECT_EQ(texts.length, texts.expected_length);             \
  } while (0)

TEST(TextFormat, WritesWhatMessagesContain) {
  EXPECT_EQUAL_TEXTS("no kernel for %u of %u operators: %s", 1u, 12u, "aten::add.out");
  EXPECT_EQUAL_TEXTS("%.*s|%.3s|%8s|%-8s|%c%%", 4, "abcdefgh", "abcdefgh", "ab", "ab", 'x');
  EXPECT_EQUAL_TEXTS("%lld %llu %zu %td %jd", LLONG_MIN, ULLONG_MAX, SIZE_MAX, PTRDIFF_MIN, INTMAX_MAX);
  EXPECT_EQUAL_TEXTS("%d %i %5d %-5d| %05d %08x %X %x", -1, INT_MIN, 42, 42, -42, 48879u, 48879u, 0u);
  EXPECT_EQUAL_TEXTS("%hhd %hd %hhu %hu %ld %lu", 300, 70000, 300, 70000, LONG_MIN, ULONG_MAX);
  EXPECT_EQUAL_TEXTS("%*d|%-*d|", 6, 7, 6, 7);
  EXPECT_EQUAL_TEXTS("value %" PRId64 ", %" PRIu64, INT64_MIN, UINT64_MAX);
}

TEST(TextFormat, WritesSixDigitsOfNumbers) {
  for (const double number :
       {0.0, 1.0, -1.0, 0.25, 100000.0, 123456.0, 1234567.0, 0.0001, 0.00001, -3.14159265, 2.5e-9, 1e100, 0.1,
        65504.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})
    EXPECT_EQUAL_TEXTS("%g", number);
}

TEST(TextFormat, CutsTheTextAndReturnsItsLength) {
  for (const size_t capacity : {1, 2, 5, 6, 7}) {
    const Texts texts = format(capacity, "abc%d", 123);
    EXPECT_EQ(texts.ours, texts.expected) << capacity;
    EXPECT_EQ(texts.length, 6) << capacity;
  }
}

}  // namespace
