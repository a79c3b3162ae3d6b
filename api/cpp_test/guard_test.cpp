// SPDX-License-Identifier: Apache-2.0
#include "etb/cpp/guard.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "etb/host.h"
#include "etb/tensor.h"

namespace etb {
namespace {

// proves: ABI-CALL-03
TEST(Guard, NoExceptionLeaves) {
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(guard(&error, []() -> Status { throw std::runtime_error("out of luck"); }), ETB_INTERNAL);
  EXPECT_STREQ(error.text, "out of luck");
  EXPECT_EQ(guard(&error, []() -> Status { throw std::bad_alloc(); }), ETB_OUT_OF_MEMORY);
  EXPECT_EQ(guard(&error, []() -> Status { throw 7; }), ETB_INTERNAL);
  EXPECT_EQ(guard(nullptr, []() -> Status { throw 7; }), ETB_INTERNAL);
}

// proves: ABI-ERR-01
TEST(Guard, ResultBecomesStatusAndError) {
  etb_error error = ETB_ERROR_INIT;
  EXPECT_EQ(guard(&error, []() -> Status { return {}; }), ETB_OK);
  EXPECT_EQ(error.code, ETB_OK);
  EXPECT_EQ(guard(&error,
                  []() -> Status {
                    return tl::make_unexpected(Error{Code::UNAVAILABLE, "device lost", "npu.lost", -19});
                  }),
            ETB_UNAVAILABLE);
  EXPECT_EQ(error.code, ETB_UNAVAILABLE);
  EXPECT_EQ(error.vendor_code, -19);
  EXPECT_STREQ(error.reason, "npu.lost");
  EXPECT_STREQ(error.text, "device lost");
}

// proves: ABI-ERR-02
TEST(Guard, LongTextsEndAtACharacterBoundary) {
  std::string message(ETB_ERROR_TEXT_NBYTES - 2, 'a');
  message += "\xe2\x82\xac";  // three bytes, of which one would fit
  etb_error error = ETB_ERROR_INIT;
  guard(&error, [&]() -> Status { return make_error(Code::INTERNAL, message); });
  EXPECT_EQ(std::string(error.text), message.substr(0, ETB_ERROR_TEXT_NBYTES - 2));
  guard(&error, [&]() -> Status { throw std::runtime_error(message); });
  EXPECT_EQ(std::string(error.text), message.substr(0, ETB_ERROR_TEXT_NBYTES - 2));
}

// proves: ABI-SIZE-02 ABI-TYPE-02
TEST(Accept, ShortStructsAndUnknownFlagsAreRefusedAndNamed) {
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  EXPECT_TRUE(ETB_ACCEPT(etb_tensor, &tensor, buffer));
  tensor.struct_size += 64;
  EXPECT_TRUE(ETB_ACCEPT(etb_tensor, &tensor, buffer)) << "of a newer side";
  tensor.struct_size = ETB_SIZE_THROUGH(etb_tensor, buffer) - 1;
  EXPECT_EQ(ETB_ACCEPT(etb_tensor, &tensor, buffer).error().message,
            "etb_tensor: struct_size " + std::to_string(tensor.struct_size) + ", expected at least " +
                std::to_string(ETB_SIZE_THROUGH(etb_tensor, buffer)));
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.flags = 4;
  EXPECT_EQ(ETB_ACCEPT(etb_tensor, &tensor, buffer).error().code, Code::INVALID_ARGUMENT);
  tensor.flags = 0;
  tensor.reserved = 1;
  EXPECT_EQ(ETB_ACCEPT(etb_tensor, &tensor, buffer).error().message,
            "etb_tensor: a reserved field is not zero");
  tensor.reserved = 0;
  tensor.reserved_pointer = &tensor;
  EXPECT_FALSE(ETB_ACCEPT(etb_tensor, &tensor, buffer));
  tensor.struct_size = ETB_SIZE_THROUGH(etb_tensor, buffer);
  EXPECT_TRUE(ETB_ACCEPT(etb_tensor, &tensor, buffer)) << "a field that the struct does not have";
  EXPECT_EQ(ETB_ACCEPT(etb_tensor, static_cast<etb_tensor*>(nullptr), buffer).error().message,
            "etb_tensor: found NULL");
}

}  // namespace
}  // namespace etb
