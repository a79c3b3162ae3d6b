// SPDX-License-Identifier: Apache-2.0
// aten::scatter, scatter_add and scatter_reduce: elements stored where an index tensor says.
#include <algorithm>

#include "host/kernels/indexing.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/scatter.hpp"
#include "ops/scatter_add.hpp"
#include "ops/scatter_reduce.hpp"

namespace etb::host {
namespace {

// Copies self to out and calls visit(offset in out, offset in src) for each element of the index. `src` may be null.
template <class Visit>
etb_status scatter(KernelContext& context, const Tensor& self, int64_t wanted_dim, const Tensor& index,
                   const Tensor* src, Tensor& out, Visit visit) {
  int dim = 0;
  ETB_CHECK(wrap_dim(context, wanted_dim, self.rank(), &dim));
  ETB_CHECK(resize_output(context, out, self.sizes()));
  ETB_CHECK(expect_same_dtype(context, self, out));
  if (src != nullptr) {
    ETB_CHECK(expect_same_dtype(context, self, *src));
  }
  ETB_CHECK(copy_tensor(context, self, out));
  if (index.numel() == 0) return ETB_OK;
  ETB_CHECK(expect_index(context, index));
  const int rank = index.rank();
  const bool has_ranks = std::max(rank, 1) == std::max(self.rank(), 1) &&
                         (src == nullptr || std::max(src->rank(), 1) == std::max(rank, 1));
  if (!has_ranks) return context.fail(ETB_INVALID_ARGUMENT, "self, index and source differ in rank");
  // A tensor of rank 0 counts as one of rank 1 with one element.
  const auto size_of = [](const Tensor& tensor, int i) { return tensor.rank() == 0 ? 1 : tensor.size(i); };
  for (int i = 0; i < std::max(rank, 1); ++i) {
    const int64_t wanted = size_of(index, i);
    if ((i != dim && wanted > size_of(self, i)) || (src != nullptr && wanted > size_of(*src, i))) {
      return context.fail(ETB_INVALID_ARGUMENT, "index %s for self %s", SizesText(index.sizes()).text,
                          SizesText(self.sizes()).text);
    }
  }
  const int64_t size = self.rank() == 0 ? 1 : self.size(dim);
  int64_t to_strides[kMaxRank], from_strides[kMaxRank] = {};
  fill_index_strides(out, rank, dim, to_strides);
  if (src != nullptr) fill_index_strides(*src, rank, -1, from_strides);
  const int64_t step = out.rank() == 0 ? 0 : out.stride(dim);
  return for_each_index(context, index, size, to_strides, from_strides,
                        [&](int64_t at, int64_t to, int64_t from) { visit(to + at * step, from); });
}

etb_status scatter_src_out(KernelContext& context, ops::scatter_src_out<KernelArguments> args) {
  const Tensor& src = args.src();
  Tensor& out = args.out();
  const auto nbytes = static_cast<int64_t>(element_nbytes(out.dtype()));
  return with_element_copy(static_cast<size_t>(nbytes), [&](auto copy) {
    return scatter(context, args.self(), args.dim(), args.index(), &src, out, [&](int64_t to, int64_t from) {
      copy(out.data_as<char>() + to * nbytes, src.data_as<char>() + from * nbytes);
    });
  });
}

etb_status scatter_value_out(KernelContext& context, ops::scatter_value_out<KernelArguments> args) {
  Tensor& out = args.out();
  if (!is_arithmetic(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
  const ConvertLoops& loops = *vector_table(context).conversions;
  const EValue& number = args.value();
  return scatter(context, args.self(), args.dim(), args.index(), nullptr, out, [&](int64_t to, int64_t) {
    number.is_double() ? store_element(loops, out, to, number.to_double())
                       : store_element(loops, out, to, number.to_int());
  });
}

// The reductions of scatter_reduce, which combine the stored element with the new one.
enum class Reduction { kSum, kProduct, kMean, kMaximum, kMinimum };

template <class T>
T combine(Reduction reduction, T a, T b) {
  if constexpr (kComputeOf<T> == Compute::kInt64) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    if (reduction == Reduction::kProduct) return static_cast<T>(x * y);
    if (reduction == Reduction::kSum || reduction == Reduction::kMean) return static_cast<T>(x + y);
  }
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMean:
      return a + b;
    case Reduction::kProduct:
      return a * b;
    case Reduction::kMaximum:
      return a != a || a > b ? a : b;
    case Reduction::kMinimum:
      return a != a || a < b ? a : b;
  }
  return a;
}

// Reads and writes elements as T; those of T's own dtype without a call.
template <class T>
class Elements {
 public:
  Elements(KernelContext& context, const Tensor& tensor)
      : loops_(*vector_table(context).conversions),
        tensor_(tensor),
        own_(tensor.dtype() == kDtypeOf<T> ? tensor.data_as<T>() : nullptr) {}

  T load(int64_t offset) const {
    return own_ != nullptr ? own_[offset] : load_element<T>(loops_, tensor_, offset);
  }
  void store(int64_t offset, T value) const {
    if (own_ != nullptr) {
      own_[offset] = value;
    } else {
      store_element(loops_, tensor_, offset, value);
    }
  }

 private:
  const ConvertLoops& loops_;
  const Tensor& tensor_;
  T* const own_;
};

etb_status scatter_add_out(KernelContext& context, ops::scatter_add_out<KernelArguments> args) {
  const Tensor& src = args.src();
  Tensor& out = args.out();
  if (!is_arithmetic(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
  return with_compute(out.dtype(), [&](auto type) {
    using T = decltype(type);
    const Elements<T> sums(context, out), added(context, src);
    return scatter(context, args.self(), args.dim(), args.index(), &src, out, [&](int64_t to, int64_t from) {
      sums.store(to, combine(Reduction::kSum, sums.load(to), added.load(from)));
    });
  });
}

bool parse_reduction(std::string_view text, Reduction* out_reduction) {
  constexpr std::pair<std::string_view, Reduction> kNames[] = {{"sum", Reduction::kSum},
                                                               {"prod", Reduction::kProduct},
                                                               {"mean", Reduction::kMean},
                                                               {"amax", Reduction::kMaximum},
                                                               {"amin", Reduction::kMinimum}};
  for (const auto& [name, reduction] : kNames) {
    if (name == text) return *out_reduction = reduction, true;
  }
  return false;
}

// scatter_reduce(self, dim, index, src, reduce, include_self, out). Counts of contributions per element live in scratch.
etb_status scatter_reduce_out(KernelContext& context, ops::scatter_reduce_two_out<KernelArguments> args) {
  const Tensor &self = args.self(), &src = args.src();
  Tensor& out = args.out();
  Reduction reduction;
  if (!parse_reduction(args.reduce(), &reduction)) {
    return context.fail(ETB_INVALID_ARGUMENT, "reduce is '%.*s'", static_cast<int>(args.reduce().size()),
                        args.reduce().data());
  }
  if (!is_arithmetic(out.dtype()))
    return context.fail(ETB_INVALID_TYPE, "the output is %s", to_text(out.dtype()));
  const bool includes_self = args.include_self();
  int64_t* counts = context.allocate_array<int64_t>(self.numel());
  if (counts == nullptr) return context.fail_scratch(static_cast<uint64_t>(self.numel()) * 8);
  const etb_status started = for_each_piece(context, self.numel(), [&](int64_t begin, int64_t length) {
    std::fill_n(counts + begin, length, includes_self ? 1 : 0);
  });
  if (started != ETB_OK) return started;
  return with_compute(out.dtype(), [&](auto type) {
    using T = decltype(type);
    const Elements<T> results(context, out), added(context, src);
    const etb_status status =
        scatter(context, self, args.dim(), args.index(), &src, out, [&](int64_t to, int64_t from) {
          const T value = added.load(from);
          results.store(to, counts[to]++ == 0 ? value : combine(reduction, results.load(to), value));
        });
    if (status != ETB_OK || reduction != Reduction::kMean) return status;
    for (int64_t i = 0; i < out.numel(); ++i) {
      if (context.should_stop(1)) return context.stopped();
      if (counts[i] <= 1) continue;
      const T sum = results.load(i), count = static_cast<T>(counts[i]);
      T mean = sum / count;
      if constexpr (kComputeOf<T> == Compute::kInt64)
        mean -= sum % count != 0 && sum < 0 ? 1 : 0;  // rounds down
      results.store(i, mean);
    }
    return status;
  });
}

constexpr Kernel kRows[] = {
    kernel_row<ops::scatter_src_out, scatter_src_out>(),
    kernel_row<ops::scatter_value_out, scatter_value_out>(),
    kernel_row<ops::scatter_add_out, scatter_add_out>(),
    kernel_row<ops::scatter_reduce_two_out, scatter_reduce_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(scatter, kRows);

}  // namespace etb::host
