// SPDX-License-Identifier: Apache-2.0
// aten::view_copy, unsqueeze_copy and squeeze_copy: the same elements, in row-major order, with other sizes.
#include <algorithm>
#include <cstring>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/squeeze_copy.hpp"
#include "ops/unsqueeze_copy.hpp"
#include "ops/view_copy.hpp"

namespace etb::host {
namespace {

// Walks all elements of a tensor in row-major order of its dims.
class RowMajorWalk {
 public:
  explicit RowMajorWalk(const Tensor& tensor) : tensor_(tensor) {}
  int64_t offset() const { return offset_; }
  void advance() {
    for (int dim = tensor_.rank() - 1; dim >= 0; --dim) {
      offset_ += tensor_.stride(dim);
      if (++indices_[dim] < tensor_.size(dim)) return;
      offset_ -= tensor_.stride(dim) * tensor_.size(dim);
      indices_[dim] = 0;
    }
  }

 private:
  const Tensor& tensor_;
  int64_t indices_[kMaxRank] = {};
  int64_t offset_ = 0;
};

etb_status copy_as(KernelContext& context, const Tensor& self, std::span<const int64_t> sizes, Tensor& out) {
  ETB_CHECK(resize_output(context, out, sizes));
  if (self.dtype() != out.dtype()) {
    return context.fail(ETB_INVALID_TYPE, "the output is %s, expected %s", to_text(out.dtype()),
                        to_text(self.dtype()));
  }
  if (self.numel() != out.numel()) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s cannot be viewed as %s", SizesText(self.sizes()).text,
                        SizesText(sizes).text);
  }
  if (self.numel() == 0) return ETB_OK;
  if (self.is_contiguous() && out.is_contiguous()) {
    return move_bytes(context, out.data(), self.data(), self.nbytes());
  }
  const size_t nbytes = element_nbytes(self.dtype());
  RowMajorWalk from(self), to(out);
  for (int64_t i = 0; i < self.numel(); ++i, from.advance(), to.advance()) {
    if (context.should_stop(1)) return context.stopped();
    std::memcpy(out.data_as<char>() + static_cast<size_t>(to.offset()) * nbytes,
                self.data_as<char>() + static_cast<size_t>(from.offset()) * nbytes, nbytes);
  }
  return ETB_OK;
}

// view_copy(self, size, out): one size may be -1.
etb_status view_copy_out(KernelContext& context, ops::view_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  const IntList wanted = args.size();
  if (wanted.size() > kMaxRank)
    return context.fail(ETB_INVALID_ARGUMENT, "%zu sizes, expected at most %d", wanted.size(), kMaxRank);
  int64_t sizes[kMaxRank];
  for (size_t i = 0; i < wanted.size(); ++i) sizes[i] = wanted[i];
  std::span<int64_t> filled(sizes, wanted.size());
  ops::Numbers numbers;
  size_t index = 0;
  switch (ops::fill_open_size(numbers, self.numel(), filled, &index)) {
    case ops::ReshapeError::kSize:
      return context.fail(ETB_INVALID_ARGUMENT, "size %zu is %lld", index,
                          static_cast<long long>(sizes[index]));
    case ops::ReshapeError::kDoesNotDivide:
      return context.fail(ETB_INVALID_ARGUMENT, "%lld elements do not fill size %zu",
                          static_cast<long long>(self.numel()), index);
    case ops::ReshapeError::kDiffers:  // copy_as reports it
    case ops::ReshapeError::kNone:
      break;
  }
  return copy_as(context, self, filled, args.out());
}

etb_status unsqueeze_copy_out(KernelContext& context, ops::unsqueeze_copy_out<KernelArguments> args) {
  const Tensor& self = args.self();
  int dim = 0;
  if (self.rank() == kMaxRank)
    return context.fail(ETB_NOT_SUPPORTED, "the result has more than %d dims", kMaxRank);
  ETB_CHECK(wrap_dim(context, args.dim(), self.rank() + 1, &dim));
  int64_t sizes[kMaxRank];
  size_t count = 0;
  ops::insert_size(self.sizes(), static_cast<size_t>(dim), int64_t{1},
                   [&](int64_t size) { sizes[count++] = size; });
  return copy_as(context, self, {sizes, count}, args.out());
}

etb_status squeeze(KernelContext& context, const Tensor& self, const DimSet& dims, Tensor& out) {
  int64_t sizes[kMaxRank];
  size_t count = 0;
  for (int i = 0; i < self.rank(); ++i) {
    if (!ops::is_squeezed(ops::Numbers(), self.size(i), dims.test(static_cast<size_t>(i))))
      sizes[count++] = self.size(i);
  }
  return copy_as(context, self, {sizes, count}, out);
}

etb_status squeeze_copy_dim_out(KernelContext& context, ops::squeeze_copy_dim_out<KernelArguments> args) {
  int dim = 0;
  ETB_CHECK(wrap_dim(context, args.dim(), args.self().rank(), &dim));
  return squeeze(context, args.self(), DimSet().set(static_cast<size_t>(dim)), args.out());
}

// squeeze_copy(self, dims, out): here an empty list means none.
etb_status squeeze_copy_dims_out(KernelContext& context, ops::squeeze_copy_dims_out<KernelArguments> args) {
  DimSet dims;
  if (!args.dim().empty()) {
    ETB_CHECK(wrap_dims(context, args.dim(), args.self().rank(), &dims));
  }
  return squeeze(context, args.self(), dims, args.out());
}

// view_copy(self, dtype, out): the same bytes. Where elements become smaller or larger, the last size changes.
etb_status view_copy_dtype_out(KernelContext& context, ops::view_copy_dtype_out<KernelArguments> args) {
  const Tensor& self = args.self();
  Tensor& out = args.out();
  const auto from = static_cast<int64_t>(element_nbytes(self.dtype()));
  const auto to = static_cast<int64_t>(element_nbytes(out.dtype()));
  const int last = self.rank() - 1;
  int64_t sizes[kMaxRank];
  std::ranges::copy(self.sizes(), sizes);
  int64_t last_nbytes = 0;
  if (from != to &&
      (last < 0 || __builtin_mul_overflow(sizes[last], from, &last_nbytes) || last_nbytes % to != 0)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%s %s, expected a last size that fills elements of %s",
                        to_text(self.dtype()), SizesText(self.sizes()).text, to_text(out.dtype()));
  }
  if (from != to) sizes[last] = last_nbytes / to;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(self.rank())}));
  if (!self.is_contiguous() || !out.is_contiguous())
    return context.fail(ETB_NOT_SUPPORTED, "elements are not in row-major order");
  return move_bytes(context, out.data(), self.data(), self.nbytes());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::view_copy_dtype_out, view_copy_dtype_out>(),
    kernel_row<ops::view_copy_out, view_copy_out>(),
    kernel_row<ops::unsqueeze_copy_out, unsqueeze_copy_out>(),
    kernel_row<ops::squeeze_copy_dim_out, squeeze_copy_dim_out>(),
    kernel_row<ops::squeeze_copy_dims_out, squeeze_copy_dims_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(view_copy, kRows);

}  // namespace etb::host
