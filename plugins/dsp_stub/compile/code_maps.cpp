// SPDX-License-Identifier: Apache-2.0
// Functions of one code: tables, and changes of scale.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plugins/dsp_stub/compile/lowering.hpp"

namespace etb::dsp_stub {

bool Functions::are_clamps() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [&](uint32_t index) { return is_clamp(facts_->graph().node(index).op_name()); });
}

float Functions::apply(float x) const {
  for (const uint32_t index : nodes_) {
    const Node node = facts_->graph().node(index);
    x = find_unary(node.op_name())->compute(x, Arguments(node));
  }
  return x;
}

namespace {

float real_of(int32_t code, const Params& params) {
  return static_cast<float>(code - params.zero) * static_cast<float>(params.scale);
}

Codes add_table(NetworkBuilder& builder, const Codes& from, const std::vector<std::byte>& table,
                uint32_t fraction, const Params& to) {
  Codes out = builder.add_codes(from.sizes, from.order, to);
  Layer layer{.kind = Layer::Kind::kTable, .inputs = {from.buffer, kNoBuffer}, .output = out.buffer};
  layer.count = static_cast<uint64_t>(from.numel());
  layer.fraction = fraction;
  layer.tables = builder.add_constant(table);
  builder.add_layer(std::move(layer));
  return out;
}

// int8 codes: the table has the result of each.
Codes add_exact_table(NetworkBuilder& builder, const Codes& from, const Functions& functions,
                      const Params& to) {
  std::vector<std::byte> table;
  for (int32_t code = INT8_MIN; code <= INT8_MAX; ++code)
    append_code(quantise(functions.apply(real_of(code, from.params)), to), to.width, table);
  return add_table(builder, from, table, 0, to);
}

// Clamps limit codes of the new scale: both quantising and clamping are monotonic, so their order does not matter.
Result<Codes> add_rescale(NetworkBuilder& builder, const Codes& from, const Functions& functions,
                          const Params& to) {
  Codes out = builder.add_codes(from.sizes, from.order, to);
  Layer layer{.kind = Layer::Kind::kBinary, .op = DSP_BINARY_ADD, .output = out.buffer};
  layer.inputs = {from.buffer, kNoBuffer};
  layer.count = static_cast<uint64_t>(from.numel());
  layer.in_zeros = {from.params.zero, from.params.zero};
  layer.out_zero = to.zero;
  const Multiplier scale = to_multiplier(from.params.scale / to.scale);
  layer.multipliers = {scale.multiplier, 0};
  layer.shift = scale.shift;
  layer.low = std::max(to.low, quantise(functions.apply(-HUGE_VALF), to));
  layer.high = std::min(to.high, quantise(functions.apply(HUGE_VALF), to));
  if (layer.low > layer.high) return reject("attribute", "limits that exclude every code");
  builder.add_layer(std::move(layer));
  return out;
}

// ---- functions of int16 codes

// Samples of a function at every 2^fraction-th code.
struct Samples {
  uint32_t fraction, sample_bits;
  std::vector<int32_t> values = {};

  int64_t at(int32_t code) const {
    const auto index = static_cast<uint32_t>(code - INT16_MIN);
    return dsp_interpolate(values[index >> fraction], values[(index >> fraction) + 1],
                           index & ((1u << fraction) - 1), fraction, sample_bits);
  }
};

Samples sample(const Params& from, const Functions& functions, const Params& to, uint32_t fraction) {
  Samples out{fraction, to.width == 2 ? 0 : DSP_SAMPLE_BITS};
  const double one = 1 << out.sample_bits;
  for (int32_t code = INT16_MIN; code <= INT16_MAX + 1; code += 1 << fraction) {
    const double real = functions.apply(real_of(code, from)) / to.scale + to.zero;
    const double limited = std::isnan(real) ? to.zero : std::clamp<double>(real, to.low, to.high);
    out.values.push_back(static_cast<int32_t>(std::nearbyint(limited * one)));
  }
  return out;
}

// Adds the smallest table whose interpolation is within one code of the function everywhere.
Result<Codes> add_samples(NetworkBuilder& builder, const Codes& from, const Functions& functions,
                          const Params& to) {
  std::vector<int32_t> exact;
  for (int32_t code = INT16_MIN; code <= INT16_MAX; ++code)
    exact.push_back(quantise(functions.apply(real_of(code, from.params)), to));
  for (uint32_t fraction = DSP_MAX_FRACTION; fraction >= DSP_MIN_FRACTION; --fraction) {
    const Samples samples = sample(from.params, functions, to, fraction);
    bool is_near = true;
    for (int32_t code = INT16_MIN; code <= INT16_MAX && is_near; ++code)
      is_near = std::abs(samples.at(code) - exact[static_cast<size_t>(code - INT16_MIN)]) <= 1;
    if (!is_near) continue;
    std::vector<std::byte> table;
    for (const int32_t value : samples.values) append_code(value, 2, table);
    return add_table(builder, from, table, fraction, to);
  }
  return reject("quant", "a function that 8193 samples between int16 codes miss by more than one code");
}

}  // namespace

Result<Codes> map_codes(NetworkBuilder& builder, const Codes& from, const Functions& functions,
                        const Params& to) {
  if (from.params.width == 1) return add_exact_table(builder, from, functions, to);
  return functions.are_clamps() ? add_rescale(builder, from, functions, to)
                                : add_samples(builder, from, functions, to);
}

}  // namespace etb::dsp_stub
