// SPDX-License-Identifier: Apache-2.0
// Errors without texts, as firmware has them: compiled with ETB_ERROR_TEXTS=0.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "etb/cpp/fail.hpp"

namespace etb {
namespace {

static_assert(!kHasErrorTexts);
static_assert(error_id("tensor of %llu bytes") == error_id("tensor of %u bytes"));
static_assert(error_id("tensor of %llu bytes") != error_id("tensor of %d bytes"));
static_assert(error_id("length ll") != error_id("length "));
static_assert(begins_with_number("segment %u: '%s'") && begins_with_number("%zu bytes"));
static_assert(!begins_with_number("'%s': segment %u") && !begins_with_number("'%.*s'") &&
              !begins_with_number("no method"));

std::string place(const char* format, const char* number) {
  char id[8];
  std::snprintf(id, sizeof id, "@%04x:", error_id(format));
  return std::string(id) + number;
}

TEST(ErrorId, AnErrorHasItsCodeAndPlaces) {
  etb_error error = ETB_ERROR_INIT;
  error.vendor_code = 3;
  std::strcpy(error.text, "an older error");
  const char* name = "forward";
  EXPECT_EQ(fail(&error, ETB_INVALID_PROGRAM, "tensor of dtype code %u, not %s", 77u, name),
            ETB_INVALID_PROGRAM);
  EXPECT_EQ(error.text, place("tensor of dtype code %u, not %s", "77"));
  EXPECT_EQ(error.code, ETB_INVALID_PROGRAM);
  EXPECT_EQ(error.vendor_code, 0);
  EXPECT_EQ(fail_in(&error, ETB_INVALID_PROGRAM, "value %u", uint64_t{4294967295}), ETB_INVALID_PROGRAM);
  EXPECT_EQ(fail_in(&error, ETB_INVALID_PROGRAM, "method '%s'", name), ETB_INVALID_PROGRAM);
  EXPECT_EQ(error.text, place("tensor of dtype code %u, not %s", "77") + place("value %u", "4294967295") +
                            place("method '%s'", "0"));
}

TEST(ErrorId, ALongChainIsCutAtAPlace) {
  // On the heap, so that AddressSanitizer reports a write after its end.
  const auto error = std::make_unique<etb_error>();
  error->struct_size = sizeof(etb_error);
  EXPECT_EQ(fail(error.get(), ETB_INTERNAL, "item %u", 4000000000u), ETB_INTERNAL);
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(fail_in(error.get(), ETB_INTERNAL, "item %u", 4000000000u), ETB_INTERNAL);
  const size_t length = std::strlen(error->text);
  EXPECT_EQ(length % std::strlen("@1c9f:4000000000"), 0u);
  EXPECT_GT(length, sizeof(error->text) - 2 * std::strlen("@1c9f:4000000000"));
}

TEST(ErrorId, ACallerMayWantNoError) {
  EXPECT_EQ(fail(nullptr, ETB_INTERNAL, "item %u", 1u), ETB_INTERNAL);
  EXPECT_EQ(fail_in(nullptr, ETB_INTERNAL, "item %u", 1u), ETB_INTERNAL);
  etb_error old = ETB_ERROR_INIT;
  old.struct_size = 8;
  EXPECT_EQ(fail(&old, ETB_INTERNAL, "item %u", 1u), ETB_INTERNAL);
  EXPECT_EQ(fail_in(&old, ETB_INTERNAL, "item %u", 1u), ETB_INTERNAL);
  EXPECT_EQ(old.text[0], '\0');
}

}  // namespace
}  // namespace etb
