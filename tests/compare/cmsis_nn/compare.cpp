// SPDX-License-Identifier: Apache-2.0
// Codes of CMSIS-NN, of the simulated DSP and of the portable kernels for random layers: elements compared, and how many differ.
//
// usage: compare_single|compare_double [layers of each kind [folder for compare_tosa.py]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "arm_nnfunctions.h"
#include "arm_nnsupportfunctions.h"
#include "count.hpp"
#include "dsp_side.hpp"
#include "files.hpp"
#include "host/kernels/integer_products.hpp"
#include "kernel_side.hpp"
#include "layer.hpp"
#include "plugins/dsp_stub/core/dsp_core.h"

namespace {

using namespace compare;

// ---- Factors alone ----

void compare_factors(uint64_t count) {
  Count device = {"requantise, DSP"}, kernels = {"requantise, kernels"};
  Random random(1);
  device.cases = kernels.cases = 1;
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t multiplier = i % 16 == 0 ? 1 << 30 : random.between(1 << 30, INT32_MAX);
    const int32_t shift = random.between(-30, 0);
    // Every 32-bit value; values whose result is a code; exact ties.
    int32_t value = random.between(INT32_MIN, INT32_MAX);
    if (i % 4 != 0) value >>= std::min(23 + shift < 0 ? 0 : 23 + shift, 31);
    const int32_t expected = arm_nn_requantize(value, multiplier, shift);
    device.add(dsp_requantise(value, multiplier, static_cast<uint32_t>(31 - shift)), expected);
    kernels.add(etb::host::Rescale{multiplier, shift}.apply(value), expected);
  }
  device.print(), kernels.print();
}

// One million factors for compare_tosa.py: each of 1,000 multipliers for 1,000 values. TOSA has a range for values.
void write_factors(const std::string& folder) {
  constexpr size_t kCount = 1000;
  Random random(2);
  std::vector<int32_t> multipliers(kCount), shifts(kCount), values(kCount * kCount), results(values.size());
  for (size_t i = 0; i < kCount; ++i) {
    multipliers[i] = random.between(1 << 30, INT32_MAX);
    shifts[i] = random.between(-30, 0);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const int32_t shift = shifts[i % kCount];
    values[i] = random.between(-(1 << 30), (1 << 30) - 1) >> (i % 4 == 0 ? 0 : std::max(22 + shift, 0));
    results[i] = static_cast<int32_t>(
        dsp_requantise(values[i], multipliers[i % kCount], static_cast<uint32_t>(31 - shift)));
  }
  write_file(folder + "/factors.values", values.data(), values.size() * 4);
  write_file(folder + "/factors.results", results.data(), results.size() * 4);
  write_file(folder + "/factors.multipliers", multipliers.data(), kCount * 4);
  write_file(folder + "/factors.shifts", shifts.data(), kCount * 4);
}

// ---- Layers with sums ----

// Memory of one side.
struct Side {
  std::vector<int8_t> output;
  std::vector<std::byte> scratch = std::vector<std::byte>(1 << 20);
};

struct Data {
  explicit Data(const Layer& layer)
      : input(layer.input_count()),
        weights(layer.weight_count()),
        bias(static_cast<size_t>(layer.out_c)),
        multipliers(bias),
        shifts(bias),
        kernel_sums(bias) {}

  Buffers with(Side& side, const Layer& layer) {
    side.output.assign(layer.output_count(), 0);
    return {input.data(),       weights.data(), side.output.data(), bias.data(),
            multipliers.data(), shifts.data(),  kernel_sums.data(), side.scratch};
  }

  std::vector<int8_t> input, weights;
  std::vector<int32_t> bias, multipliers, shifts, kernel_sums;
};

// One layer for compare_tosa.py: its numbers, its data, and the codes of the device.
void write_layer(const std::string& folder, const Layer& l, Data& data, const Side& device) {
  const std::string base = folder + "/" + l.name;
  write_numbers(base, l);
  write_file(base + ".input", data.input.data(), data.input.size());
  write_file(base + ".weights", data.weights.data(), data.weights.size());
  write_file(base + ".bias", data.bias.data(), data.bias.size() * 4);
  write_file(base + ".multipliers", data.multipliers.data(), data.multipliers.size() * 4);
  write_file(base + ".shifts", data.shifts.data(), data.shifts.size() * 4);
  write_file(base + ".output", device.output.data(), device.output.size());
}

void compare_layers(Kind kind, const char* what, uint32_t count, const char* folder) {
  const std::string names[2] = {std::string(what) + ", DSP", std::string(what) + ", kernels"};
  Count device = {names[0].c_str()}, kernels = {names[1].c_str()};
  Side sides[3];
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 1000 * (static_cast<uint32_t>(kind) + 1));
    Layer layer = draw_layer(random, kind);
    Data data(layer);
    const Buffers theirs = data.with(sides[0], layer);
    fill(random, layer, theirs);
    if (kind == Kind::kLinear) fill_kernel_sums(layer, theirs);
    if (!run_cmsis(layer, theirs)) {
      ++device.refused, ++kernels.refused;
      continue;
    }
    const size_t outputs = layer.output_count();
    if (run_dsp(layer, data.with(sides[1], layer)))
      device.add(sides[1].output.data(), sides[0].output.data(), outputs);
    else
      ++device.refused;
    prepare_kernels(layer, data.with(sides[2], layer));
    if (run_kernels())
      kernels.add(sides[2].output.data(), sides[0].output.data(), outputs);
    else
      ++kernels.refused;
    if (folder == nullptr || seed >= kFiles) continue;
    const std::string name = std::to_string(static_cast<int>(kind)) + "_" + std::to_string(seed);
    layer.name = name.c_str();
    write_layer(folder, layer, data, sides[1]);
  }
  device.print(), kernels.print();
}

// ---- Pools ----

struct Pool {
  cmsis_nn_dims input, filter = {1, 1, 1, 1}, output;
  cmsis_nn_pool_params params = {{1, 1}, {0, 0}, {-128, 127}};
  int32_t zero_point;

  explicit Pool(Random& random) {
    input = {1, 0, 0, random.between(1, 40)};
    const auto draw_dim = [&random](int32_t& in, int32_t& kernel, int32_t& stride, int32_t& padding) {
      kernel = random.between(1, 6), stride = random.between(1, 3), padding = random.between(0, kernel / 2);
      in = std::max(kernel - 2 * padding, 1) + random.between(0, 10);
      return (in + 2 * padding - kernel) / stride + 1;
    };
    const int32_t rows = draw_dim(input.h, filter.h, params.stride.h, params.padding.h),
                  columns = draw_dim(input.w, filter.w, params.stride.w, params.padding.w);
    output = {1, rows, columns, input.c};
    zero_point = random.between(-128, 127);
  }
  size_t input_count() const { return static_cast<size_t>(input.h) * input.w * input.c; }
  size_t output_count() const { return static_cast<size_t>(output.h) * output.w * output.c; }

  bool run_dsp(const std::vector<int8_t>& codes, bool is_average, std::vector<int8_t>& out) const {
    DspImage memory;
    std::vector<uint32_t> w(DSP_POOL_WORDS);
    w[DSP_POOL_KIND] = is_average ? DSP_POOL_AVERAGE_OF_CODES : DSP_POOL_MAX;
    w[DSP_POOL_INPUT] = memory.append(codes.data(), codes.size());
    w[DSP_POOL_OUTPUT] = memory.size();
    const auto set = [&w](uint32_t field, int32_t value) { w[field] = static_cast<uint32_t>(value); };
    set(DSP_POOL_IN_H, input.h), set(DSP_POOL_IN_W, input.w), set(DSP_POOL_IN_C, input.c);
    set(DSP_POOL_OUT_H, output.h), set(DSP_POOL_OUT_W, output.w);
    set(DSP_POOL_KERNEL_H, filter.h), set(DSP_POOL_KERNEL_W, filter.w);
    set(DSP_POOL_STRIDE_H, params.stride.h), set(DSP_POOL_STRIDE_W, params.stride.w);
    set(DSP_POOL_DILATION_H, 1), set(DSP_POOL_DILATION_W, 1);
    set(DSP_POOL_PADDING_TOP, params.padding.h), set(DSP_POOL_PADDING_LEFT, params.padding.w);
    set(DSP_POOL_IN_ZERO, zero_point), set(DSP_POOL_OUT_ZERO, zero_point);
    set(DSP_POOL_LOW, -128), set(DSP_POOL_HIGH, 127);
    set(DSP_POOL_MULTIPLIER, 1 << 30), set(DSP_POOL_SHIFT, 30);
    return memory.run(DSP_OP_POOL, w, out.data(), out.size());
  }

  void write(const std::string& base, int kind, const std::vector<int8_t>& codes,
             const std::vector<int8_t>& out) const {
    char text[400];
    const int length =
        std::snprintf(text, sizeof text,
                      "{\"kind\": %d, \"input\": [1, %d, %d, %d], \"kernel\": [%d, %d], \"stride\": [%d, "
                      "%d], \"padding\": [%d, %d], "
                      "\"dilation\": [1, 1], \"input_offset\": %d, \"output\": [1, %d, %d, %d]}\n",
                      kind, input.h, input.w, input.c, filter.h, filter.w, params.stride.h, params.stride.w,
                      params.padding.h, params.padding.w, -zero_point, output.h, output.w, output.c);
    write_file(base + ".json", text, static_cast<size_t>(length));
    write_file(base + ".input", codes.data(), codes.size());
    write_file(base + ".output", out.data(), out.size());
  }

  bool run_kernels(std::vector<int8_t>& codes, bool is_average, std::vector<int8_t>& out) const {
    std::vector<std::byte> scratch(1 << 16);
    KernelCall call(scratch);
    std::array<etb::host::EValue*, 2> items[4];
    call.add(etb::host::Dtype::INT8, {1, input.c, input.h, input.w}, codes.data(), codes.size(),
             kChannelsLast);
    const int32_t pairs[4][2] = {{filter.h, filter.w},
                                 {params.stride.h, params.stride.w},
                                 {params.padding.h, params.padding.w},
                                 {1, 1}};
    for (int i = 0; i < (is_average ? 3 : 4); ++i) call.add_list(pairs[i], 2, items[i]);
    call.add_bool(false);
    if (is_average) {
      for (const int32_t number : {zero_point, 1 << 30, 1}) call.add(number);
      call.add(etb::host::Dtype::UINT8, {0}, nullptr, 0);
    } else {
      for (const int32_t number : {zero_point, zero_point, -128, 127}) call.add(number);
    }
    call.add(etb::host::Dtype::INT8, {1, output.c, output.h, output.w}, out.data(), out.size(),
             kChannelsLast);
    return call.run(registry(), registry().find(is_average ? "cortex_m::quantized_avg_pool2d"
                                                           : "cortex_m::quantized_max_pool2d",
                                                "out"));
  }
};

void compare_pools(uint32_t count, const char* folder) {
  Count maxima = {"maximum pool, DSP"}, device = {"average pool, DSP"},
        kernel_maxima = {"maximum pool, kernels"}, kernels = {"average pool, kernels"};
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 7000);
    const Pool pool(random);
    std::vector<int8_t> codes = draw_codes(random, pool.input_count()), theirs(pool.output_count()),
                        ours(theirs);
    std::vector<std::byte> scratch(1 << 16);
    const cmsis_nn_context context = {scratch.data(), 1 << 16};
    arm_max_pool_s8(&context, &pool.params, &pool.input, codes.data(), &pool.filter, &pool.output,
                    theirs.data());
    maxima.refused += pool.run_dsp(codes, false, ours) ? 0 : 1;
    maxima.add(ours.data(), theirs.data(), ours.size());
    if (folder != nullptr && seed < kFiles)
      pool.write(std::string(folder) + "/3_" + std::to_string(seed), 3, codes, ours);
    kernel_maxima.refused += pool.run_kernels(codes, false, ours) ? 0 : 1;
    kernel_maxima.add(ours.data(), theirs.data(), ours.size());
    arm_avgpool_s8(&context, &pool.params, &pool.input, codes.data(), &pool.filter, &pool.output,
                   theirs.data());
    device.refused += pool.run_dsp(codes, true, ours) ? 0 : 1;
    device.add(ours.data(), theirs.data(), ours.size());
    if (folder != nullptr && seed < kFiles)
      pool.write(std::string(folder) + "/4_" + std::to_string(seed), 4, codes, ours);
    kernels.refused += pool.run_kernels(codes, true, ours) ? 0 : 1;
    kernels.add(ours.data(), theirs.data(), ours.size());
  }
  maxima.print(), kernel_maxima.print(), device.print(), kernels.print();
}

}  // namespace

int main(int argc, char** argv) {
  const auto layers = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300);
  const char* folder = argc > 2 ? argv[2] : nullptr;
  compare_factors(uint64_t{20000} * layers);
  if (folder != nullptr) write_factors(folder);
  compare_layers(Kind::kConvolution, "conv2d", layers, folder);
  compare_layers(Kind::kDepthwise, "depthwise conv2d", layers, folder);
  compare_layers(Kind::kLinear, "linear", layers, folder);
  compare_pools(layers, folder);
  compare_additions(layers);
  compare_products(layers);
  compare_softmax(layers);
  compare_wide(layers, folder);
  return 0;
}
