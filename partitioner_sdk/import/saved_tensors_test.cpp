// SPDX-License-Identifier: Apache-2.0
// Tests the pickle reader: accepted instructions, and limits on hostile files.
#include "partitioner_sdk/import/saved_tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partitioner_sdk/testing/zip_writer.hpp"

namespace etb::pt2 {
namespace {

using ::testing::HasSubstr;

constexpr const char* kProtocol = "\x80\x02";

// Wraps a pickle as torch.save would: one storage of 16 bytes, called 0.
auto read_pickle(const std::string& instructions) {
  static std::string bytes;
  bytes =
      write_zip({{"archive/data.pkl", kProtocol + instructions}, {"archive/data/0", std::string(16, 'w')}});
  return read_saved_tensors(std::as_bytes(std::span(bytes)));
}

std::string text(const std::string& value) {
  return "\x8c" + std::string(1, static_cast<char>(value.size())) + value;
}
std::string ones(size_t count) {
  std::string out = "(";
  for (size_t i = 0; i < count; ++i) out += "K\x01";
  return out + "t";
}
// {"w": a tensor of `rank` sizes and strides of 1}
std::string dict_of_one(size_t rank) {
  const std::string storage =
      "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x04tQ";
  return "}" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n(" + storage + std::string("K\0", 2) +
         ones(rank) + ones(rank) + "tRs.";
}

TEST(SavedTensors, AreViewsOfTheirStorage) {
  const auto tensors = read_pickle(dict_of_one(2));
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->count("w"), 1u);
  const ir::Constant& tensor = tensors->at("w");
  EXPECT_EQ(tensor.dtype, ir::Dtype::FLOAT32);
  EXPECT_EQ(tensor.sizes, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(tensor.storage.size(), 16u);
}

TEST(SavedTensors, RankIsBounded) {
  EXPECT_TRUE(read_pickle(dict_of_one(16)));
  EXPECT_THAT(read_pickle(dict_of_one(17)).error().message, HasSubstr("a tensor of rank 17"));
}

// An object needs one byte of a pickle, and fifty times as much in memory.
TEST(SavedTensors, ObjectsAreCounted) {
  EXPECT_THAT(read_pickle("}" + std::string(3'000'000, ')') + ".").error().message,
              HasSubstr("more than 2097152 objects"));
}

// 4 MB of arguments, 300,000 times: minutes if each call copied them.
TEST(SavedTensors, ArgumentsAreNotCopiedForEachCall) {
  std::string pickle = "ccollections\nOrderedDict\n" + std::string("q\0", 2);
  pickle += "(" + std::string(1'000'000, 'N') + "tq\x01";
  for (int i = 0; i < 300'000; ++i) pickle += std::string("h\0h\1R", 5);
  const auto tensors = read_pickle(pickle + ".");
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_TRUE(tensors->empty());
}

}  // namespace
}  // namespace etb::pt2
