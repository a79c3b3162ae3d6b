// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_linear: int8 codes in and out, int32 sums.
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_linear.hpp"

namespace etb::host {
namespace {

using Arguments = ops::cortex_m::quantized_linear_out<KernelArguments>;

etb_status check(KernelContext& context, const Tensor& input, const Tensor& weights, const Tensor& out) {
  const int rank = input.rank();
  for (const Tensor* tensor : {&input, &weights, &out}) {
    if (tensor->dtype() != Dtype::INT8 || !tensor->is_contiguous())
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s %s, expected row-major int8",
                          to_text(tensor->dtype()), SizesText(tensor->sizes()).text);
  }
  if (rank > 0 && weights.rank() == 2 && input.size(rank - 1) == weights.size(1)) return ETB_OK;
  return context.fail(ETB_INVALID_ARGUMENT, "%s times the transpose of %s", SizesText(input.sizes()).text,
                      SizesText(weights.sizes()).text);
}

// Copies a piece of the lists of multipliers and shifts; false for one that is not valid. Looks at halves of 64-bit numbers, because
// a small processor compares 32 bits at a time. A function of its own, so that its numbers stay in registers.
[[gnu::noinline]] bool copy_rescales(IntList multipliers, IntList shifts, size_t begin, size_t end,
                                     int32_t* out_multipliers, int32_t* out_shifts) {
  for (size_t i = begin; i < end; ++i) {
    const auto multiplier = static_cast<uint64_t>(multipliers[i]);
    const int64_t shift = shifts[i];
    const auto low = static_cast<uint32_t>(multiplier);
    if ((static_cast<uint32_t>(multiplier >> 32) | low >> 31) != 0) return false;
    const auto moves = static_cast<int32_t>(shift);
    if (static_cast<int32_t>(static_cast<uint64_t>(shift) >> 32) != moves >> 31) return false;
    constexpr uint32_t kMost = Rescale::kLargestShift - Rescale::kLeastShift;
    if (static_cast<uint32_t>(moves) - static_cast<uint32_t>(Rescale::kLeastShift) > kMost) return false;
    out_multipliers[i] = static_cast<int32_t>(low);
    out_shifts[i] = moves;
  }
  return true;
}

// Copies the lists of multipliers and shifts, with one entry for all channels or one for each, into scratch.
etb_status read_rescales(KernelContext& context, const IntList& multipliers, const IntList& shifts,
                         IntegerProduct& product) {
  const size_t count = multipliers.size();
  if (shifts.size() != count || (count != 1 && static_cast<int64_t>(count) != product.channel_count)) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu multipliers and %zu shifts for %lld channels", count,
                        shifts.size(), static_cast<long long>(product.channel_count));
  }
  auto* copies = context.allocate_array<int32_t>(2 * static_cast<int64_t>(count));
  if (copies == nullptr) return context.fail_scratch(2 * count * sizeof(int32_t));
  constexpr size_t kMost = 4096;  // between two looks at the deadline
  for (size_t begin = 0; begin < count; begin += kMost) {
    const size_t end = std::min(count, begin + kMost);
    if (context.should_stop(kMost)) return context.stopped();
    if (copy_rescales(multipliers, shifts, begin, end, copies, copies + count)) continue;
    Rescale unused = {};
    for (size_t i = begin; i < end; ++i) ETB_CHECK(read_rescale(context, multipliers[i], shifts[i], &unused));
  }
  product.rescales = {copies, copies + count, count == 1 ? 0 : 1};
  return ETB_OK;
}

// kernel_sum contains the bias and the part of the input offset, so both are left out beside it.
etb_status read_sums(KernelContext& context, const Arguments& args, IntegerProduct& product) {
  SumStarts starts = {product.weights, product.k, nullptr, 0, 0};
  ETB_CHECK(read_input_offset(context, args.input_offset(), &starts.input_offset));
  ETB_CHECK(read_input_offset(context, args.filter_offset(), &starts.weight_offset));
  product.weight_offset = starts.weight_offset;
  ETB_CHECK(read_limits(context, args.output_offset(), args.activation_min(), args.activation_max(),
                        &product.limits));
  const bool is_complete = args.kernel_sum() != nullptr;
  const Tensor* bias = is_complete ? args.kernel_sum() : args.bias();
  ETB_CHECK(check_bias(context, bias, product.channel_count));
  if (bias != nullptr) starts.bias = bias->data_as<int32_t>();
  if (bias != nullptr && (is_complete || starts.input_offset == 0)) {
    product.starts = reinterpret_cast<const uint32_t*>(starts.bias);
    return ETB_OK;
  }
  auto* sums = context.allocate_array<uint32_t>(product.channel_count);
  if (sums == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(product.channel_count) * sizeof(uint32_t));
  product.starts = sums;
  return starts.fill(context, product.channel_count, sums);
}

etb_status linear_out(KernelContext& context, Arguments args) {
  const Tensor &input = args.input(), &weights = args.weights();
  Tensor& out = args.out();
  ETB_CHECK(check(context, input, weights, out));
  IntegerProduct product;
  product.k = static_cast<ptrdiff_t>(weights.size(1));
  product.channel_count = static_cast<ptrdiff_t>(weights.size(0));
  product.weights = weights.data_as<int8_t>();
  ETB_CHECK(read_sums(context, args, product));
  ETB_CHECK(read_rescales(context, args.requantize_multipliers(), args.requantize_shifts(), product));
  int64_t sizes[kMaxRank];
  const int last = input.rank() - 1;
  for (int dim = 0; dim < last; ++dim) sizes[dim] = input.size(dim);
  sizes[last] = product.channel_count;
  ETB_CHECK(resize_output(context, out, {sizes, static_cast<size_t>(input.rank())}));
  if (out.numel() == 0) return ETB_OK;
  product.rows = input.data_as<int8_t>();
  product.row_stride = product.k;
  product.row_count = static_cast<ptrdiff_t>(out.numel()) / product.channel_count;
  product.out = out.data_as<int8_t>();
  product.out_row_stride = product.channel_count;
  product.out_channel_stride = 1;
  return run_product(context, product);
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::quantized_linear_out, linear_out>()};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_linear, kRows);

}  // namespace etb::host
