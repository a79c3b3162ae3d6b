// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/record/saved_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/testing/zip_writer.hpp"

namespace etb::record {
namespace {

using testing::HasSubstr;

SavedValue tensor_of(std::vector<float> numbers, std::vector<int64_t> sizes) {
  SavedTensor tensor{ir::Dtype::FLOAT32, std::move(sizes),
                     std::vector<std::byte>(numbers.size() * sizeof(float))};
  if (!numbers.empty()) std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return {std::move(tensor)};
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// (1, 2), (3, 4), and their sum times two: tests/fixtures/make_etrecords.py.
TEST(SavedValues, InputsAndOutputsOfOfficialFilesAreRead) {
  for (const char* name :
       {"add.etrecord", "releases/0.7.0.etrecord", "releases/1.0.1.etrecord", "releases/1.1.0.etrecord",
        "releases/1.2.0.etrecord", "releases/1.3.1.etrecord", "releases/1.4.0.etrecord"}) {
    const auto record = read_record_file(std::string(ETB_SOURCE_DIR) + "/tests/fixtures/etrecord/" + name);
    ASSERT_TRUE(record);
    const auto inputs = read_saved_value(bytes_of(record->representative_inputs));
    ASSERT_TRUE(inputs) << name << ": " << inputs.error().message;
    EXPECT_EQ(*inputs, (SavedValue{SavedValue::List{tensor_of({1, 2}, {2}), tensor_of({3, 4}, {2})}}))
        << name;
    const auto outputs = read_saved_value(bytes_of(record->reference_outputs));
    ASSERT_TRUE(outputs) << name << ": " << outputs.error().message;
    const SavedValue test_case{SavedValue::List{tensor_of({8, 12}, {2})}};
    EXPECT_EQ(*outputs, (SavedValue{SavedValue::Dict{{"forward", SavedValue{SavedValue::List{test_case}}}}}))
        << name;
  }
}

TEST(SavedValues, WrittenValuesAreReadWithoutADifference) {
  const SavedValue value{SavedValue::List{
      tensor_of({1.5f, -2, 3, 4, 5, 6}, {2, 3}), tensor_of({}, {0, 4}), SavedValue{int64_t{-7}},
      SavedValue{2.25}, SavedValue{true}, SavedValue{std::string("text")}, SavedValue{},
      SavedValue{SavedValue::Dict{{"a", SavedValue{int64_t{1} << 40}}}}, SavedValue{SavedValue::List{}}}};
  const auto bytes = write_saved_value(value);
  ASSERT_TRUE(bytes) << bytes.error().message;
  const auto again = read_saved_value(bytes_of(*bytes));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, value);
}

std::string refusal_of(const std::string& pickle) {
  const std::string file =
      pt2::write_zip({{"archive/data.pkl", "\x80\x02" + pickle}, {"archive/data/0", "12345678"}});
  const auto value = read_saved_value(bytes_of(file));
  return value ? "" : value.error().message;
}

// [a tensor of two floats at `offset`, with one size and stride]
std::string tensor_pickle(const std::string& offset, const std::string& size, const std::string& stride) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((X\x07" + std::string("\0\0\0storage", 10) +
         "ctorch\nFloatStorage\nX\x01" + std::string("\0\0\0", 3) + "0X\x03" + std::string("\0\0\0cpu", 6) +
         "K\x02tQ" + offset + "(" + size + "t(" + stride + "ttR.";
}

TEST(SavedValues, ElementsOutsideOfTheirStorageAreRefused) {
  EXPECT_EQ(refusal_of(tensor_pickle(std::string("K\0", 2), "K\x02", "K\x01")), "");
  EXPECT_THAT(refusal_of(tensor_pickle("K\x01", "K\x02", "K\x01")),
              HasSubstr("element 2 is outside of a storage of 2"));
  EXPECT_THAT(refusal_of(tensor_pickle("J\xff\xff\xff\xff", "K\x02", "K\x01")), HasSubstr("outside"));
  EXPECT_THAT(refusal_of(tensor_pickle(std::string("K\0", 2), "K\x02", "J\xff\xff\xff\xff")),
              HasSubstr("impossible sizes or strides"));
}

TEST(SavedValues, CodeIsNotExecuted) {
  EXPECT_THAT(refusal_of("cos\nsystem\nX\x02" + std::string("\0\0\0id", 5) + "\x85R."),
              HasSubstr("'os system' is not a plain tensor"));
  EXPECT_THAT(refusal_of("cos\nsystem\n."), HasSubstr("an object that is no tensor"));
}

// Lists of the one before, twice each: 2^40 values of 200 bytes.
TEST(SavedValues, SharedListsAreCounted) {
  std::string pickle = "]q" + std::string(1, '\0');
  for (char i = 0; i < 40; ++i) pickle += std::string("](h") + i + "h" + i + "eq" + static_cast<char>(i + 1);
  EXPECT_THAT(refusal_of(pickle + "."), HasSubstr("more than 1048576 values"));
}

TEST(SavedValues, DepthIsBounded) {
  std::string pickle = "]q" + std::string(1, '\0');
  for (char i = 0; i < 100; ++i) pickle += std::string("](h") + i + "eq" + static_cast<char>(i + 1);
  EXPECT_THAT(refusal_of(pickle + "."), HasSubstr("a depth above 64"));
}

}  // namespace
}  // namespace etb::record
