// SPDX-License-Identifier: Apache-2.0
// aten::_embedding_bag: rows of a table summed, averaged or their largest taken, one bag of indices at a time.
#include <algorithm>
#include <cstring>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/_embedding_bag.hpp"

namespace etb::host {
namespace {

enum Mode : int64_t { kSum, kMean, kMax };

class EmbeddingBag {
 public:
  EmbeddingBag(KernelContext& context, ops::_embedding_bag_out<KernelArguments> args)
      : context_(context),
        weight_(args.weight()),
        indices_(args.indices()),
        offsets_(args.offsets()),
        mode_(args.mode()),
        scales_(args.per_sample_weights()),
        has_last_offset_(args.include_last_offset()),
        padding_index_(args.padding_idx()),
        out_(args.out0()),
        bag_of_index_(args.out1()),
        bag_size_(args.out2()),
        largest_(args.out3()) {}

  etb_status run() {
    ETB_CHECK(check());
    ETB_CHECK(resize());
    return is_float64(weight_.dtype()) ? add_bags(0.0) : add_bags(0.0F);
  }

 private:
  etb_status check() {
    const bool has_ranks = weight_.rank() == 2 && indices_.rank() == 1 && offsets_.rank() == 1;
    if (!has_ranks || mode_ < kSum || mode_ > kMax) {
      return context_.fail(ETB_INVALID_ARGUMENT, "weights %s, indices %s, offsets %s, mode %lld",
                           SizesText(weight_.sizes()).text, SizesText(indices_.sizes()).text,
                           SizesText(offsets_.sizes()).text, static_cast<long long>(mode_));
    }
    if (!is_floating(weight_.dtype()))
      return context_.fail(ETB_INVALID_TYPE, "the weights are %s, expected a float",
                           to_text(weight_.dtype()));
    ETB_CHECK(expect_same_dtype(context_, weight_, out_));
    for (const Tensor* tensor : {&indices_, &offsets_}) {
      ETB_CHECK(expect_index(context_, *tensor));
    }
    for (const Tensor* tensor : {&bag_of_index_, &bag_size_, &largest_}) {
      ETB_CHECK(expect_index(context_, *tensor));
    }
    bag_count_ = offsets_.size(0) - (has_last_offset_ ? 1 : 0);
    if (bag_count_ < 0)
      return context_.fail(ETB_INVALID_ARGUMENT, "no offsets, expected at least the last one");
    if (scales_ != nullptr && (mode_ != kSum || scales_->rank() != 1 ||
                               scales_->size(0) != indices_.size(0) || scales_->dtype() != weight_.dtype())) {
      return context_.fail(ETB_INVALID_ARGUMENT, "per-sample weights %s %s for %lld indices in mode %lld",
                           to_text(scales_->dtype()), SizesText(scales_->sizes()).text,
                           static_cast<long long>(indices_.size(0)), static_cast<long long>(mode_));
    }
    if (padding_index_ < 0) padding_index_ = -1;
    return ETB_OK;
  }

  // PyTorch leaves out the bag of each index where its fastest path does not need it; the sizes are part of what an exporter plans.
  bool omits_bag_of_index() const {
    return mode_ == kSum && weight_.dtype() != Dtype::FLOAT64 && padding_index_ < 0;
  }

  etb_status resize() {
    const int64_t out_sizes[] = {bag_count_, weight_.size(1)};
    const int64_t bags_of_indices[] = {omits_bag_of_index() ? 0 : indices_.size(0)};
    const std::span<const int64_t> bags = {&bag_count_, 1}, both = out_sizes;
    struct Row {
      Tensor& tensor;
      std::span<const int64_t> sizes;
    };
    const Row rows[] = {{out_, both},
                        {bag_of_index_, bags_of_indices},
                        {bag_size_, bags},
                        {largest_, mode_ == kMax ? both : bags}};
    for (const Row& row : rows) {
      ETB_CHECK(resize_output(context_, row.tensor, row.sizes));
      ETB_CHECK(clear_bytes(context_, row.tensor.data(), row.tensor.nbytes()));
    }
    return ETB_OK;
  }

  static void store_index(const Tensor& tensor, int64_t offset, int64_t value) {
    if (tensor.dtype() == Dtype::INT64) {
      tensor.data_as<int64_t>()[offset] = value;
    } else {
      tensor.data_as<int32_t>()[offset] = static_cast<int32_t>(value);
    }
  }

  template <class T>
  etb_status add_bags(T) {
    const int64_t width = weight_.size(1);
    T* sums = context_.allocate_array<T>(width);
    T* row = context_.allocate_array<T>(width);
    if (sums == nullptr || row == nullptr)
      return context_.fail_scratch(static_cast<uint64_t>(width) * 2 * sizeof(T) + 128);
    int64_t begin = 0, end = 0;
    if (offsets_.size(0) != 0) {
      ETB_CHECK(read_offset(0, 0, 0, &begin));
    }
    for (int64_t bag = 0; bag < bag_count_; ++bag, begin = end) {
      if (context_.should_stop(width + 1)) return context_.stopped();
      end = indices_.size(0);
      if (bag + 1 < offsets_.size(0)) {
        ETB_CHECK(read_offset(bag + 1, begin, end, &end));
      }
      ETB_CHECK(add_bag(bag, begin, end, sums, row));
    }
    return ETB_OK;
  }

  // Offsets rise from 0 and stay within the indices. Each offset and index is read once and checked when it is.
  etb_status read_offset(int64_t at, int64_t smallest, int64_t largest, int64_t* out) {
    *out = index_at(offsets_, at);
    if (*out >= smallest && *out <= largest) return ETB_OK;
    return context_.fail(ETB_INVALID_ARGUMENT, "offset %lld is %lld, expected %lld to %lld",
                         static_cast<long long>(at), static_cast<long long>(*out),
                         static_cast<long long>(smallest), static_cast<long long>(largest));
  }

  template <class T>
  etb_status add_bag(int64_t bag, int64_t begin, int64_t end, T* sums, T* row) {
    const int64_t width = weight_.size(1);
    const ConvertLoops& loops = *vector_table(context_).conversions;
    const ConvertLoop load = loops.load[static_cast<int>(weight_.dtype())][static_cast<int>(kComputeOf<T>)];
    const auto add_rows = vector_table(context_).linear<T>().add_rows;
    const bool is_dense = weight_.dtype() == kDtypeOf<T> && weight_.stride(1) == 1 && width != 0;
    std::fill_n(sums, width, T(0));
    int64_t used = 0;
    for (int64_t i = begin; i < end; ++i) {
      if (context_.should_stop(2 * width + 1)) return context_.stopped();
      if (bag_of_index_.numel() != 0) store_index(bag_of_index_, i, bag);
      const int64_t index = index_at(indices_, i);
      if (index < 0 || index >= weight_.size(0)) return fail_index(context_, index, weight_.size(0));
      if (index == padding_index_) continue;
      const T* values = row;
      if (is_dense) {
        values = weight_.data_as<T>() + index * weight_.stride(0);
      } else if (width != 0) {
        load(row, element_at(weight_, index * weight_.stride(0)), weight_.stride(1), width);
      }
      if (mode_ == kMax) {
        take_largest(bag, index, used == 0, sums, values);
      } else {
        const T scale = scales_ != nullptr ? load_element<T>(loops, *scales_, i) : T(1);
        add_rows(sums, values, 0, 1, width, &scale, 0, T(1));
      }
      ++used;
    }
    if (mode_ == kMean && used > 0) {
      for (int64_t column = 0; column < width; ++column) sums[column] /= static_cast<T>(used);
    }
    loops.store[static_cast<int>(out_.dtype())][static_cast<int>(kComputeOf<T>)](
        element_at(out_, bag * out_.stride(0)), sums, out_.stride(1), width);
    if (mode_ == kSum) return ETB_OK;
    store_index(bag_size_, bag, used);
    if (mode_ == kMean) store_index(largest_, bag, used);
    return ETB_OK;
  }

  template <class T>
  void take_largest(int64_t bag, int64_t index, bool is_first, T* sums, const T* row) {
    for (int64_t column = 0; column < weight_.size(1); ++column) {
      if (!is_first && !(row[column] > sums[column])) continue;
      sums[column] = row[column];
      store_index(largest_, bag * largest_.stride(0) + column * largest_.stride(1), index);
    }
  }

  KernelContext& context_;
  const Tensor &weight_, &indices_, &offsets_;
  const int64_t mode_;
  const Tensor* scales_;
  const bool has_last_offset_;
  int64_t padding_index_;
  Tensor &out_, &bag_of_index_, &bag_size_, &largest_;
  int64_t bag_count_ = 0;
};

etb_status embedding_bag_out(KernelContext& context, ops::_embedding_bag_out<KernelArguments> args) {
  return EmbeddingBag(context, args).run();
}

constexpr Kernel kRows[] = {kernel_row<ops::_embedding_bag_out, embedding_bag_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(embedding_bag, kRows);

}  // namespace etb::host
