// SPDX-License-Identifier: Apache-2.0
// aten::segment_reduce: sum, mean, largest, smallest or product of each segment of an axis. Segments follow one another, by their
// lengths or by their offsets; each index of the axes before has its own.
#include <limits>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/segment_reduce.hpp"

namespace etb::host {
namespace {

enum class Reduction { kSum, kMean, kMax, kMin, kProduct };

std::optional<Reduction> find_reduction(std::string_view name) {
  constexpr std::string_view kNames[] = {"sum", "mean", "max", "min", "prod"};
  for (int i = 0; i < 5; ++i)
    if (name == kNames[i]) return static_cast<Reduction>(i);
  return std::nullopt;
}

template <class T>
T first_value(Reduction reduction) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  switch (reduction) {
    case Reduction::kMax:
      return -kInfinity;
    case Reduction::kMin:
      return kInfinity;
    case Reduction::kProduct:
      return T(1);
    default:
      return T(0);
  }
}

// One more element. A NaN stays.
template <class T>
T combine(Reduction reduction, T result, T x) {
  switch (reduction) {
    case Reduction::kMax:
      return result > x || result != result ? result : x;
    case Reduction::kMin:
      return result < x || result != result ? result : x;
    case Reduction::kProduct:
      return result * x;
    default:
      return result + x;
  }
}

class SegmentReduce {
 public:
  SegmentReduce(KernelContext& context, ops::segment_reduce_out<KernelArguments> args)
      : context_(context),
        data_(args.data()),
        places_(args.lengths() != nullptr ? args.lengths() : args.offsets()),
        has_lengths_(args.lengths() != nullptr),
        axis_(args.axis()),
        initial_(args.initial()),
        out_(args.out()) {
    reduction_ = find_reduction(args.reduce());
  }

  etb_status run() {
    ETB_CHECK(check());
    int64_t sizes[kMaxRank];
    std::copy(data_.sizes().begin(), data_.sizes().end(), sizes);
    sizes[axis_] = places_->size(static_cast<int>(axis_)) - (has_lengths_ ? 0 : 1);
    segments_ = sizes[axis_];
    ETB_CHECK(resize_output(context_, out_, {sizes, static_cast<size_t>(data_.rank())}));
    return with_compute(data_.dtype(), [&](auto type) { return reduce_all(type); });
  }

 private:
  etb_status check() {
    if (!reduction_.has_value())
      return context_.fail(ETB_INVALID_ARGUMENT,
                           "the reduction is unknown, expected sum, mean, max, min or prod");
    if (!is_floating(data_.dtype()) || out_.dtype() != data_.dtype())
      return context_.fail(ETB_INVALID_TYPE, "%s into %s, expected floats of one dtype",
                           to_text(data_.dtype()), to_text(out_.dtype()));
    if (places_ == nullptr)
      return context_.fail(ETB_INVALID_ARGUMENT, "neither lengths nor offsets of segments");
    ETB_CHECK(expect_index(context_, *places_));
    const bool has_axis = axis_ >= 0 && axis_ < data_.rank() && places_->rank() == axis_ + 1;
    bool fits = has_axis && (has_lengths_ || places_->size(static_cast<int>(axis_)) > 0);
    for (int i = 0; fits && i < axis_; ++i) fits = places_->size(i) == data_.size(i);
    if (fits) return ETB_OK;
    return context_.fail(ETB_INVALID_ARGUMENT, "%s of sizes %s for data %s along dim %lld",
                         has_lengths_ ? "lengths" : "offsets",
                         places_ == nullptr ? "" : SizesText(places_->sizes()).text,
                         SizesText(data_.sizes()).text, static_cast<long long>(axis_));
  }

  // Where segment `i` of a row of places begins and ends; a row of places is read once, in order.
  etb_status find_segment(int64_t row, int64_t i, int64_t* begin, int64_t* end) {
    const int64_t count = segments_ + (has_lengths_ ? 0 : 1), size = data_.size(static_cast<int>(axis_));
    const auto read = [&](int64_t k) {
      return index_at(*places_, row_major_offset(*places_, row * count + k));
    };
    *begin = has_lengths_ ? *end : read(i);
    *end = has_lengths_ ? read(i) : read(i + 1);
    const bool fits =
        has_lengths_ ? *end >= 0 && *end <= size - *begin : *begin >= 0 && *begin <= *end && *end <= size;
    if (!fits)
      return context_.fail(ETB_INVALID_ARGUMENT, "segment %lld from %lld with %s %lld in a dim of size %lld",
                           static_cast<long long>(i), static_cast<long long>(*begin),
                           has_lengths_ ? "length" : "end", static_cast<long long>(*end),
                           static_cast<long long>(size));
    if (has_lengths_) *end += *begin;
    return ETB_OK;
  }

  template <class T>
  etb_status reduce_all(T) {
    const auto axis = static_cast<int>(axis_);
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < axis; ++i) outer *= data_.size(i);
    for (int i = axis + 1; i < data_.rank(); ++i) inner *= data_.size(i);
    if (out_.numel() == 0) return ETB_OK;
    for (int64_t row = 0; row < outer; ++row) {
      int64_t begin = 0, end = 0;
      for (int64_t i = 0; i < segments_; ++i) {
        ETB_CHECK(find_segment(row, i, &begin, &end));
        for (int64_t column = 0; column < inner; ++column) {
          const int64_t from = row_major_offset(data_, row * data_.size(axis) * inner + column);
          const int64_t to = row_major_offset(out_, (row * segments_ + i) * inner + column);
          ETB_CHECK(reduce_one<T>(from, begin, end, to));
        }
      }
    }
    return ETB_OK;
  }

  template <class T>
  etb_status reduce_one(int64_t from, int64_t begin, int64_t end, int64_t to) {
    const ConvertLoops& loops = *vector_table(context_).conversions;
    const int64_t step = data_.stride(static_cast<int>(axis_));
    T result = initial_ != nullptr ? static_cast<T>(initial_->to_double()) : first_value<T>(*reduction_);
    if (context_.should_stop(8)) return context_.stopped();
    for (int64_t k = begin; k < end; ++k) {
      if (context_.should_stop(4)) return context_.stopped();
      result = combine(*reduction_, result, load_element<T>(loops, data_, from + k * step));
    }
    if (*reduction_ == Reduction::kMean) {
      if (end > begin) result /= static_cast<T>(end - begin);
      if (end == begin && initial_ == nullptr) result = std::numeric_limits<T>::quiet_NaN();
    }
    store_element(loops, out_, to, result);
    return ETB_OK;
  }

  KernelContext& context_;
  const Tensor &data_, *places_;
  const bool has_lengths_;
  const int64_t axis_;
  const EValue* initial_;
  Tensor& out_;
  std::optional<Reduction> reduction_;
  int64_t segments_ = 0;
};

// segment_reduce(data, reduce, lengths, indices, offsets, axis, unsafe, initial, out). PyTorch reads no indices.
etb_status segment_reduce_out(KernelContext& context, ops::segment_reduce_out<KernelArguments> args) {
  return SegmentReduce(context, args).run();
}

constexpr Kernel kRows[] = {kernel_row<ops::segment_reduce_out, segment_reduce_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(segment_reduce, kRows);

}  // namespace etb::host
