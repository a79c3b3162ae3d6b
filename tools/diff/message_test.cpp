// SPDX-License-Identifier: Apache-2.0
// Bytes of a process that ran foreign code: cut, and changed at random.
#include "tools/diff/message.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace etb::diff {
namespace {

TensorData tensor() {
  TensorData out;
  out.shape = {ETB_DTYPE_FLOAT32, {2, 3}, {1, 0}};
  out.bytes.resize(24, std::byte{1});
  return out;
}

std::string message() {
  MessageWriter out;
  write(tensor(), out);
  write(std::vector<DelegatedRegion>{{1, {2, 3, 5}}, {0, {7}}}, out);
  out.text("end");
  return out.take();
}

// Returns true if nothing was damaged.
bool read(std::string_view bytes) {
  MessageReader in(bytes);
  const TensorData found = read_tensor(in);
  EXPECT_TRUE(has_all_bytes(found) || found.bytes.empty());
  EXPECT_LE(read_regions(in).size(), bytes.size() / 8);
  EXPECT_LE(in.text().size(), bytes.size());
  EXPECT_EQ(in.expect_whole().has_value(), !in.is_damaged());
  return !in.is_damaged();
}

TEST(Message, IsReadAsItWasWritten) {
  const std::string bytes = message();
  MessageReader in(bytes);
  const TensorData found = read_tensor(in);
  EXPECT_EQ(found.shape.sizes, tensor().shape.sizes);
  EXPECT_EQ(found.shape.dim_order, tensor().shape.dim_order);
  EXPECT_EQ(found.bytes, tensor().bytes);
  const auto regions = read_regions(in);
  ASSERT_EQ(regions.size(), 2u);
  EXPECT_EQ(regions[0].nodes, (std::vector<uint32_t>{2, 3, 5}));
  EXPECT_EQ(in.text(), "end");
  EXPECT_FALSE(in.is_damaged());
}

TEST(Message, CutBytesAreDamaged) {
  const std::string bytes = message();
  ASSERT_TRUE(read(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read({bytes.data(), size})) << size;
}

TEST(Message, RandomBytesTakeNoMemoryThatTheyDoNotHave) {
  std::mt19937_64 random(7);
  const std::string right = message();
  size_t damaged = 0;
  for (size_t trial = 0; trial < 20000; ++trial) {
    std::string bytes = right;
    for (uint64_t changes = random() % 4 + 1; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    damaged += read(bytes) ? 0 : 1;
  }
  EXPECT_GT(damaged, 5000u);
}

TEST(Message, ACountIsNoLargerThanTheBytesLeft) {
  for (const uint64_t count : {uint64_t{3}, std::numeric_limits<uint64_t>::max()}) {
    MessageWriter out;
    out.number(count);
    out.number(1);
    out.number(2);
    const std::string bytes = out.take();
    MessageReader in(bytes);
    EXPECT_EQ(in.count(), 0u);
    EXPECT_TRUE(in.is_damaged());
  }
}

TEST(Message, ATensorHasTheBytesOfItsSizes) {
  const auto is_whole = [](const std::function<void(TensorData&)>& change) {
    TensorData changed = tensor();
    change(changed);
    MessageWriter out;
    write(changed, out);
    const std::string bytes = out.take();
    MessageReader in(bytes);
    (void)read_tensor(in);
    return !in.is_damaged();
  };
  EXPECT_TRUE(is_whole([](TensorData&) {}));
  EXPECT_TRUE(is_whole([](TensorData& one) { one.shape.sizes = {0, int64_t{1} << 40}, one.bytes.clear(); }));
  EXPECT_TRUE(is_whole([](TensorData& one) { one = {}; }));  // no tensor
  EXPECT_FALSE(is_whole([](TensorData& one) { one.shape.sizes = {2, 4}; }));
  EXPECT_FALSE(is_whole([](TensorData& one) { one.shape.sizes = {-2, -3}; }));
  EXPECT_FALSE(is_whole([](TensorData& one) { one.shape.sizes = {int64_t{1} << 62, 4}; }));
  EXPECT_FALSE(is_whole([](TensorData& one) { one.shape.dtype = static_cast<etb_dtype>(99); }));
  EXPECT_FALSE(is_whole([](TensorData& one) { one.shape.dim_order = {0, 2}; }));
}

}  // namespace
}  // namespace etb::diff
