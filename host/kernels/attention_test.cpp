// SPDX-License-Identifier: Apache-2.0
// Attention, caches and grouped products on arguments that no exporter writes: each is rejected, and nothing is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "host/kernels/portable.hpp"

namespace etb::host {
namespace {

using testing::HasSubstr;

class Call {
 public:
  Tensor& tensor(Dtype dtype, std::vector<int64_t> sizes, double value = 0) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    memory_.emplace_back(static_cast<size_t>(count) * element_nbytes(dtype) + 64);
    void* data = memory_.back().data();
    for (int64_t i = 0; i < count; ++i) {
      if (dtype == Dtype::FLOAT32) static_cast<float*>(data)[i] = static_cast<float>(value);
      if (dtype == Dtype::INT64) static_cast<int64_t*>(data)[i] = static_cast<int64_t>(value);
    }
    storages_.emplace_back();
    tensors_.push_back(storages_.back().make(
        dtype, sizes, data, static_cast<uint64_t>(count) * element_nbytes(dtype), {}, Dynamism::kBounded));
    add(EValue(&tensors_.back()));
    return tensors_.back();
  }
  Call& floats(std::vector<int64_t> sizes, double value = 0) {
    tensor(Dtype::FLOAT32, std::move(sizes), value);
    return *this;
  }
  Call& add(EValue value) {
    values_.push_back(value);
    args_.push_back(&values_.back());
    return *this;
  }
  // Returns the error, or "".
  std::string run(const char* name, uint64_t scratch_nbytes = 1 << 22) {
    KernelRegistry registry;
    EXPECT_EQ(add_portable_kernels(registry), ETB_OK);
    std::vector<std::byte> scratch(scratch_nbytes);
    etb_error error = ETB_ERROR_INIT;
    KernelContext context(scratch, registry.vector_table(), &error);
    const etb_status status = call_kernel(context, *registry.find(name, "out"), args_.data(), args_.size());
    return status == ETB_OK ? "" : error.text;
  }

 private:
  std::deque<std::vector<std::byte>> memory_;
  std::deque<TensorStorage> storages_;
  std::deque<Tensor> tensors_;
  std::deque<EValue> values_;
  std::vector<EValue*> args_;
};

struct Options {
  std::vector<int64_t> query = {1, 2, 4, 8}, key = {1, 6, 2, 8}, value = {1, 6, 2, 8};
  int64_t start = 3;
  double scale = 1;
  bool is_causal = true, has_mask = false;
  uint64_t scratch_nbytes = 1 << 22;
};

std::string attend(const Options& options) {
  Call call;
  call.floats(options.query, 1).floats(options.key, 1).floats(options.value, 2);
  call.add(EValue(options.start));
  if (options.has_mask) {
    call.floats({2, 5});
  } else {
    call.add(EValue());
  }
  call.add(EValue(0.0)).add(EValue(options.is_causal)).add(EValue(options.scale));
  call.floats(options.query);
  return call.run("llama::custom_sdpa", options.scratch_nbytes);
}

TEST(Attention, RejectsPositionsOutsideTheCache) {
  EXPECT_EQ(attend({}), "");
  EXPECT_THAT(attend({.start = 5}), HasSubstr("2 queries from position 5, but 6 keys"));
  EXPECT_THAT(attend({.start = -1}), HasSubstr("position -1"));
  EXPECT_THAT(attend({.start = std::numeric_limits<int64_t>::max()}), HasSubstr("but 6 keys"));
  EXPECT_THAT(attend({.start = std::numeric_limits<int64_t>::min()}), HasSubstr("but 6 keys"));
}

TEST(Attention, RejectsSizesThatDoNotAgree) {
  EXPECT_THAT(attend({.key = {1, 6, 3, 8}, .value = {1, 6, 3, 8}}), HasSubstr("with keys [1, 6, 3, 8]"));
  EXPECT_THAT(attend({.key = {1, 6, 2, 4}, .value = {1, 6, 2, 4}}), HasSubstr("with keys"));
  EXPECT_THAT(attend({.value = {1, 5, 2, 8}}), HasSubstr("values [1, 5, 2, 8]"));
  EXPECT_THAT(attend({.key = {2, 6, 2, 8}, .value = {2, 6, 2, 8}}), HasSubstr("with keys"));
  EXPECT_THAT(attend({.key = {6, 2, 8}}), HasSubstr("the key has rank 3, expected 4"));
  EXPECT_THAT(attend({.key = {1, 6, 0, 8}, .value = {1, 6, 0, 8}}), HasSubstr("with keys"));
  EXPECT_THAT(attend({.query = {1, 1, 1, 5000}}), HasSubstr("expected at most 4096"));
}

TEST(Attention, RejectsNumbersThatAreNone) {
  EXPECT_THAT(attend({.scale = NAN}), HasSubstr("the scale is not finite"));
  EXPECT_THAT(attend({.scale = INFINITY}), HasSubstr("the scale is not finite"));
  EXPECT_THAT(attend({.has_mask = true}), HasSubstr("a mask and is_causal"));
  EXPECT_THAT(attend({.is_causal = false, .has_mask = true}),
              HasSubstr("a mask [2, 5] for 2 queries and 6 keys"));
}

TEST(Attention, SaysHowMuchScratchItNeeds) {
  EXPECT_THAT(attend({.scratch_nbytes = 64}), HasSubstr("scratch"));
}

TEST(CacheUpdate, RejectsPositionsOutsideTheCache) {
  const auto update = [](int64_t start, std::vector<int64_t> value) {
    Call call;
    call.floats(std::move(value), 7).floats({1, 4, 2, 2}).add(EValue(start)).floats({1});
    return call.run("llama::update_cache");
  };
  EXPECT_EQ(update(2, {1, 2, 2, 2}), "");
  EXPECT_THAT(update(3, {1, 2, 2, 2}), HasSubstr("2 rows at position 3 of a cache of 4 positions"));
  EXPECT_THAT(update(-1, {1, 2, 2, 2}), HasSubstr("position -1"));
  EXPECT_THAT(update(std::numeric_limits<int64_t>::max(), {1, 2, 2, 2}), HasSubstr("of 4 positions"));
  EXPECT_THAT(update(0, {1, 5, 2, 2}), HasSubstr("5 rows"));
  EXPECT_THAT(update(0, {1, 2, 2, 3}), HasSubstr("a value [1, 2, 2, 3] for a cache [1, 4, 2, 2]"));
}

TEST(CacheUpdate, AnIndexOutsideTheCacheWritesNothing) {
  for (const int64_t index : {int64_t{4}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    Call call;
    call.floats({1, 2, 1, 1}, 7);
    const Tensor& cache = call.tensor(Dtype::FLOAT32, {1, 4, 1, 1}, 1);
    call.add(EValue(int64_t{0}));
    const Tensor& indices = call.tensor(Dtype::INT64, {1, 2});
    indices.data_as<int64_t>()[1] = index;
    call.floats({1});
    EXPECT_THAT(call.run("llama::update_cache_with_indices"), HasSubstr("in a dim of size 4"));
    EXPECT_EQ(cache.data_as<float>()[0], 1.0f) << "the first index was valid";
  }
}

TEST(GroupedProduct, RejectsGroupsOutsideTheRows) {
  const auto multiply = [](int64_t first, int64_t second) {
    Call call;
    call.floats({4, 2}, 1).floats({2, 2, 3}, 1);
    const Tensor& ends = call.tensor(Dtype::INT64, {2});
    ends.data_as<int64_t>()[0] = first;
    ends.data_as<int64_t>()[1] = second;
    call.floats({4, 3});
    return call.run("transformers::grouped_mm_fallback");
  };
  EXPECT_EQ(multiply(0, 4), "");
  EXPECT_THAT(multiply(0, 5), HasSubstr("group 1 of rows 0 to 5, expected at most 4"));
  EXPECT_THAT(multiply(3, 2), HasSubstr("group 1 of rows 3 to 2"));
  EXPECT_THAT(multiply(-1, 2), HasSubstr("group 0 of rows 0 to -1"));
}

}  // namespace
}  // namespace etb::host
