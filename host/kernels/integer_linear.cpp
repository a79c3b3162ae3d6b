// SPDX-License-Identifier: Apache-2.0
// cortex_m::quantized_linear: int8 codes in and out, int32 sums.
#include "host/kernels/integer_products.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/cortex_m/quantized_linear.hpp"

namespace etb::host {
namespace {

using Arguments = ops::cortex_m::quantized_linear_out<KernelArguments>;

// A call of a small layer is mostly these checks, so each has a short way for what files have. The others end in functions of their own.

[[gnu::noinline]] bool has_row_major_codes(const Tensor& tensor) {
  return tensor.dtype() == Dtype::INT8 && tensor.is_contiguous();
}

[[gnu::cold, gnu::noinline]] etb_status reject_operands(KernelContext& context, const Tensor& input,
                                                        const Tensor& weights, const Tensor& out) {
  for (const Tensor* tensor : {&input, &weights, &out}) {
    if (!has_row_major_codes(*tensor))
      return context.fail(ETB_INVALID_TYPE, "a tensor is %s %s, expected row-major int8",
                          to_text(tensor->dtype()), SizesText(tensor->sizes()).text);
  }
  return context.fail(ETB_INVALID_ARGUMENT, "%s times the transpose of %s", SizesText(input.sizes()).text,
                      SizesText(weights.sizes()).text);
}

// The same for a matrix in the usual order; false for others.
[[gnu::always_inline]] inline bool is_plain_matrix(const Tensor& tensor) {
  return tensor.dtype() == Dtype::INT8 && tensor.rank() == 2 && tensor.dim_order()[0] == 0;
}

// True for a bias that check_bias would accept, too; false for most others.
[[gnu::always_inline]] inline bool is_plain_bias(const Tensor& tensor, ptrdiff_t count) {
  return tensor.dtype() == Dtype::INT32 && tensor.rank() == 1 && tensor.size(0) == count;
}

bool are_operands(const Tensor& input, const Tensor& weights, const Tensor& out) {
  if (!is_plain_matrix(input) || !is_plain_matrix(weights) || !is_plain_matrix(out)) {
    if (!has_row_major_codes(input) || !has_row_major_codes(weights) || !has_row_major_codes(out))
      return false;
    if (input.rank() == 0 || weights.rank() != 2) return false;
  }
  return input.size(input.rank() - 1) == weights.size(1);
}

using NumberList = std::span<EValue* const>;

// The few channels of a small layer need no scratch.
struct FewRescales {
  static constexpr size_t kMost = 16;
  int32_t numbers[2 * kMost];
};

// Copies lists that are long or not valid.
[[gnu::noinline]] etb_status copy_long_lists(KernelContext& context, NumberList multipliers,
                                             NumberList shifts, IntegerProduct& product) {
  const size_t count = multipliers.size();
  auto* copies = context.allocate_array<int32_t>(2 * static_cast<int64_t>(count));
  if (copies == nullptr) return context.fail_scratch(2 * count * sizeof(int32_t));
  constexpr size_t kMost = 4096;  // between two looks at the deadline
  for (size_t begin = 0; begin < count; begin += kMost) {
    const size_t end = std::min(count, begin + kMost);
    if (context.should_stop(kMost)) return context.stopped();
    if (copy_rescales({&multipliers[begin], &shifts[begin], copies + begin, copies + count + begin},
                      end - begin))
      continue;
    Rescale unused = {};
    for (size_t i = begin; i < end; ++i)
      ETB_CHECK(read_rescale(context, multipliers[i]->to_int(), shifts[i]->to_int(), &unused));
  }
  product.rescales = {copies, copies + count, count == 1 ? 0 : 1};
  return ETB_OK;
}

// Copies the lists of multipliers and shifts, with one entry for all channels or one for each.
etb_status read_rescales(KernelContext& context, const Arguments& args, FewRescales& few,
                         IntegerProduct& product) {
  const NumberList multipliers = args.value_at(Arguments::Index::requantize_multipliers).values(),
                   shifts = args.value_at(Arguments::Index::requantize_shifts).values();
  const size_t count = multipliers.size();
  if (shifts.size() != count || (count != 1 && count != static_cast<size_t>(product.channel_count))) {
    return context.fail(ETB_INVALID_ARGUMENT, "%zu multipliers and %zu shifts for %lld channels", count,
                        shifts.size(), static_cast<long long>(product.channel_count));
  }
  int32_t* out = few.numbers;
  product.rescales = {out, out + count, count == 1 ? 0 : 1};
  if (count <= FewRescales::kMost &&
      copy_rescales({multipliers.data(), shifts.data(), out, out + count}, count))
    return ETB_OK;
  return copy_long_lists(context, multipliers, shifts, product);
}

// Computes the starts of sums with an input offset, from a bias that may be null.
[[gnu::noinline]] etb_status fill_starts(KernelContext& context, int32_t input_offset, const Tensor* bias,
                                         IntegerProduct& product) {
  SumStarts starts = {product.weights, product.k, bias == nullptr ? nullptr : bias->data_as<int32_t>(),
                      input_offset, product.weight_offset};
  auto* sums = context.allocate_array<uint32_t>(product.channel_count);
  if (sums == nullptr)
    return context.fail_scratch(static_cast<uint64_t>(product.channel_count) * sizeof(uint32_t));
  product.starts = sums;
  return starts.fill(context, product.channel_count, sums);
}

// Copies numbers of 64 bits, and collects what must be 0 in their halves.
struct NumberCheck {
  uint32_t rest = 0, signs = 0;

  [[gnu::always_inline]] void read(int64_t number, int32_t least, int32_t most, int32_t* out) {
    const auto low = static_cast<uint32_t>(number);
    *out = static_cast<int32_t>(low);
    rest |= static_cast<uint32_t>(static_cast<uint64_t>(number) >> 32) ^ static_cast<uint32_t>(*out >> 31);
    signs |= (low - static_cast<uint32_t>(least)) | (static_cast<uint32_t>(most) - low);
  }
  bool are_valid() const { return (rest | signs >> 31) == 0; }
};

[[gnu::cold, gnu::noinline]] etb_status reject_numbers(KernelContext& context, const Arguments& args) {
  int32_t unused = 0;
  CodeLimits limits;
  ETB_CHECK(read_input_offset(context, args.input_offset(), &unused));
  ETB_CHECK(read_input_offset(context, args.filter_offset(), &unused));
  return read_limits(context, args.output_offset(), args.activation_min(), args.activation_max(), &limits);
}

// kernel_sum contains the bias and the part of the input offset, so both are left out beside it.
etb_status read_sums(KernelContext& context, const Arguments& args, IntegerProduct& product) {
  int32_t input_offset = 0;
  NumberCheck numbers;
  numbers.read(args.input_offset(), -127, 128, &input_offset);
  numbers.read(args.filter_offset(), -127, 128, &product.weight_offset);
  CodeLimits& limits = product.limits;
  numbers.read(args.output_offset(), -128, 127, &limits.offset);
  numbers.read(args.activation_min(), -128, 127, &limits.low);
  numbers.read(args.activation_max(), -128, 127, &limits.high);
  if (!numbers.are_valid() || limits.low > limits.high) return reject_numbers(context, args);
  const bool is_complete = args.kernel_sum() != nullptr;
  const Tensor* bias = is_complete ? args.kernel_sum() : args.bias();
  if (bias != nullptr && !is_plain_bias(*bias, product.channel_count))
    ETB_CHECK(check_bias(context, bias, product.channel_count));
  if (bias == nullptr || (!is_complete && input_offset != 0))
    return fill_starts(context, input_offset, bias, product);
  product.starts = bias->data_as<uint32_t>();
  return ETB_OK;
}

// True if the output has the sizes of the input, with the channels last. Then resizing it changes nothing.
bool has_result_sizes(const Tensor& input, const Tensor& weights, const Tensor& out) {
  const int last = input.rank() - 1;
  if (out.rank() != input.rank() || out.is_read_only() || out.size(last) != weights.size(0)) return false;
  for (int dim = 0; dim < last; ++dim)
    if (out.size(dim) != input.size(dim)) return false;
  return true;
}

[[gnu::noinline]] etb_status resize_result(KernelContext& context, const Tensor& input, const Tensor& weights,
                                           Tensor& out) {
  int64_t sizes[kMaxRank];
  const int last = input.rank() - 1;
  for (int dim = 0; dim < last; ++dim) sizes[dim] = input.size(dim);
  sizes[last] = weights.size(0);
  return resize_output(context, out, {sizes, static_cast<size_t>(input.rank())});
}

etb_status linear_out(KernelContext& context, Arguments args) {
  const Tensor &input = args.input(), &weights = args.weights();
  Tensor& out = args.out();
  if (!are_operands(input, weights, out)) return reject_operands(context, input, weights, out);
  FewRescales few;
  IntegerProduct product;
  product.k = static_cast<ptrdiff_t>(weights.size(1));
  product.channel_count = static_cast<ptrdiff_t>(weights.size(0));
  product.weights = weights.data_as<int8_t>();
  ETB_CHECK(read_sums(context, args, product));
  ETB_CHECK(read_rescales(context, args, few, product));
  if (!has_result_sizes(input, weights, out)) ETB_CHECK(resize_result(context, input, weights, out));
  const auto numel = static_cast<ptrdiff_t>(out.numel());
  if (numel == 0) return ETB_OK;
  product.rows = input.data_as<int8_t>();
  product.row_stride = product.k;
  product.row_count = numel / product.channel_count;
  product.out = out.data_as<int8_t>();
  product.out_row_stride = product.channel_count;
  product.out_channel_stride = 1;
  return run_product(context, product);
}

constexpr Kernel kRows[] = {kernel_row<ops::cortex_m::quantized_linear_out, linear_out>()};

}  // namespace

ETB_PUBLISH_INTEGER_KERNELS(integer_linear, kRows);

}  // namespace etb::host
