// Views made from argument_views_test.txt: which function of the reader each type calls, names, constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/__and__.hpp"
#include "ops/every.hpp"
#include "ops/other/slice.hpp"
#include "ops/slice.hpp"
#include "ops/split.hpp"

namespace etb::ops {
namespace {

// Answers each call with its text.
struct TextReader {
  std::string prefix;

#define ETB_READS(name)                                                                             \
  std::string name(size_t index) const { return prefix + #name "(" + std::to_string(index) + ")"; } \
  std::string name(size_t index, size_t list_size) const {                                          \
    return prefix + #name "(" + std::to_string(index) + ", " + std::to_string(list_size) + ")";     \
  }
  ETB_READS(read_tensor)
  ETB_READS(read_optional_tensor)
  ETB_READS(read_tensor_list)
  ETB_READS(read_list_of_optional_tensors)
  ETB_READS(read_optional_list_of_optional_tensors)
  ETB_READS(read_written_tensor)
  ETB_READS(read_written_tensor_list)
  ETB_READS(read_scalar)
  ETB_READS(read_optional_scalar)
  ETB_READS(read_scalar_list)
  ETB_READS(read_int)
  ETB_READS(read_optional_int)
  ETB_READS(read_float)
  ETB_READS(read_optional_float)
  ETB_READS(read_bool)
  ETB_READS(read_optional_bool)
  ETB_READS(read_string)
  ETB_READS(read_optional_string)
  ETB_READS(read_complex)
  ETB_READS(read_int_list)
  ETB_READS(read_optional_int_list)
  ETB_READS(read_float_list)
  ETB_READS(read_optional_float_list)
  ETB_READS(read_bool_list)
  ETB_READS(read_dtype)
  ETB_READS(read_optional_dtype)
  ETB_READS(read_optional_layout)
  ETB_READS(read_optional_memory_format)
  ETB_READS(read_optional_device)
  ETB_READS(read_optional_generator)
#undef ETB_READS
};

TEST(ArgumentViews, CallTheReaderOfTheType) {
  const every_default<TextReader> args(TextReader{});
  EXPECT_EQ(args.a(), "read_tensor(0)");
  EXPECT_EQ(args.b(), "read_optional_tensor(1)");
  EXPECT_EQ(args.c(), "read_tensor_list(2)");
  EXPECT_EQ(args.d(), "read_list_of_optional_tensors(3)");
  EXPECT_EQ(args.e(), "read_optional_list_of_optional_tensors(4)");
  EXPECT_EQ(args.f(), "read_scalar(5)");
  EXPECT_EQ(args.g(), "read_optional_scalar(6)");
  EXPECT_EQ(args.h(), "read_int(7)");
  EXPECT_EQ(args.i(), "read_optional_int(8)");
  EXPECT_EQ(args.j(), "read_float(9)");
  EXPECT_EQ(args.k(), "read_optional_float(10)");
  EXPECT_EQ(args.l(), "read_bool(11)");
  EXPECT_EQ(args.m(), "read_optional_bool(12)");
  EXPECT_EQ(args.n(), "read_string(13)");
  EXPECT_EQ(args.o(), "read_optional_string(14)");
  EXPECT_EQ(args.p(), "read_complex(15)");
  EXPECT_EQ(args.q(), "read_scalar_list(16)");
}

TEST(ArgumentViews, CallTheReaderOfListsAndKeywords) {
  const every_lists<TextReader> args(TextReader{});
  EXPECT_EQ(args.a(), "read_int_list(0, 0)");
  EXPECT_EQ(args.b(), "read_int_list(1, 2)");
  EXPECT_EQ(args.c(), "read_optional_int_list(2, 0)");
  EXPECT_EQ(args.d(), "read_optional_int_list(3, 1)");
  EXPECT_EQ(args.e(), "read_float_list(4)");
  EXPECT_EQ(args.f(), "read_optional_float_list(5)");
  EXPECT_EQ(args.g(), "read_bool_list(6)");
  EXPECT_EQ(args.h(), "read_dtype(7)");
  EXPECT_EQ(args.i(), "read_optional_dtype(8)");
  EXPECT_EQ(args.j(), "read_optional_layout(9)");
  EXPECT_EQ(args.k(), "read_optional_memory_format(10)");
  EXPECT_EQ(args.l(), "read_optional_device(11)");
  EXPECT_EQ(args.m(), "read_optional_generator(12)");
}

TEST(ArgumentViews, TellWrittenArguments) {
  EXPECT_EQ(slice_Tensor_out<TextReader>(TextReader{}).out(), "read_written_tensor(3)");
  EXPECT_EQ(slice_in_place_int<TextReader>(TextReader{}).self(), "read_written_tensor(0)");
  EXPECT_EQ(split_out<TextReader>(TextReader{}).out(), "read_written_tensor_list(1)");
}

TEST(ArgumentViews, KeepApartNamespacesAndKeywords) {
  EXPECT_EQ(slice_Tensor_out<TextReader>(TextReader{"x."}).default_(), "x.read_int(1)");
  EXPECT_EQ(other::slice_Tensor_out<TextReader>(TextReader{"y."}).self(), "y.read_tensor(0)");
  EXPECT_EQ(_and_Scalar<TextReader>(TextReader{}).other(), "read_scalar(1)");
}

TEST(ArgumentViews, HaveNamesLettersAndPositions) {
  using Slice = slice_Tensor_out<TextReader>;
  EXPECT_STREQ(Slice::kName, "aten.slice.Tensor_out");
  EXPECT_STREQ(Slice::kProgramName, "aten::slice.Tensor_out");
  EXPECT_STREQ(Slice::kArgumentNames, "self default end out");
  EXPECT_STREQ(Slice::kLetters, "TinT!");
  EXPECT_EQ(Slice::kArgumentCount, 4u);
  EXPECT_EQ(Slice::Index::default_, 1u);
  EXPECT_EQ(Slice::Index::out, 3u);
  EXPECT_STREQ(every_default<TextReader>::kProgramName, "aten::every");
  EXPECT_STREQ(every_default<TextReader>::kLetters, "TtLMxSsindebczyxx");
  EXPECT_STREQ(every_lists<TextReader>::kLetters, "IIjjDfBinnnxx");
  EXPECT_STREQ(slice_in_place_int<TextReader>::kProgramName, "aten::slice_.int");
  EXPECT_STREQ(slice_in_place_int<TextReader>::kLetters, "T!izI");
  EXPECT_STREQ(split_out<TextReader>::kLetters, "TL!");
  EXPECT_STREQ(other::slice_Tensor_out<TextReader>::kProgramName, "other::slice.Tensor_out");
}

}  // namespace
}  // namespace etb::ops
