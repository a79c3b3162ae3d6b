// SPDX-License-Identifier: Apache-2.0
// A layer between codes, as PT2E writes it: input and weight are dequantised, the result is quantised again.
#pragma once

#include <cstdint>
#include <optional>

#include "conformance/cases/design_convolution.hpp"
#include "conformance/cases/design_quantisation.hpp"
#include "conformance/cases/designs.hpp"

namespace etb::conformance {

enum class LayerKind {
  kLinear,
  kAddmm,
  kMm,
  kConvolution,
  kMean,
  kAdaptiveMean,
  kMaximum,
  kPaddedMaximum,
  kAdd,  // the other operand is a constant
};
enum class LayerClamp { kNone, kRelu, kSix };

struct QuantisedLayer {
  LayerKind kind = LayerKind::kLinear;
  CodeRange codes;                             // input and result have them
  std::optional<CodeRange> result_codes = {};  // the result has these instead
  CodeRange weight_codes = kWeightCodes;
  Shape input;
  Convolution convolution;
  int64_t outputs = 1;  // columns of a product
  double input_scale = 1, weight_scale = 1, result_scale = 1;
  int64_t input_zero = 0, result_zero = 0, weight_zero = 0;
  bool is_per_channel = false, has_bias = false, is_large = false;
  bool is_behind_relu = false;  // a layer of its own, whose codes this one reads
  double bias_factor = 0;       // not 0: the bias has codes of its own, with this times the scale of the sums
  LayerClamp clamp = LayerClamp::kNone;

  const CodeRange& result_range() const { return result_codes ? *result_codes : codes; }
  bool is_wide() const {
    return codes.dtype == ETB_DTYPE_INT16 || result_range().dtype == ETB_DTYPE_INT16 || has_wide_weight();
  }
  bool has_wide_weight() const { return weight_codes.dtype == ETB_DTYPE_INT16; }
  bool is_product() const {
    return kind == LayerKind::kLinear || kind == LayerKind::kAddmm || kind == LayerKind::kMm;
  }
  bool has_weight() const {
    return is_product() || kind == LayerKind::kConvolution || kind == LayerKind::kAdd;
  }
  int64_t length() const {
    return kind == LayerKind::kConvolution ? convolution.length() : input.sizes.back();
  }
  // The dimension of the weight that has the outputs.
  int64_t weight_axis() const {
    return kind == LayerKind::kLinear || (kind == LayerKind::kConvolution && !convolution.is_transposed) ? 0
                                                                                                         : 1;
  }
  Shape weight() const {
    if (kind == LayerKind::kConvolution) return {weight_codes.dtype, convolution.weight_shape().sizes, {}};
    if (kind == LayerKind::kAdd) return {weight_codes.dtype, input.sizes, {}};
    const int64_t inputs = input.sizes.back();
    return {weight_codes.dtype,
            kind == LayerKind::kLinear ? Numbers{outputs, inputs} : Numbers{inputs, outputs},
            {}};
  }
  Shape result() const {
    Shape out = input;
    out.dtype = result_range().dtype;
    if (kind == LayerKind::kConvolution) out.sizes = convolution.result_shape().sizes;
    if (is_product()) out.sizes.back() = outputs;
    if (kind == LayerKind::kMean) out.sizes[2] = out.sizes[3] = 1;
    if (kind == LayerKind::kAdaptiveMean) out.sizes = {out.sizes[0], out.sizes[1], 1, 1};
    if (kind == LayerKind::kPaddedMaximum)
      out.sizes = {out.sizes[0], out.sizes[1], (out.sizes[2] - 1) / 2 + 1, out.sizes[3]};
    if (kind == LayerKind::kMaximum)
      out.sizes = {out.sizes[0], out.sizes[1], out.sizes[2] / 2, out.sizes[3] / 2};
    return out;
  }
  int64_t bias_count() const { return kind == LayerKind::kConvolution ? convolution.channels.out : outputs; }
  double bias_scale() const { return bias_factor * input_scale * weight_scale; }
  const char* op() const {
    constexpr const char* kOps[] = {"aten.linear.default",
                                    "aten.addmm.default",
                                    "aten.mm.default",
                                    "aten.convolution.default",
                                    "aten.mean.dim",
                                    "aten._adaptive_avg_pool2d.default",
                                    "aten.max_pool2d_with_indices.default",
                                    "aten.max_pool2d_with_indices.default",
                                    "aten.add.Tensor"};
    return kOps[static_cast<size_t>(kind)];
  }
};

// Returns the case of a layer: its nodes, its operands with their codes, and its reference without a rounding at the end.
OpForm layer_form(const QuantisedLayer& layer);

// Returns a maker of the same layer at other sizes of the input.
Maker maker_of(const QuantisedLayer& base);

// Returns a scale with which sums of `length` products fill the codes and some saturate.
double result_scale(const QuantisedLayer& layer, bool is_power);

}  // namespace etb::conformance
