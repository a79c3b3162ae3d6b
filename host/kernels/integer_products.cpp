// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_products.hpp"

#include <cstddef>
#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

#include "etb/cpp/fail.hpp"
#include "host/kernels/elementwise.hpp"

namespace etb::host {
namespace {

// Sums of two rows and two channels: each value that is loaded serves two products. Unsigned, because they may wrap.
struct Sums {
  uint32_t values[2][2] = {};

  // A function of its own, so that pointers and sums stay in registers.
  [[gnu::noinline]] void add(const int16_t* x0, const int16_t* x1, const int8_t* w0, const int8_t* w1,
                             ptrdiff_t count) noexcept {
#if defined(__ARM_FEATURE_MVE)
    // Eight products at a time, for which GCC 12 finds no instruction in the loop below.
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (ptrdiff_t i = 0; i < count; i += 8) {
      const mve_pred16_t rest = vctp16q(static_cast<uint32_t>(count - i));
      const int16x8_t a = vldrhq_z_s16(x0 + i, rest), b = vldrhq_z_s16(x1 + i, rest);
      const int16x8_t c = vldrbq_z_s16(w0 + i, rest), d = vldrbq_z_s16(w1 + i, rest);
      s00 = vmladavaq_s16(s00, a, c);
      s01 = vmladavaq_s16(s01, a, d);
      s10 = vmladavaq_s16(s10, b, c);
      s11 = vmladavaq_s16(s11, b, d);
    }
    const int32_t found[2][2] = {{s00, s01}, {s10, s11}};
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) values[i][j] += static_cast<uint32_t>(found[i][j]);
#else
    // A product of 9 and 8 bits fits into int32.
    uint32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
    for (ptrdiff_t i = 0; i < count; ++i) {
      const int32_t a = x0[i], b = x1[i], c = w0[i], d = w1[i];
      s00 += static_cast<uint32_t>(a * c);
      s01 += static_cast<uint32_t>(a * d);
      s10 += static_cast<uint32_t>(b * c);
      s11 += static_cast<uint32_t>(b * d);
    }
    values[0][0] += s00, values[0][1] += s01, values[1][0] += s10, values[1][1] += s11;
#endif
  }

  // Adds the part of an offset of all weights. Official files have none, so its speed does not matter.
  void add_offset(const int16_t* const rows[2], int32_t offset, int64_t count) noexcept {
    for (int i = 0; i < 2; ++i) {
      uint32_t sum = 0;
      for (int64_t k = 0; k < count; ++k) sum += static_cast<uint32_t>(int32_t{rows[i][k]});
      for (uint32_t& value : values[i]) value += sum * static_cast<uint32_t>(offset);
    }
  }
};

void store(const IntegerProduct& product, int64_t row, int64_t channel, uint32_t sum) noexcept {
  if (product.bias != nullptr) sum += static_cast<uint32_t>(product.bias[channel]);
  const int32_t rescaled = product.rescale(channel).apply(static_cast<int32_t>(sum));
  product.out[row * product.out_row_stride + channel * product.out_channel_stride] =
      product.codes.code(rescaled);
}

}  // namespace

etb_status Rescale::read(KernelContext& context, int64_t multiplier, int64_t shift,
                         Rescale* out_rescale) noexcept {
  if (!is_valid(multiplier, shift))
    return context.fail(ETB_INVALID_ARGUMENT,
                        "multiplier %lld with shift %lld, expected 0 to 2^31 - 1 and -31 to 30",
                        static_cast<long long>(multiplier), static_cast<long long>(shift));
  *out_rescale = {static_cast<int32_t>(multiplier), static_cast<int32_t>(shift)};
  return ETB_OK;
}

etb_status CodeRange::read(KernelContext& context, int64_t offset, int64_t low, int64_t high,
                           CodeRange* out_range) noexcept {
  if (offset < -128 || offset > 127 || low < -128 || high > 127 || low > high) {
    return context.fail(
        ETB_INVALID_ARGUMENT, "output offset %lld with codes from %lld to %lld, expected int8 codes",
        static_cast<long long>(offset), static_cast<long long>(low), static_cast<long long>(high));
  }
  *out_range = {static_cast<int32_t>(offset), static_cast<int32_t>(low), static_cast<int32_t>(high)};
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
  if (bias == nullptr || (bias->dtype() == Dtype::INT32 && bias->numel() == count && bias->is_contiguous())) {
    return ETB_OK;
  }
  return context.fail(ETB_INVALID_ARGUMENT, "the bias is %s %s, expected row-major int32 for %lld channels",
                      to_text(bias->dtype()), SizesText(bias->sizes()).text, static_cast<long long>(count));
}

etb_status run_product(KernelContext& context, const IntegerProduct& product) noexcept {
  const int64_t k = product.k;
  for (int64_t row = 0; row < product.row_count; row += 2) {
    // A pair that lacks its second half computes the first half twice.
    const bool has_row = row + 1 < product.row_count;
    const int16_t* rows[2] = {product.rows + row * k, product.rows + (has_row ? row + 1 : row) * k};
    for (int64_t channel = 0; channel < product.channel_count; channel += 2) {
      const bool has_channel = channel + 1 < product.channel_count;
      const int8_t* weights[2] = {product.weights + channel * k,
                                  product.weights + (has_channel ? channel + 1 : channel) * k};
      Sums sums;
      for (int64_t at = 0; at < k; at += KernelContext::kPiece / 4) {
        const int64_t count = std::min(k - at, KernelContext::kPiece / 4);
        if (context.should_stop(count + 1)) return context.stopped();
        const int16_t* x[2] = {rows[0] + at, rows[1] + at};

        sums.add(x[0], x[1], weights[0] + at, weights[1] + at, static_cast<ptrdiff_t>(count));
        if (product.weight_offset != 0) sums.add_offset(x, product.weight_offset, count);
      }
      for (int i = 0; i < (has_row ? 2 : 1); ++i) {
        for (int j = 0; j < (has_channel ? 2 : 1); ++j)
          store(product, row + i, channel + j, sums.values[i][j]);
      }
    }
  }
  return ETB_OK;
}

}  // namespace etb::host
