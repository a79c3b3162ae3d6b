// SPDX-License-Identifier: Apache-2.0
// aten::cat and aten::stack: tensors one behind another.
#include <algorithm>

#include "api/ops/sizes/arithmetic.hpp"
#include "api/ops/sizes/view.hpp"
#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cat.hpp"
#include "ops/stack.hpp"

namespace etb::host {
namespace {

// Copies `from`, converting it, to the part of `out` that has its sizes and begins at `at` along `dim`.
etb_status copy_part(KernelContext& context, const Tensor& from, std::span<const int64_t> sizes, int64_t at,
                     int dim, Tensor& out) {
  auto* to = out.data_as<char>() + static_cast<size_t>(at * out.stride(dim)) * element_nbytes(out.dtype());
  if (from.dtype() == out.dtype()) {
    StridedCopy copy;
    copy.element_nbytes = element_nbytes(out.dtype());
    copy.rank = out.rank();
    copy.to = to;
    copy.from = from.data();
    for (int i = 0, own = 0; i < out.rank(); ++i) {
      const bool is_added = from.rank() < out.rank() && i == dim;
      copy.sizes[i] = sizes[static_cast<size_t>(i)];
      copy.to_strides[i] = out.stride(i);
      copy.from_strides[i] = is_added ? 0 : from.stride(own);
      own += is_added ? 0 : 1;
    }
    return copy.run(context);
  }
  // The part as a tensor of its own would not be dense, so convert slice by slice along the dims before `dim`.
  const VectorTable& table = vector_table(context);
  const ConvertLoop load =
      table.conversions->load[static_cast<int>(from.dtype())][static_cast<int>(compute_of(from.dtype()))];
  const ConvertLoop store =
      table.conversions->store[static_cast<int>(out.dtype())][static_cast<int>(compute_of(from.dtype()))];
  if (load == nullptr || store == nullptr) {
    return context.fail(ETB_INVALID_TYPE, "%s cannot become %s", to_text(from.dtype()), to_text(out.dtype()));
  }
  int64_t indices[kMaxRank] = {};
  for (int64_t i = 0; i < from.numel(); ++i) {
    if (context.should_stop(1)) return context.stopped();
    int64_t to_offset = 0, from_offset = 0;
    for (int k = 0, own = 0; k < out.rank(); ++k) {
      const bool is_added = from.rank() < out.rank() && k == dim;
      to_offset += indices[k] * out.stride(k);
      if (!is_added) from_offset += indices[k] * from.stride(own++);
    }
    alignas(8) char value[8];
    load(value, from.data_as<char>() + static_cast<size_t>(from_offset) * element_nbytes(from.dtype()), 1, 1);
    store(to + static_cast<size_t>(to_offset) * element_nbytes(out.dtype()), value, 1, 1);
    for (int k = out.rank() - 1; k >= 0 && ++indices[k] == sizes[static_cast<size_t>(k)]; --k) indices[k] = 0;
  }
  return ETB_OK;
}

bool is_skipped(const Tensor& tensor) { return ops::is_skipped_by_cat(ops::Numbers(), tensor.sizes()); }

etb_status expect_storable(KernelContext& context, std::span<EValue* const> list, const Tensor& out) {
  for (const EValue* item : list) {
    const Dtype dtype = item->tensor().dtype();
    if (dtype != out.dtype() && !can_store(dtype, out.dtype())) {
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s, the output %s", to_text(dtype),
                          to_text(out.dtype()));
    }
  }
  return ETB_OK;
}

etb_status cat_out(KernelContext& context, ops::cat_out<KernelArguments> args) {
  const std::span<EValue* const> list = args.tensors();
  Tensor& out = args.out();
  const Tensor* first = nullptr;
  for (const EValue* item : list) {
    if (first == nullptr && !is_skipped(item->tensor())) first = &item->tensor();
  }
  if (first == nullptr) {
    const int64_t none = 0;
    return list.empty() ? context.fail(ETB_INVALID_ARGUMENT, "no tensors")
                        : resize_output(context, out, {&none, 1});
  }
  ETB_CHECK(expect_storable(context, list, out));
  int dim = 0;
  if (first->rank() == 0)
    return context.fail(ETB_INVALID_ARGUMENT, "a tensor has rank 0, expected at least 1");
  ETB_CHECK(wrap_dim(context, args.dim(), first->rank(), &dim));
  int64_t sizes[kMaxRank];
  std::copy(first->sizes().begin(), first->sizes().end(), sizes);
  sizes[dim] = 0;
  for (const EValue* item : list) {
    const Tensor& tensor = item->tensor();
    if (is_skipped(tensor)) continue;
    const bool fits = ops::can_join(ops::Numbers(), tensor.sizes(), first->sizes(), static_cast<size_t>(dim));
    if (!fits || __builtin_add_overflow(sizes[dim], tensor.size(dim), &sizes[dim])) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s cannot be joined along dim %d",
                          SizesText(first->sizes()).text, SizesText(tensor.sizes()).text, dim);
    }
  }
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(first->rank())}));
  int64_t at = 0;
  for (const EValue* item : list) {
    const Tensor& tensor = item->tensor();
    if (is_skipped(tensor) || tensor.numel() == 0) continue;
    ETB_CHECK(copy_part(context, tensor, tensor.sizes(), at, dim, out));
    at += tensor.size(dim);
  }
  return ETB_OK;
}

etb_status stack_out(KernelContext& context, ops::stack_out<KernelArguments> args) {
  const std::span<EValue* const> list = args.tensors();
  Tensor& out = args.out();
  if (list.empty()) return context.fail(ETB_INVALID_ARGUMENT, "no tensors");
  ETB_CHECK(expect_storable(context, list, out));
  const Tensor& first = list[0]->tensor();
  int dim = 0;
  if (first.rank() == kMaxRank)
    return context.fail(ETB_NOT_SUPPORTED, "the result has more than %d dims", kMaxRank);
  ETB_CHECK(wrap_dim(context, args.dim(), first.rank() + 1, &dim));
  int64_t sizes[kMaxRank];
  const size_t rank = static_cast<size_t>(first.rank()) + 1;
  for (int i = 0; i <= first.rank(); ++i) {
    sizes[i] = i < dim ? first.size(i) : i == dim ? static_cast<int64_t>(list.size()) : first.size(i - 1);
  }
  for (const EValue* item : list) {
    const Tensor& tensor = item->tensor();
    if (tensor.rank() != first.rank() ||
        !std::equal(tensor.sizes().begin(), tensor.sizes().end(), first.sizes().begin())) {
      return context.fail(ETB_INVALID_ARGUMENT, "sizes %s and %s cannot be stacked",
                          SizesText(first.sizes()).text, SizesText(tensor.sizes()).text);
    }
  }
  ETB_CHECK(resize_output(context, out, {sizes, rank}));
  if (out.numel() == 0) return ETB_OK;
  sizes[dim] = 1;
  int64_t at = 0;
  for (const EValue* item : list) {
    ETB_CHECK(copy_part(context, item->tensor(), {sizes, rank}, at++, dim, out));
  }
  return ETB_OK;
}

constexpr Kernel kRows[] = {kernel_row<ops::cat_out, cat_out>(), kernel_row<ops::stack_out, stack_out>()};

}  // namespace

ETB_PUBLISH_KERNELS(cat, kRows);

}  // namespace etb::host
