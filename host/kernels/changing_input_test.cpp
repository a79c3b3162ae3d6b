// SPDX-License-Identifier: Apache-2.0
// Kernels that read an input twice, on inputs that change in between: they stop, and write nothing outside their output.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "host/kernels/portable.hpp"

namespace etb::host {
namespace {

// Arguments in one block of memory, overlapping as the test arranges them. Bytes after the block must not change.
class Overlapping {
 public:
  static constexpr size_t kNbytes = 256;

  Overlapping() : memory_(kNbytes + 4096, uint8_t{0xA5}) { std::memset(memory_.data(), 0, kNbytes); }

  template <class T>
  T* at(size_t offset) {
    return reinterpret_cast<T*>(memory_.data() + offset);
  }
  Overlapping& tensor(Dtype dtype, std::vector<int64_t> sizes, size_t offset, uint64_t capacity_bytes) {
    storages_.emplace_back();
    tensors_.push_back(
        storages_.back().make(dtype, sizes, memory_.data() + offset, capacity_bytes, {}, Dynamism::kBounded));
    return add(EValue(&tensors_.back()));
  }
  Overlapping& add(EValue value) {
    values_.push_back(value);
    args_.push_back(&values_.back());
    return *this;
  }
  etb_status run(const char* name, const char* overload) {
    KernelRegistry registry;
    EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
    std::vector<std::byte> scratch(1 << 16);
    KernelContext context(scratch, registry.vector_table());
    return call_kernel(context, *registry.find(name, overload), args_.data(), args_.size());
  }
  ~Overlapping() {
    for (size_t i = kNbytes; i < memory_.size(); ++i) EXPECT_EQ(memory_[i], 0xA5) << "byte " << i;
  }

 private:
  std::vector<uint8_t> memory_;
  std::deque<TensorStorage> storages_;
  std::deque<Tensor> tensors_;
  std::deque<EValue> values_;
  std::vector<EValue*> args_;
};

TEST(ChangingInput, MaskedSelectStopsAtWhatItCounted) {
  Overlapping call;
  std::memset(call.at<uint8_t>(0), 1, 8);
  *call.at<uint8_t>(15) = 1;  // the mask's first element; the output makes the others true
  call.tensor(Dtype::INT64, {1}, 0, 8).tensor(Dtype::BOOL, {200}, 15, 200).tensor(Dtype::INT64, {1}, 16, 8);
  EXPECT_EQ(call.run("aten::masked_select", "out"), ETB_INVALID_STATE);
}

TEST(ChangingInput, NonzeroStopsAtWhatItCounted) {
  Overlapping call;
  *call.at<uint8_t>(1) = 1;  // its position, 1, becomes another element that is not zero
  call.tensor(Dtype::UINT8, {256}, 0, 256).tensor(Dtype::INT64, {1, 1}, 8, 8);
  EXPECT_EQ(call.run("aten::nonzero", "out"), ETB_INVALID_STATE);
}

TEST(ChangingInput, RepeatInterleaveStopsAtWhatItCounted) {
  Overlapping call;
  *call.at<int64_t>(8) = 1;  // index 1 once, and that 1 is written over repeat 2, which was 0
  call.tensor(Dtype::INT64, {32}, 0, 256).add(EValue()).tensor(Dtype::INT64, {1}, 16, 8);
  EXPECT_EQ(call.run("aten::repeat_interleave", "Tensor_out"), ETB_INVALID_STATE);
}

// The sums of bag 0 are written over the index of bag 1, whose bits are then far outside the table.
TEST(ChangingInput, EmbeddingBagChecksEachIndexWhenItReadsIt) {
  Overlapping call;
  for (int i = 0; i < 4; ++i) call.at<float>(64)[i] = 1.0F;
  call.at<int64_t>(0)[1] = 1;  // offsets 0, 1
  call.tensor(Dtype::FLOAT32, {2, 2}, 64, 16)
      .tensor(Dtype::INT64, {2}, 96, 16)
      .tensor(Dtype::INT64, {2}, 0, 16);
  call.add(EValue(false)).add(EValue(int64_t{0})).add(EValue(false)).add(EValue()).add(EValue(false));
  call.add(EValue(int64_t{-1}));
  call.tensor(Dtype::FLOAT32, {2, 2}, 104, 16).tensor(Dtype::INT64, {0}, 128, 0);
  call.tensor(Dtype::INT64, {2}, 136, 16).tensor(Dtype::INT64, {2}, 160, 16);
  EXPECT_EQ(call.run("aten::_embedding_bag", "out"), ETB_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace etb::host
