// SPDX-License-Identifier: Apache-2.0
// The reader of data files returns what the writer wrote, for tables of any length.
#include "api/format/data_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/format/data_view.hpp"

namespace etb::format {
namespace {

TEST(DataWriter, TheReaderFindsEachTensorForEveryLengthOfTables) {
  const std::vector<std::byte> weights(24, std::byte{7}), bias(8, std::byte{9});
  for (size_t length = 1; length <= 160; ++length) {
    DataParts parts;
    parts.segment_nbytes = {weights.size(), bias.size()};
    DataTensorSpec row;
    row.key = std::string(length, 'w');
    row.dtype = 6;
    row.sizes = {2, 3};
    parts.tensors.push_back(row);
    row = {};
    row.key = std::string(length, 'x');
    row.dtype = 6;
    row.sizes = {2};
    row.segment = 1;
    parts.tensors.push_back(row);
    const std::vector<SegmentPiece> pieces = {{0, weights},
                                              {0, {}, [&](const ByteSink& sink) { return sink(bias); }}};
    std::vector<std::byte> file;
    ASSERT_TRUE(write_data_file(parts, pieces, [&](std::span<const std::byte> bytes) -> Status {
      file.insert(file.end(), bytes.begin(), bytes.end());
      return {};
    }));
    DataView view;
    etb_error error = ETB_ERROR_INIT;
    ASSERT_EQ(read_data(file, &view, &error), ETB_OK) << length;
    ASSERT_EQ(view.count(), 2u);
    for (uint32_t i = 0; i < 2; ++i) {
      const NamedRecord record = view.record(i);
      const std::vector<std::byte>& wanted = record.key[0] == 'w' ? weights : bias;
      ASSERT_EQ(record.range.nbytes, wanted.size());
      const auto at =
          file.begin() + static_cast<std::ptrdiff_t>(view.extent().segment_base + record.range.offset);
      EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), at)) << length;
    }
  }
}

}  // namespace
}  // namespace etb::format
