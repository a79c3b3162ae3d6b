// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/quantised_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace etb::xnnpack {

namespace {

// XNNPACK's signed weights have no zero point.
Status check_zero_point(const XnnValue& weight) {
  if (weight.quantisation == XnnQuantisation::kPerTensor && weight.zero_point != 0)
    return reject("quant", "weight with zero point ", weight.zero_point, ", expected 0");
  return {};
}

// Returns the bias as int32: floats divided by their steps.
ConstantPtr quantised_bias(const ConstantPtr& bias, const std::vector<float>& steps) {
  auto made = std::make_shared<Constant>();
  made->dtype = ETB_DTYPE_INT32;
  made->sizes = bias->sizes;
  made->read = [bias, steps]() -> Result<Bytes> {
    ETB_ASSIGN(const std::vector<float> floats, read_floats(*bias));
    std::vector<std::byte> out(floats.size() * sizeof(int32_t));
    for (size_t i = 0; i < floats.size(); ++i) {
      const double count = std::nearbyint(double{floats[i]} / steps[i % steps.size()]);
      const auto rounded = static_cast<int32_t>(std::clamp(count, -2147483648.0, 2147483647.0));
      std::memcpy(out.data() + i * sizeof rounded, &rounded, sizeof rounded);
    }
    return Bytes(std::move(out));
  };
  return made;
}

}  // namespace

Result<uint32_t> add_filter(LoweringContext& context, const ConstantPtr& filter, uint32_t weight,
                            uint32_t channel_dim, XnnDatatype datatype) {
  XnnGraphBuilder& builder = context.builder();
  const LoweredValue* integers = context.values().find_integers(weight);
  if (!context.is_quantised() || integers == nullptr)
    return builder.add_constant(converted(filter, to_dtype(datatype)), datatype);
  const XnnValue from = builder.value(integers->id);
  const uint32_t id = builder.add_constant(std::make_shared<Constant>(*filter), from.datatype);
  XnnValue& made = builder.value(id);
  made.quantisation = from.quantisation;
  made.scale = from.scale;
  made.zero_point = from.zero_point;
  made.scales = from.scales;
  made.channel_dim = channel_dim;
  ETB_TRY(check_zero_point(from));
  return id;
}

Result<uint32_t> add_dynamic_filter(LoweringContext& context, const ConstantPtr& filter, uint32_t weight,
                                    size_t outputs) {
  XnnGraphBuilder& builder = context.builder();
  const LoweredValue* integers = context.values().find_integers(weight);
  if (integers == nullptr || builder.has_four_bits(integers->id))
    return reject("quant", "weight, expected int8");
  const XnnValue from = builder.value(integers->id);
  ETB_TRY(check_zero_point(from));
  const uint32_t id = builder.add_constant(std::make_shared<Constant>(*filter), XnnDatatype::kQcint8);
  XnnValue& made = builder.value(id);
  made.quantisation = XnnQuantisation::kPerChannel;
  made.scales = from.scales.empty() ? std::vector<float>(outputs, from.scale) : from.scales;
  if (made.scales.size() != outputs) return reject("quant", "weight, expected a scale an output");
  return id;
}

Result<uint32_t> add_bias(LoweringContext& context, const ConstantPtr& bias, uint32_t input,
                          uint32_t filter) {
  XnnGraphBuilder& builder = context.builder();
  if (!context.is_quantised()) {
    ETB_ASSIGN(const XnnDatatype datatype, datatype_of(bias->dtype));
    return builder.add_constant(bias, datatype);
  }
  const XnnValue weights = builder.value(filter);
  const bool is_per_channel = weights.quantisation == XnnQuantisation::kPerChannel;
  std::vector<float> steps = is_per_channel ? weights.scales : std::vector<float>{weights.scale};
  for (float& step : steps) step *= builder.value(input).scale;
  const uint32_t id = builder.add_constant(quantised_bias(bias, steps),
                                           is_per_channel ? XnnDatatype::kQcint32 : XnnDatatype::kQint32);
  XnnValue& value = builder.value(id);
  value.quantisation = weights.quantisation;
  value.scale = steps[0];
  value.scales = is_per_channel ? steps : std::vector<float>();
  return id;
}

Status check_multipliers(LoweringContext& context, uint32_t input, uint32_t filter, uint32_t output) {
  constexpr double kLargest = 255;  // below XNNPACK's 256, as it rounds these quotients in its own order
  if (!context.is_quantised()) return {};
  const XnnGraphBuilder& builder = context.builder();
  const XnnValue& weights = builder.value(filter);
  const double ratio = double{builder.value(input).scale} / builder.value(output).scale;
  const bool is_per_channel = weights.quantisation == XnnQuantisation::kPerChannel;
  for (const float scale : is_per_channel ? weights.scales : std::vector<float>{weights.scale}) {
    if (!(ratio * scale <= kLargest))
      return reject("quant", "products times ", ratio * scale, ", expected at most ", kLargest);
  }
  return {};
}

}  // namespace etb::xnnpack
