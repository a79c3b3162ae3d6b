// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_products.hpp"

#include <cstddef>

#include "etb/cpp/fail.hpp"
#include "host/kernels/elementwise.hpp"

namespace etb::host {

etb_status read_rescale(KernelContext& context, int64_t multiplier, int64_t shift,
                        Rescale* out_rescale) noexcept {
  if (!Rescale::is_valid(multiplier, shift))
    return context.fail(ETB_INVALID_ARGUMENT,
                        "multiplier %lld with shift %lld, expected 0 to 2^31 - 1 and -31 to 30",
                        static_cast<long long>(multiplier), static_cast<long long>(shift));
  *out_rescale = {static_cast<int32_t>(multiplier), static_cast<int32_t>(shift)};
  return ETB_OK;
}

etb_status read_limits(KernelContext& context, int64_t offset, int64_t low, int64_t high,
                       CodeLimits* out_limits) noexcept {
  if (offset < -128 || offset > 127 || low < -128 || high > 127 || low > high) {
    return context.fail(
        ETB_INVALID_ARGUMENT, "output offset %lld with codes from %lld to %lld, expected int8 codes",
        static_cast<long long>(offset), static_cast<long long>(low), static_cast<long long>(high));
  }
  *out_limits = {static_cast<int32_t>(offset), static_cast<int32_t>(low), static_cast<int32_t>(high)};
  return ETB_OK;
}

etb_status read_input_offset(KernelContext& context, int64_t offset, int32_t* out_offset) noexcept {
  if (offset < -127 || offset > 128)
    return context.fail(ETB_INVALID_ARGUMENT, "offset %lld, expected -127 to 128",
                        static_cast<long long>(offset));
  *out_offset = static_cast<int32_t>(offset);
  return ETB_OK;
}

etb_status check_rescales(KernelContext& context, const Tensor& multipliers, const Tensor& shifts,
                          int64_t count) noexcept {
  for (const Tensor* tensor : {&multipliers, &shifts}) {
    if (tensor->dtype() != Dtype::INT32 || tensor->numel() != count || !tensor->is_contiguous()) {
      return context.fail(
          ETB_INVALID_ARGUMENT, "multipliers or shifts are %s %s, expected row-major int32 for %lld channels",
          to_text(tensor->dtype()), SizesText(tensor->sizes()).text, static_cast<long long>(count));
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const int32_t multiplier = multipliers.data_as<int32_t>()[i], shift = shifts.data_as<int32_t>()[i];
    if (!Rescale::is_valid(multiplier, shift))
      return context.fail(ETB_INVALID_ARGUMENT,
                          "multiplier %d with shift %d of channel %lld, expected at least 0 and -31 to 30",
                          static_cast<int>(multiplier), static_cast<int>(shift), static_cast<long long>(i));
  }
  return ETB_OK;
}

etb_status check_bias(KernelContext& context, const Tensor* bias, int64_t count) noexcept {
  if (bias == nullptr || (bias->dtype() == Dtype::INT32 && bias->numel() == count &&
                          (bias->rank() == 1 || bias->is_contiguous()))) {
    return ETB_OK;
  }
  return context.fail(ETB_INVALID_ARGUMENT, "the bias is %s %s, expected row-major int32 for %lld channels",
                      to_text(bias->dtype()), SizesText(bias->sizes()).text, static_cast<long long>(count));
}

namespace {

// Work between two looks at the deadline; also so few codes that their sum fits into 32 bits.
constexpr ptrdiff_t kCount = KernelContext::kPiece / (2 * kTile);

// Adds the part of an offset of all weights. Official files have none, so its speed does not matter.
void add_offset(int32_t offset, const int8_t* x, ptrdiff_t row_stride, ptrdiff_t rows, ptrdiff_t count,
                ptrdiff_t channels, uint32_t (*sums)[kTile]) noexcept {
  for (ptrdiff_t r = 0; r < rows; ++r) {
    const uint32_t part =
        static_cast<uint32_t>(sum_codes(x + r * row_stride, count)) * static_cast<uint32_t>(offset);
    for (ptrdiff_t c = 0; c < channels; ++c) sums[r][c] += part;
  }
}

// One or two rows of all channels, kTile at a time.
etb_status run_rows(KernelContext& context, const IntegerProduct& product, const int8_t* x, int8_t* out,
                    ptrdiff_t rows) noexcept {
  const ptrdiff_t k = product.k, row_stride = product.row_stride, count = product.channel_count;
  const ptrdiff_t out_row = product.out_row_stride, out_step = product.out_channel_stride;
  const uint32_t* starts = product.starts;
  const int8_t* weights = product.weights;
  ChannelRescales rescales = product.rescales;
  for (ptrdiff_t left = count; left > 0;) {
    const ptrdiff_t channels = std::min<ptrdiff_t>(kTile, left);
    uint32_t sums[2][kTile];
    const uint32_t* from[2] = {starts, starts};
    ptrdiff_t at = 0;
    do {
      const ptrdiff_t part = std::min<ptrdiff_t>(k - at, kCount);
      if (context.should_stop(part * kTile + 1)) return context.stopped();
      if (rows == 2)
        add_row_products<2>(x + at, row_stride, weights + at, k, channels, part, from, sums);
      else
        add_row_products<1>(x + at, row_stride, weights + at, k, channels, part, from, sums);
      if (product.weight_offset != 0)
        add_offset(product.weight_offset, x + at, row_stride, rows, part, channels, sums);
      from[0] = sums[0], from[1] = sums[1];
      at += part;
    } while (at < k);
    store_codes(rescales, product.limits, sums[0], channels, out, out_step);
    if (rows == 2) store_codes(rescales, product.limits, sums[1], channels, out + out_row, out_step);
    left -= channels;
    if (left == 0) break;
    starts += channels;
    weights += channels * k;
    out += channels * out_step;
    rescales = rescales.from(channels);
  }
  return ETB_OK;
}

}  // namespace

etb_status SumStarts::fill(KernelContext& context, ptrdiff_t channels, uint32_t* out) const noexcept {
  const int8_t* row = weights;
  for (ptrdiff_t channel = 0; channel < channels; ++channel, row += k) {
    uint32_t sum = static_cast<uint32_t>(static_cast<int32_t>(k)) * static_cast<uint32_t>(weight_offset);
    for (ptrdiff_t at = 0; at < k; at += kCount) {
      const ptrdiff_t count = std::min<ptrdiff_t>(k - at, kCount);
      if (context.should_stop(count)) return context.stopped();
      if (input_offset != 0) sum += static_cast<uint32_t>(sum_codes(row + at, count));
    }
    out[channel] = sum * static_cast<uint32_t>(input_offset) +
                   (bias == nullptr ? 0 : static_cast<uint32_t>(bias[channel]));
  }
  return ETB_OK;
}

etb_status run_product(KernelContext& context, const IntegerProduct& product) noexcept {
  const int8_t* x = product.rows;
  int8_t* out = product.out;
  if (product.row_count == 1) return run_rows(context, product, x, out, 1);
  for (ptrdiff_t row = 0; row < product.row_count; row += 2) {
    ETB_CHECK(run_rows(context, product, x, out, row + 1 < product.row_count ? 2 : 1));
    x += 2 * product.row_stride;
    out += 2 * product.out_row_stride;
  }
  return ETB_OK;
}

}  // namespace etb::host
