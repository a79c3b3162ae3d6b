// SPDX-License-Identifier: Apache-2.0
// int16 codes: CMSIS-NN's s16 functions beside the simulated DSP. Sums have a bias of 64 bits there and of 48 here.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "arm_nnfunctions.h"
#include "count.hpp"
#include "dsp_side.hpp"
#include "files.hpp"
#include "plugins/dsp_stub/core/dsp_core.h"

namespace compare {
namespace {

using Codes = std::vector<int16_t>;

Count count_of(const char* what) { return {.what = what, .lowest = INT16_MIN, .highest = INT16_MAX}; }

Codes draw_wide(Random& random, size_t count) {
  Codes codes(count);
  for (int16_t& code : codes) code = static_cast<int16_t>(random.between(INT16_MIN, INT16_MAX));
  return codes;
}

bool run_device(const DspImage& memory, uint32_t opcode, const std::vector<uint32_t>& words, Codes& out) {
  return memory.run(opcode, words, reinterpret_cast<int8_t*>(out.data()), out.size() * 2);
}

// ---- Layers with sums ----

struct WideLayer {
  Layer layer;
  Codes input;
  std::vector<int8_t> weights;
  std::vector<int64_t> bias;
  std::vector<int32_t> multipliers, shifts;

  WideLayer(Random& random, Kind kind) : layer(draw_layer(random, kind)) {
    if (kind == Kind::kConvolution) {  // CMSIS-NN has no groups here
      layer.in_c = layer.group_in(), layer.groups = 1;
    }
    layer.input_offset = layer.output_offset = 0, layer.low = INT16_MIN, layer.high = INT16_MAX;
    if (random.between(0, 1) != 0)
      layer.low = random.between(INT16_MIN, 0), layer.high = random.between(layer.low, INT16_MAX);
    input = draw_wide(random, layer.input_count());
    for (size_t i = 0; i < layer.weight_count(); ++i)
      weights.push_back(static_cast<int8_t>(random.between(-127, 127)));
    // A sum of n products has a deviation of about 19000 * 74 * sqrt(n); codes should have one of about 18000.
    const double products = static_cast<double>(layer.weight_count()) / layer.out_c;
    const int32_t usual =
        static_cast<int32_t>(std::floor(std::log2(18000 / (19000.0 * 74.0 * std::sqrt(products))))) + 1;
    for (int32_t i = 0; i < layer.out_c; ++i) {
      const bool is_own = kind != Kind::kLinear || i == 0;
      bias.push_back(int64_t{random.between(-5000000, 5000000)} * (random.between(0, 9) == 0 ? 1000 : 1));
      multipliers.push_back(is_own ? random.between(1 << 30, INT32_MAX) : multipliers[0]);
      shifts.push_back(is_own ? usual + random.between(-1, 1) : shifts[0]);
    }
  }

  bool run_cmsis(Codes& out) {
    std::vector<std::byte> scratch(1 << 20);
    const Layer& l = layer;
    const cmsis_nn_dims in = {l.batch, l.in_h, l.in_w, l.in_c},
                        result = {l.batch, l.out_h(), l.out_w(), l.out_c}, biases = {1, 1, 1, l.out_c};
    cmsis_nn_per_channel_quant_params factors = {multipliers.data(), shifts.data()};
    const cmsis_nn_context context = {scratch.data(), static_cast<int32_t>(scratch.size())};
    if (l.kind == Kind::kLinear) {
      const cmsis_nn_dims filter = {l.in_c, 1, 1, l.out_c};
      const cmsis_nn_fc_params params = {0, 0, 0, {l.low, l.high}};
      const cmsis_nn_per_tensor_quant_params one = {multipliers[0], shifts[0]};
      return arm_fully_connected_s16(&context, &params, &one, &in, input.data(), &filter, weights.data(),
                                     &biases, bias.data(), &result, out.data()) == ARM_CMSIS_NN_SUCCESS;
    }
    if (l.kind == Kind::kDepthwise) {
      const cmsis_nn_dims filter = {1, l.kernel_h, l.kernel_w, l.out_c};
      const cmsis_nn_dw_conv_params params = {0,
                                              0,
                                              l.out_c / l.in_c,
                                              {l.stride_w, l.stride_h},
                                              {l.padding_w, l.padding_h},
                                              {l.dilation_w, l.dilation_h},
                                              {l.low, l.high}};
      return arm_depthwise_conv_wrapper_s16(&context, &params, &factors, &in, input.data(), &filter,
                                            weights.data(), &biases, bias.data(), &result,
                                            out.data()) == ARM_CMSIS_NN_SUCCESS;
    }
    const cmsis_nn_dims filter = {l.out_c, l.kernel_h, l.kernel_w, l.in_c};
    const cmsis_nn_conv_params params = {0,
                                         0,
                                         {l.stride_w, l.stride_h},
                                         {l.padding_w, l.padding_h},
                                         {l.dilation_w, l.dilation_h},
                                         {l.low, l.high}};
    const cmsis_nn_bias_data wide = {bias.data(), false};
    return arm_convolve_wrapper_s16(&context, &params, &factors, &in, input.data(), &filter, weights.data(),
                                    &biases, &wide, &result, out.data()) == ARM_CMSIS_NN_SUCCESS;
  }

  // CMSIS-NN reduces a multiplier of 31 bits to 15 bits when it runs, a compiler for the device before.
  int32_t reduced(size_t o) const {
    return multipliers[o] < 0x7fff0000 ? (multipliers[o] + (1 << 15)) >> 16 : INT16_MAX;
  }
  void append_channels(DspImage& memory) const {
    for (size_t o = 0; o < bias.size(); ++o) {
      const auto low = static_cast<uint32_t>(bias[o]), high = static_cast<uint32_t>(bias[o] >> 32) & 0xffffu;
      memory.append_word(low);
      memory.append_word(high | static_cast<uint32_t>(reduced(o)) << 16);
      memory.append_word(static_cast<uint32_t>(15 - shifts[o]));
    }
  }

  bool run_dsp(Codes& out) const {
    const std::vector<int8_t> ordered = device_weights(layer, weights.data());
    const size_t image_in = input.size() / static_cast<size_t>(layer.batch),
                 image_out = out.size() / static_cast<size_t>(layer.batch);
    for (size_t image = 0; image < static_cast<size_t>(layer.batch); ++image) {
      DspImage memory;
      std::vector<uint32_t> w = conv_words(layer);
      append_channels(memory);
      w[DSP_CONV_INPUT] = memory.append(input.data() + image * image_in, image_in * 2);
      w[DSP_CONV_WEIGHTS] = memory.append(ordered.data(), ordered.size());
      if (memory.size() % 2 != 0) memory.append("", 1);
      w[DSP_CONV_OUTPUT] = memory.size(), w[DSP_CONV_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_RESULT;
      Codes part(image_out);
      if (!run_device(memory, DSP_OP_CONV, w, part)) return false;
      std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(image * image_out));
    }
    return true;
  }
};

// One layer for compare_tosa.py, with the codes of the device.
void write_wide(const std::string& base, const WideLayer& layer, const Codes& out) {
  std::vector<int32_t> multipliers, shifts;
  for (size_t o = 0; o < layer.bias.size(); ++o)
    multipliers.push_back(layer.reduced(o)), shifts.push_back(15 - layer.shifts[o]);
  write_numbers(base, layer.layer);
  write_file(base + ".input", layer.input.data(), layer.input.size() * 2);
  write_file(base + ".weights", layer.weights.data(), layer.weights.size());
  write_file(base + ".bias", layer.bias.data(), layer.bias.size() * 8);
  write_file(base + ".multipliers", multipliers.data(), multipliers.size() * 4);
  write_file(base + ".shifts", shifts.data(), shifts.size() * 4);
  write_file(base + ".output", out.data(), out.size() * 2);
}

void compare_wide_layers(Kind kind, const char* what, uint32_t count, const char* folder) {
  Count device = count_of(what);
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 15000 + 1000 * static_cast<uint32_t>(kind));
    WideLayer layer(random, kind);
    Codes theirs(layer.layer.output_count()), ours(theirs.size());
    if (layer.run_cmsis(theirs) && layer.run_dsp(ours))
      device.add(ours.data(), theirs.data(), ours.size());
    else
      ++device.refused;
    if (folder != nullptr && seed < kFiles)
      write_wide(
          std::string(folder) + "/wide" + std::to_string(static_cast<int>(kind)) + "_" + std::to_string(seed),
          layer, ours);
  }
  device.print();
}

// ---- Products with int16 weights ----

// CMSIS-NN has them as a product of two matrices, TOSA as MATMUL. Both have no bias.
void compare_wide_weights(uint32_t count, const char* folder) {
  Count device = count_of("int16 linear with int16 weights, DSP");
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 24000);
    WideLayer layer(random, Kind::kLinear);
    const Layer& l = layer.layer;
    const Codes weights = draw_wide(random, l.weight_count());
    std::fill(layer.bias.begin(), layer.bias.end(), 0);
    for (int32_t& shift : layer.shifts) shift -= 8;
    Codes theirs(l.output_count()), ours(theirs.size());
    const cmsis_nn_dims in = {1, 1, l.batch, l.in_c}, filter = {1, 1, l.out_c, l.in_c},
                        result = {1, 1, l.batch, l.out_c};
    const cmsis_nn_bmm_params params = {false, false, {0, 0, 0, {l.low, l.high}}};
    const cmsis_nn_per_tensor_quant_params one = {layer.multipliers[0], layer.shifts[0]};
    const cmsis_nn_context context = {nullptr, 0};
    if (arm_batch_matmul_s16(&context, &params, &one, &in, layer.input.data(), &filter, weights.data(),
                             &result, theirs.data()) != ARM_CMSIS_NN_SUCCESS)
      ++device.refused;
    DspImage memory;
    std::vector<uint32_t> w = conv_words(l);
    w[DSP_CONV_IN_H] = w[DSP_CONV_OUT_H] = static_cast<uint32_t>(l.batch);
    layer.append_channels(memory);
    w[DSP_CONV_INPUT] = memory.append(layer.input.data(), layer.input.size() * 2);
    w[DSP_CONV_WEIGHTS] = memory.append(weights.data(), weights.size() * 2);
    w[DSP_CONV_OUTPUT] = memory.size();
    w[DSP_CONV_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_SECOND | DSP_WIDE_RESULT;
    device.refused += run_device(memory, DSP_OP_CONV, w, ours) ? 0 : 1;
    device.add(ours.data(), theirs.data(), ours.size());
    if (folder == nullptr || seed >= kFiles) continue;
    const std::string base = std::string(folder) + "/matmul_" + std::to_string(seed);
    write_wide(base, layer, ours);
    write_file(base + ".weights", weights.data(), weights.size() * 2);
  }
  device.print();
}

// ---- Pools ----

void compare_wide_pools(uint32_t count) {
  Count maxima = count_of("int16 max pool, DSP"), averages = count_of("int16 average pool, DSP");
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 19000);
    Layer l;
    l.kernel_h = random.between(1, 6), l.kernel_w = random.between(1, 6),
    l.in_c = l.out_c = random.between(1, 40);
    l.in_h = l.kernel_h + random.between(0, 10), l.in_w = l.kernel_w + random.between(0, 10);
    l.stride_h = random.between(1, 3), l.stride_w = random.between(1, 3);
    const Codes codes = draw_wide(random, l.input_count());
    Codes theirs(l.output_count()), ours(theirs.size());
    const cmsis_nn_dims in = {1, l.in_h, l.in_w, l.in_c}, filter = {1, l.kernel_h, l.kernel_w, 1},
                        result = {1, l.out_h(), l.out_w(), l.in_c};
    const cmsis_nn_pool_params params = {{l.stride_w, l.stride_h}, {0, 0}, {INT16_MIN, INT16_MAX}};
    std::vector<std::byte> scratch(1 << 16);
    const cmsis_nn_context context = {scratch.data(), 1 << 16};
    for (const uint32_t kind : {DSP_POOL_MAX, DSP_POOL_AVERAGE_OF_CODES}) {
      if (kind == DSP_POOL_MAX)
        arm_max_pool_s16(&context, &params, &in, codes.data(), &filter, &result, theirs.data());
      else
        arm_avgpool_s16(&context, &params, &in, codes.data(), &filter, &result, theirs.data());
      DspImage memory;
      std::vector<uint32_t> w(DSP_POOL_WORDS, 1);
      const auto set = [&w](uint32_t field, int32_t value) { w[field] = static_cast<uint32_t>(value); };
      w[DSP_POOL_INPUT] = memory.append(codes.data(), codes.size() * 2);
      w[DSP_POOL_KIND] = kind, w[DSP_POOL_OUTPUT] = memory.size(),
      w[DSP_POOL_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_RESULT;
      set(DSP_POOL_IN_H, l.in_h), set(DSP_POOL_IN_W, l.in_w), set(DSP_POOL_IN_C, l.in_c);
      set(DSP_POOL_OUT_H, l.out_h()), set(DSP_POOL_OUT_W, l.out_w());
      set(DSP_POOL_KERNEL_H, l.kernel_h), set(DSP_POOL_KERNEL_W, l.kernel_w);
      set(DSP_POOL_STRIDE_H, l.stride_h), set(DSP_POOL_STRIDE_W, l.stride_w);
      set(DSP_POOL_PADDING_TOP, 0), set(DSP_POOL_PADDING_LEFT, 0), set(DSP_POOL_IN_ZERO, 0),
          set(DSP_POOL_OUT_ZERO, 0);
      set(DSP_POOL_LOW, INT16_MIN), set(DSP_POOL_HIGH, INT16_MAX);
      set(DSP_POOL_MULTIPLIER, 1 << 30), set(DSP_POOL_SHIFT, 30);
      Count& counted = kind == DSP_POOL_MAX ? maxima : averages;
      counted.refused += run_device(memory, DSP_OP_POOL, w, ours) ? 0 : 1;
      counted.add(ours.data(), theirs.data(), ours.size());
    }
  }
  maxima.print(), averages.print();
}

// ---- Arithmetic ----

void compare_wide_arithmetic(uint32_t count, uint32_t kind) {
  const bool is_product = kind == DSP_BINARY_MULTIPLY;
  Count device = count_of(is_product ? "int16 mul, DSP" : "int16 add, DSP");
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + (is_product ? 21000 : 20000));
    const auto size = static_cast<size_t>(random.between(1, 3000));
    const Codes a = draw_wide(random, size), b = draw_wide(random, size);
    Codes theirs(size), ours(size);
    int32_t multipliers[3], shifts[3];  // of both operands and the result
    for (int i = 0; i < 3; ++i)
      multipliers[i] = random.between(1 << 30, INT32_MAX), shifts[i] = random.between(-4, 0);
    shifts[2] = -15 + random.between(-1, 1);  // the sum is 2^15 steps, as a product is
    const auto elements = static_cast<int32_t>(size);
    if (is_product)
      arm_elementwise_mul_s16(a.data(), b.data(), 0, 0, theirs.data(), 0, multipliers[2], shifts[2],
                              INT16_MIN, INT16_MAX, elements);
    else
      arm_elementwise_add_s16(a.data(), b.data(), 0, multipliers[0], shifts[0], 0, multipliers[1], shifts[1],
                              15, theirs.data(), 0, multipliers[2], shifts[2], INT16_MIN, INT16_MAX,
                              elements);
    DspImage memory;
    std::vector<uint32_t> w(DSP_BINARY_WORDS);
    w[DSP_BINARY_KIND] = kind, w[DSP_BINARY_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_SECOND | DSP_WIDE_RESULT;
    w[DSP_BINARY_A] = memory.append(a.data(), size * 2), w[DSP_BINARY_B] = memory.append(b.data(), size * 2);
    w[DSP_BINARY_OUTPUT] = memory.size(), w[DSP_BINARY_COUNT] = static_cast<uint32_t>(size);
    w[DSP_BINARY_LOW] = static_cast<uint32_t>(INT16_MIN), w[DSP_BINARY_HIGH] = INT16_MAX;
    // Real factors; the larger gets 30 bits.
    const auto real = [&](int side) {
      return std::ldexp(static_cast<double>(multipliers[side]), shifts[side] - 31 + 15) *
             std::ldexp(static_cast<double>(multipliers[2]), shifts[2] - 31);
    };
    const int shift = is_product ? 31 - shifts[2] : 29 - std::ilogb(std::max(real(0), real(1)));
    w[DSP_BINARY_SHIFT] = static_cast<uint32_t>(shift);
    w[DSP_BINARY_A_MULTIPLIER] = is_product ? static_cast<uint32_t>(multipliers[2])
                                            : static_cast<uint32_t>(std::llround(std::ldexp(real(0), shift)));
    w[DSP_BINARY_B_MULTIPLIER] =
        is_product ? 1 : static_cast<uint32_t>(std::llround(std::ldexp(real(1), shift)));
    device.refused += run_device(memory, DSP_OP_BINARY, w, ours) ? 0 : 1;
    device.add(ours.data(), theirs.data(), size);
  }
  device.print();
}

// ---- Softmax ----

// Samples of a function at 513 places for CMSIS-NN, as multiples of 2^-15. Each is moved by half of the error in the middle of the
// line to the next one.
Codes samples_of(double (*function)(double), double first, double last) {
  Codes out;
  const double step = (last - first) / 512;
  for (int i = 0; i <= 512; ++i) {
    const double at = first + i * step, here = function(at), next = function(at + step);
    const double error = i < 512 ? (here + next) / 2 - function(at + step / 2) : 0;
    out.push_back(static_cast<int16_t>(std::min(std::round((here - error / 2) * 32768), 32767.0)));
  }
  return out;
}

void softmax_on_device(const Codes& codes, int32_t rows, int32_t columns, double scale, Count& device,
                       Codes& out) {
  DspImage memory;
  std::vector<uint32_t> w(DSP_SOFTMAX_WORDS);
  for (const double step : {scale * 256, scale})
    for (int i = 0; i < 256; ++i)
      memory.append_word(static_cast<uint32_t>(std::llround(std::exp(-step * i) * DSP_SOFTMAX_WIDE_ONE)));
  w[DSP_SOFTMAX_INPUT] = memory.append(codes.data(), codes.size() * 2), w[DSP_SOFTMAX_OUTPUT] = memory.size();
  w[DSP_SOFTMAX_ROWS] = static_cast<uint32_t>(rows), w[DSP_SOFTMAX_COLUMNS] = static_cast<uint32_t>(columns);
  w[DSP_SOFTMAX_INVERSE] = 256u << 15, w[DSP_SOFTMAX_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_RESULT;
  device.refused += run_device(memory, DSP_OP_SOFTMAX, w, out) ? 0 : 1;
}

Codes exact_softmax(const Codes& codes, int32_t columns, double scale) {
  Codes out;
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t first = i - i % static_cast<size_t>(columns);
    double sum = 0;
    for (size_t k = first; k < first + static_cast<size_t>(columns); ++k)
      sum += std::exp((codes[k] - codes[i]) * scale);
    out.push_back(static_cast<int16_t>(std::min(std::round(32768 / sum), 32767.0)));
  }
  return out;
}

// CMSIS-NN interpolates exp from -10 to 0 and the reciprocal of a sum in steps of 2^-15. Both sides beside double precision show
// how far that is. Some of its results of nearly 1 overflow to negative codes: they are counted, not compared.
void compare_wide_softmax(uint32_t count) {
  Count device = count_of("int16 softmax, DSP"), exact = count_of("int16 softmax, DSP"),
        theirs_exact = count_of("int16 softmax, CMSIS-NN");
  unsigned long long overflows = 0;
  exact.peer = theirs_exact.peer = "double precision";
  const Codes exponentials = samples_of([](double x) { return std::exp(x); }, -10, 0),
              reciprocals = samples_of([](double x) { return 1 / (1 + x); }, 0, 1);
  const cmsis_nn_softmax_lut_s16 tables = {exponentials.data(), reciprocals.data()};
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 23000);
    const int32_t rows = random.between(1, 8), columns = random.between(1, 200);
    const Codes codes = draw_wide(random, static_cast<size_t>(rows) * columns);
    Codes theirs(codes.size()), ours(codes.size());
    const double scale = random.between(1, 200) / 1000.0 / 256;
    int exponent = 0;
    const double mantissa = std::frexp(scale * 65535 / 10, &exponent);
    const auto multiplier =
        static_cast<int32_t>(std::min<int64_t>(std::llround(mantissa * 2147483648.0), INT32_MAX));
    arm_softmax_s16(codes.data(), rows, columns, multiplier, exponent, &tables, theirs.data());
    softmax_on_device(codes, rows, columns, scale, device, ours);
    const Codes wanted = exact_softmax(codes, columns, scale);
    exact.add(ours.data(), wanted.data(), ours.size());
    ++device.cases, ++theirs_exact.cases;
    for (size_t i = 0; i < ours.size(); ++i) {
      if (theirs[i] < 0) {
        ++overflows;
        continue;
      }
      device.add(ours[i], theirs[i]);
      theirs_exact.add(theirs[i], wanted[i]);
    }
  }
  device.print(), exact.print(), theirs_exact.print();
  std::printf("int16 softmax, CMSIS-NN: %llu negative results\n", overflows);
}

// Tables of 513 random samples for compare_tosa.py: 4,096 random codes of each.
void write_tables(const char* folder, uint32_t count) {
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 22000);
    Codes samples = draw_wide(random, 513);
    for (int16_t& sample : samples) sample /= 2;  // TOSA wants differences of 16 bits
    const Codes codes = draw_wide(random, 4096);
    Codes out(codes.size());
    DspImage memory;
    std::vector<uint32_t> w(DSP_TABLE_WORDS);
    w[DSP_TABLE_TABLE] = memory.append(samples.data(), samples.size() * 2);
    w[DSP_TABLE_INPUT] = memory.append(codes.data(), codes.size() * 2);
    w[DSP_TABLE_OUTPUT] = memory.size(), w[DSP_TABLE_COUNT] = static_cast<uint32_t>(codes.size());
    w[DSP_TABLE_FRACTION] = DSP_MAX_FRACTION, w[DSP_TABLE_WIDE] = DSP_WIDE_FIRST | DSP_WIDE_RESULT;
    if (!run_device(memory, DSP_OP_TABLE, w, out)) std::exit(1);
    const std::string base = std::string(folder) + "/table_" + std::to_string(seed);
    write_file(base + ".samples", samples.data(), samples.size() * 2);
    write_file(base + ".input", codes.data(), codes.size() * 2);
    write_file(base + ".output", out.data(), out.size() * 2);
  }
}

}  // namespace

void compare_wide(uint32_t count, const char* folder) {
  compare_wide_layers(Kind::kConvolution, "int16 conv2d, DSP", count, folder);
  compare_wide_layers(Kind::kDepthwise, "int16 depthwise conv2d, DSP", count, folder);
  compare_wide_layers(Kind::kLinear, "int16 linear, DSP", count, folder);
  compare_wide_weights(count, folder);
  if (folder != nullptr) write_tables(folder, 10);
  compare_wide_pools(count);
  compare_wide_arithmetic(count, DSP_BINARY_ADD);
  compare_wide_arithmetic(count, DSP_BINARY_MULTIPLY);
  compare_wide_softmax(count);
}

}  // namespace compare
