// SPDX-License-Identifier: Apache-2.0
#include "api/format/data_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace etb::format {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> external_weights() {
  std::ifstream in(std::filesystem::path(ETB_SOURCE_DIR) / "tests/fixtures/programs/external.ptd",
                   std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

template <class T>
void put(std::vector<std::byte>& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

std::string refusal(const std::vector<std::byte>& file) {
  DataView view;
  etb_error error = ETB_ERROR_INIT;
  return read_data(file, &view, &error) == ETB_OK ? "" : error.text;
}

TEST(DataView, ReadsTheExportersWeights) {
  const auto file = external_weights();
  DataView view;
  etb_error error = ETB_ERROR_INIT;
  ASSERT_EQ(read_data(file, &view, &error), ETB_OK) << error.text;
  std::map<std::string, NamedRecord> records;
  for (uint32_t i = 0; i < view.count(); ++i) records.emplace(view.record(i).key, view.record(i));
  ASSERT_TRUE(records.contains("linear.weight"));
  const auto& weight = records.at("linear.weight");
  ASSERT_TRUE(weight.layout);
  EXPECT_EQ(weight.layout->dtype, 6);
  EXPECT_THAT(weight.layout->sizes, ElementsAre(4, 3));
  EXPECT_EQ(weight.range.nbytes, 48U);
}

TEST(DataView, RefusesWrongHeaders) {
  auto file = external_weights();
  file[4] = std::byte{'X'};
  EXPECT_THAT(refusal(file), HasSubstr("identifier 'XT01' at byte 4, expected 'FT01'"));
  file = external_weights();
  file[9] = std::byte{'?'};
  EXPECT_THAT(refusal(file), HasSubstr("expected the 40-byte header 'FH01'"));
  file = external_weights();
  put<uint64_t>(file, 24, 1 << 20);
  EXPECT_THAT(refusal(file), HasSubstr("flatbuffer of 1048576 bytes at 48"));
  file = external_weights();
  put<uint64_t>(file, 32, 8);
  EXPECT_THAT(refusal(file), HasSubstr("segment base 8"));
  file = external_weights();
  file.pop_back();
  EXPECT_THAT(refusal(file), HasSubstr("truncated"));
}

TEST(DataView, RefusesEveryTruncation) {
  const auto file = external_weights();
  for (size_t length = 0; length < file.size(); ++length) {
    ASSERT_NE(refusal({file.begin(), file.begin() + static_cast<ptrdiff_t>(length)}), "") << length;
  }
}

}  // namespace
}  // namespace etb::format
