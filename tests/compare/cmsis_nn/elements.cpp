// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "arm_nnfunctions.h"
#include "count.hpp"
#include "dsp_side.hpp"
#include "kernel_side.hpp"
#include "plugins/dsp_stub/core/dsp_core.h"

namespace compare {
namespace {

struct Operand {
  int32_t zero_point, multiplier, shift;
  explicit Operand(Random& random)
      : zero_point(random.between(-128, 127)),
        multiplier(random.between(1 << 30, INT32_MAX)),
        shift(random.between(-4, 0)) {}
};

// For additions both factors of the device have the shift 20 + 31 - ours of the result, so that it rounds once.
std::vector<uint32_t> binary_words(uint32_t kind, DspImage& memory, const std::vector<int8_t>& a,
                                   const std::vector<int8_t>& b, const Operand& left, const Operand& right,
                                   int32_t out_zero) {
  std::vector<uint32_t> w(DSP_BINARY_WORDS);
  w[DSP_BINARY_KIND] = kind;
  w[DSP_BINARY_A] = memory.append(a.data(), a.size());
  w[DSP_BINARY_B] = memory.append(b.data(), b.size());
  w[DSP_BINARY_OUTPUT] = memory.size();
  w[DSP_BINARY_COUNT] = static_cast<uint32_t>(a.size());
  w[DSP_BINARY_A_ZERO] = static_cast<uint32_t>(left.zero_point);
  w[DSP_BINARY_B_ZERO] = static_cast<uint32_t>(right.zero_point);
  w[DSP_BINARY_OUT_ZERO] = static_cast<uint32_t>(out_zero);
  w[DSP_BINARY_LOW] = static_cast<uint32_t>(-128), w[DSP_BINARY_HIGH] = 127;
  return w;
}

bool add_by_kernels(std::vector<int8_t>& a, std::vector<int8_t>& b, const Operand& left, const Operand& right,
                    const Operand& result, std::vector<int8_t>& out) {
  KernelCall call({});
  const auto count = static_cast<int64_t>(a.size());
  call.add(etb::host::Dtype::INT8, {count}, a.data(), a.size());
  for (const int32_t number : {left.zero_point, left.multiplier, left.shift}) call.add(number);
  call.add(etb::host::Dtype::INT8, {count}, b.data(), b.size());
  for (const int32_t number : {right.zero_point, right.multiplier, right.shift, result.zero_point,
                               result.multiplier, result.shift, -128, 127})
    call.add(number);
  call.add(etb::host::Dtype::INT8, {count}, out.data(), out.size());
  return call.run(registry(), registry().find("cortex_m::quantized_add", "out"));
}

bool multiply_by_kernels(std::vector<int8_t>& a, std::vector<int8_t>& b, const Operand& left,
                         const Operand& right, const Operand& result, std::vector<int8_t>& out) {
  KernelCall call({});
  const auto count = static_cast<int64_t>(a.size());
  call.add(etb::host::Dtype::INT8, {count}, a.data(), a.size());
  call.add(left.zero_point);
  call.add(etb::host::Dtype::INT8, {count}, b.data(), b.size());
  for (const int32_t number : {right.zero_point, result.zero_point, result.multiplier, result.shift})
    call.add(number);
  call.add(etb::host::Dtype::INT8, {count}, out.data(), out.size());
  return call.run(registry(), registry().find("cortex_m::quantized_mul", "out"));
}

}  // namespace

void compare_additions(uint32_t count) {
  Count device = {"add, DSP"}, kernels = {"add, kernels"};
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 9000);
    const auto size = static_cast<size_t>(random.between(1, 3000));
    std::vector<int8_t> a = draw_codes(random, size), b = draw_codes(random, size), theirs(size), ours(size);
    const Operand left(random), right(random);
    Operand result(random);
    result.shift = -20 + random.between(-1, 1);  // the sum is 2^20 steps
    arm_elementwise_add_s8(a.data(), b.data(), -left.zero_point, left.multiplier, left.shift,
                           -right.zero_point, right.multiplier, right.shift, 20, theirs.data(),
                           result.zero_point, result.multiplier, result.shift, -128, 127,
                           static_cast<int32_t>(size));
    DspImage memory;
    std::vector<uint32_t> w = binary_words(DSP_BINARY_ADD, memory, a, b, left, right, result.zero_point);
    // Real factors; the larger gets 30 bits.
    const auto real = [&result](const Operand& side) {
      return std::ldexp(static_cast<double>(side.multiplier), side.shift - 31 + 20) *
             std::ldexp(static_cast<double>(result.multiplier), result.shift - 31);
    };
    const int shift = 29 - std::ilogb(std::max(real(left), real(right)));
    w[DSP_BINARY_A_MULTIPLIER] = static_cast<uint32_t>(std::llround(std::ldexp(real(left), shift)));
    w[DSP_BINARY_B_MULTIPLIER] = static_cast<uint32_t>(std::llround(std::ldexp(real(right), shift)));
    w[DSP_BINARY_SHIFT] = static_cast<uint32_t>(shift);
    device.refused += memory.run(DSP_OP_BINARY, w, ours.data(), size) ? 0 : 1;
    device.add(ours.data(), theirs.data(), size);
    kernels.refused += add_by_kernels(a, b, left, right, result, ours) ? 0 : 1;
    kernels.add(ours.data(), theirs.data(), size);
  }
  device.print(), kernels.print();
}

void compare_products(uint32_t count) {
  Count device = {"mul, DSP"}, kernels = {"mul, kernels"};
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 11000);
    const auto size = static_cast<size_t>(random.between(1, 3000));
    std::vector<int8_t> a = draw_codes(random, size), b = draw_codes(random, size), theirs(size), ours(size);
    const Operand left(random), right(random);
    Operand result(random);
    result.shift = random.between(-8, -5);
    arm_elementwise_mul_s8(a.data(), b.data(), -left.zero_point, -right.zero_point, theirs.data(),
                           result.zero_point, result.multiplier, result.shift, -128, 127,
                           static_cast<int32_t>(size));
    DspImage memory;
    std::vector<uint32_t> w = binary_words(DSP_BINARY_MULTIPLY, memory, a, b, left, right, result.zero_point);
    w[DSP_BINARY_A_MULTIPLIER] = static_cast<uint32_t>(result.multiplier);
    w[DSP_BINARY_B_MULTIPLIER] = 1;
    w[DSP_BINARY_SHIFT] = static_cast<uint32_t>(31 - result.shift);
    device.refused += memory.run(DSP_OP_BINARY, w, ours.data(), size) ? 0 : 1;
    device.add(ours.data(), theirs.data(), size);
    kernels.refused += multiply_by_kernels(a, b, left, right, result, ours) ? 0 : 1;
    kernels.add(ours.data(), theirs.data(), size);
  }
  device.print(), kernels.print();
}

void compare_softmax(uint32_t count) {
  Count device = {"softmax, DSP"}, kernels = {"softmax, kernels"};
  for (uint32_t seed = 0; seed < count; ++seed) {
    Random random(seed + 13000);
    const int32_t rows = random.between(1, 8), columns = random.between(1, 200);
    const auto size = static_cast<size_t>(rows) * columns;
    std::vector<int8_t> codes = draw_codes(random, size), theirs(size), ours(size);
    const double scale = random.between(1, 200) / 1000.0;
    // Factors of CMSIS-NN: scale * 2^26 as a multiplier and a shift, and the distance beyond which exp counts as 0.
    int exponent = 0;
    const double mantissa = std::frexp(scale * (1 << 26), &exponent);
    const auto multiplier =
        static_cast<int32_t>(std::min<int64_t>(std::llround(mantissa * 2147483648.0), INT32_MAX));
    const int32_t least = -static_cast<int32_t>(std::floor(std::ldexp(31.0, 26 - exponent)));
    arm_softmax_s8(codes.data(), rows, columns, multiplier, exponent, least, theirs.data());
    DspImage memory;
    std::vector<uint32_t> w(DSP_SOFTMAX_WORDS);
    w[DSP_SOFTMAX_TABLE] = 0;
    for (int32_t distance = 0; distance < 256; ++distance)
      memory.append_word(static_cast<uint32_t>(std::llround(std::exp(-scale * distance) * DSP_SOFTMAX_ONE)));
    w[DSP_SOFTMAX_INPUT] = memory.append(codes.data(), size);
    w[DSP_SOFTMAX_OUTPUT] = memory.size();
    w[DSP_SOFTMAX_ROWS] = static_cast<uint32_t>(rows),
    w[DSP_SOFTMAX_COLUMNS] = static_cast<uint32_t>(columns);
    w[DSP_SOFTMAX_INVERSE] = 65536u * 256u;
    w[DSP_SOFTMAX_OUT_ZERO] = static_cast<uint32_t>(-128);
    device.refused += memory.run(DSP_OP_SOFTMAX, w, ours.data(), size) ? 0 : 1;
    device.add(ours.data(), theirs.data(), size);
    KernelCall call({});
    call.add(etb::host::Dtype::INT8, {rows, columns}, codes.data(), size);
    for (const int32_t number : {1, 0, -128, multiplier, exponent, least}) call.add(number);
    call.add(etb::host::Dtype::INT8, {rows, columns}, ours.data(), size);
    kernels.refused += call.run(registry(), registry().find("cortex_m::softmax", "out")) ? 0 : 1;
    kernels.add(ours.data(), theirs.data(), size);
  }
  device.print(), kernels.print();
}

}  // namespace compare
