// SPDX-License-Identifier: Apache-2.0
// The core against direct formulas in 64-bit integers, and its verifier against damaged streams.
#include <cmath>
#include <cstring>

#include "plugins/dsp_stub/testing/core_fixture.hpp"

namespace etb::dsp_stub {
namespace {

TEST_F(Core, RequantisesLikeTheRuleInWideIntegers) {
  for (int i = 0; i < 200000; ++i) {
    const int64_t value = draw(INT32_MIN, INT32_MAX);
    const auto multiplier = static_cast<int32_t>(draw(0, 1) ? draw(1 << 30, INT32_MAX) : draw(INT32_MIN, 0));
    const auto shift = static_cast<uint32_t>(draw(1, 62));
    ASSERT_EQ(dsp_requantise(value, multiplier, shift), rounded(value, multiplier, shift))
        << value << " " << multiplier << " " << shift;
  }
  EXPECT_EQ(dsp_requantise(1, 1 << 30, 31), 1);                                     // a tie of 0.5
  EXPECT_EQ(dsp_requantise(-1, 1 << 30, 31), 0);                                    // a tie of -0.5
  EXPECT_EQ(dsp_requantise(-3, 1 << 30, 31), -1);                                   // -1.5
  EXPECT_EQ(dsp_requantise(int64_t{1} << 40, 1, 1), (INT32_MAX + int64_t{1}) / 2);  // saturates at 32 bits
}

struct ConvCase {
  uint32_t in_h, in_w, group_in, groups, group_out, kernel_h, kernel_w, stride_h, stride_w, dilation,
      is_transposed;
  int32_t top, left;
};

class CoreConv : public Core, public testing::WithParamInterface<ConvCase> {
 protected:
  void store_channels(uint32_t count, uint32_t wide);
  void check(const ConvCase& c, uint32_t wide);
};

// Draws bias, multiplier and shift of each channel, so that most results are codes. Every third one has weights with a zero point.
void CoreConv::store_channels(uint32_t count, uint32_t wide) {
  const bool in_wide = wide & DSP_WIDE_FIRST, weights_wide = wide & DSP_WIDE_SECOND,
             out_wide = wide & DSP_WIDE_RESULT, sums_wide = in_wide || weights_wide;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t at = 32768 + i * DSP_CHANNEL_BYTES;
    const int64_t bits =
        (in_wide ? 8 : 0) + (weights_wide ? 8 : 0) - (sums_wide ? 16 : 0) - (out_wide ? 8 : 0);
    const auto shift = static_cast<uint32_t>(draw(36, 42) + bits);
    if (sums_wide) {
      const int64_t bias = draw(-3000000, 3000000);
      for (size_t k = 0; k < 3; ++k) store_wide(at, k, bias >> (16 * k));
      store_wide(at, 3, draw(1 << 14, INT16_MAX));
    } else {
      store(at, static_cast<uint32_t>(draw(-3000, 3000)));
      store(at + 4, static_cast<uint32_t>(draw(1 << 30, INT32_MAX)));
    }
    store(at + 8, shift | (i % 3 ? 0 : weights_wide ? 1700 << 16 : 17 << 8));
  }
}

// The definition: every output sums over every tap and every input position, and keeps those that match.
void CoreConv::check(const ConvCase& c, uint32_t wide) {
  const bool in_wide = wide & DSP_WIDE_FIRST, weights_wide = wide & DSP_WIDE_SECOND,
             out_wide = wide & DSP_WIDE_RESULT, sums_wide = in_wide || weights_wide;
  const int64_t weight_zero = weights_wide ? 1700 : 17;
  fill();
  const uint32_t in_c = c.group_in * c.groups, out_c = c.group_out * c.groups;
  const uint32_t out_h =
      c.is_transposed ? (c.in_h - 1) * c.stride_h + 1 : (c.in_h + c.stride_h - 1) / c.stride_h;
  const uint32_t out_w =
      c.is_transposed ? (c.in_w - 1) * c.stride_w + 1 : (c.in_w + c.stride_w - 1) / c.stride_w;
  Words w(DSP_CONV_WORDS);
  w[DSP_CONV_WEIGHTS] = 16384, w[DSP_CONV_CHANNELS] = 32768, w[DSP_CONV_OUTPUT] = 40000;
  w[DSP_CONV_IN_H] = c.in_h, w[DSP_CONV_IN_W] = c.in_w, w[DSP_CONV_IN_C] = in_c;
  w[DSP_CONV_OUT_H] = out_h, w[DSP_CONV_OUT_W] = out_w, w[DSP_CONV_OUT_C] = out_c,
  w[DSP_CONV_PIXEL_STRIDE] = out_c + 3;
  w[DSP_CONV_KERNEL_H] = c.kernel_h, w[DSP_CONV_KERNEL_W] = c.kernel_w;
  w[DSP_CONV_STRIDE_H] = c.stride_h, w[DSP_CONV_STRIDE_W] = c.stride_w;
  w[DSP_CONV_DILATION_H] = w[DSP_CONV_DILATION_W] = c.dilation;
  w[DSP_CONV_PADDING_TOP] = static_cast<uint32_t>(c.top),
  w[DSP_CONV_PADDING_LEFT] = static_cast<uint32_t>(c.left);
  w[DSP_CONV_GROUP_IN] = c.group_in, w[DSP_CONV_GROUP_OUT] = c.group_out;
  w[DSP_CONV_IS_TRANSPOSED] = c.is_transposed;
  w[DSP_CONV_WIDE] = wide;
  const auto in_zero = in_wide ? 0 : static_cast<int32_t>(draw(-128, 127)), out_zero = out_wide ? 0 : 5,
             low = out_wide ? -30000 : -100, high = out_wide ? 32000 : 90;
  w[DSP_CONV_IN_ZERO] = static_cast<uint32_t>(in_zero),
  w[DSP_CONV_OUT_ZERO] = static_cast<uint32_t>(out_zero);
  w[DSP_CONV_LOW] = static_cast<uint32_t>(low), w[DSP_CONV_HIGH] = static_cast<uint32_t>(high);
  store_channels(out_c, wide);
  const std::vector<uint8_t> before = tcm_;
  dsp_conv(w.data(), tcm_.data());
  int saturated = 0;
  for (uint32_t y = 0; y < out_h; ++y)
    for (uint32_t x = 0; x < out_w; ++x)
      for (uint32_t o = 0; o < out_c; ++o) {
        int64_t sum = 0;
        for (int64_t iy = 0; iy < c.in_h; ++iy)
          for (int64_t ix = 0; ix < c.in_w; ++ix)
            for (int64_t ky = 0; ky < c.kernel_h; ++ky)
              for (int64_t kx = 0; kx < c.kernel_w; ++kx) {
                const bool is_read =
                    c.is_transposed ? iy * int64_t{c.stride_h} - c.top + ky * int64_t{c.dilation} == y &&
                                          ix * int64_t{c.stride_w} - c.left + kx * int64_t{c.dilation} == x
                                    : y * int64_t{c.stride_h} - c.top + ky * int64_t{c.dilation} == iy &&
                                          x * int64_t{c.stride_w} - c.left + kx * int64_t{c.dilation} == ix;
                for (uint32_t i = 0; is_read && i < c.group_in; ++i) {
                  const auto at = static_cast<size_t>((iy * c.in_w + ix) * in_c +
                                                      int64_t{o / c.group_out} * c.group_in + i);
                  const auto tap = static_cast<size_t>(
                      ((int64_t{o} * c.kernel_h + ky) * c.kernel_w + kx) * c.group_in + i);
                  sum += (any_at(0, at, in_wide) - in_zero) *
                         (any_at(16384, tap, weights_wide) - (o % 3 ? 0 : weight_zero));
                }
              }
        const size_t channel = 32768 + o * DSP_CHANNEL_BYTES;
        int64_t bias = 0, multiplier = 0;
        std::memcpy(&bias, &before[channel], sums_wide ? 6 : 4);
        std::memcpy(&multiplier, &before[channel + (sums_wide ? 6 : 4)], sums_wide ? 2 : 4);
        bias = sums_wide ? bias << 16 >> 16 : static_cast<int32_t>(bias);
        const int64_t free = rounded(sum + bias, multiplier, before[channel + 8]) + out_zero;
        saturated += free < low || free > high;
        ASSERT_EQ(any_at(40000, (y * out_w + x) * (out_c + 3) + o, out_wide), limited(free, low, high))
            << wide << " " << y << " " << x << " " << o;
      }
  EXPECT_LT(saturated, static_cast<int>(out_h * out_w * out_c));
}

TEST_P(CoreConv, SumsExactly) {
  for (uint32_t wide = 0; wide < 8; ++wide) check(GetParam(), wide);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CoreConv,
                         testing::Values(ConvCase{5, 7, 3, 1, 8, 3, 3, 1, 1, 1, 0, 1, 1},   // padded
                                         ConvCase{9, 8, 1, 17, 1, 3, 2, 2, 1, 1, 0, 1, 0},  // depthwise
                                         ConvCase{6, 5, 4, 3, 2, 2, 3, 1, 2, 2, 0, 0, 2},   // groups, dilated
                                         ConvCase{1, 1, 129, 1, 33, 1, 1, 1, 1, 1, 0, 0, 0},  // linear
                                         ConvCase{4, 5, 6, 2, 3, 3, 3, 2, 3, 1, 1, 1, 0},     // transposed
                                         ConvCase{4, 4, 2, 1, 2, 2, 2, 1, 1, 1, 0, -1,
                                                  0}));  // later rows of a tile

TEST_F(Core, AddsSubtractsMultipliesAndCompares) {
  fill();
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_B] = 1000, w[DSP_BINARY_OUTPUT] = 2000, w[DSP_BINARY_COUNT] = 777;
  w[DSP_BINARY_A_ZERO] = 3, w[DSP_BINARY_B_ZERO] = static_cast<uint32_t>(-7), w[DSP_BINARY_OUT_ZERO] = 11;
  w[DSP_BINARY_LOW] = static_cast<uint32_t>(-128), w[DSP_BINARY_HIGH] = 127;
  const int64_t ma = 1503238553, mb = -1288490189;
  w[DSP_BINARY_A_MULTIPLIER] = static_cast<uint32_t>(ma),
  w[DSP_BINARY_B_MULTIPLIER] = static_cast<uint32_t>(mb);
  for (uint32_t kind = 0; kind < 4; ++kind) {
    w[DSP_BINARY_KIND] = kind;
    w[DSP_BINARY_SHIFT] = kind == DSP_BINARY_MULTIPLY ? 37 : 31;
    dsp_binary(w.data(), tcm_.data());
    for (size_t i = 0; i < 777; ++i) {
      const int64_t a = code_at(i) - 3, b = code_at(1000 + i) + 7;
      const int64_t value = kind == 0   ? a * ma + b * mb
                            : kind == 1 ? a * ma * b
                            : kind == 2 ? std::max(a * ma, b * mb)
                                        : std::min(a * ma, b * mb);
      ASSERT_EQ(code_at(2000 + i), limited(rounded_even(value, w[DSP_BINARY_SHIFT]) + 11, -128, 127))
          << kind << " " << i;
    }
  }
}

TEST_F(Core, TiesOfArithmeticAreRoundedToEven) {
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_B] = 1000, w[DSP_BINARY_OUTPUT] = 2000, w[DSP_BINARY_COUNT] = 256;
  w[DSP_BINARY_LOW] = static_cast<uint32_t>(-128), w[DSP_BINARY_HIGH] = 127;
  w[DSP_BINARY_A_MULTIPLIER] = 1 << 30, w[DSP_BINARY_SHIFT] = 31;  // halves
  for (int i = 0; i < 256; ++i) tcm_[static_cast<size_t>(i)] = static_cast<uint8_t>(i - 128);
  dsp_binary(w.data(), tcm_.data());
  for (int i = -128; i < 128; ++i)
    EXPECT_EQ(code_at(static_cast<size_t>(2000 + i + 128)), std::nearbyint(i / 2.0)) << i;
}

TEST_F(Core, PoolsExactly) {
  fill();
  Words w(DSP_POOL_WORDS, 1);
  w[DSP_POOL_INPUT] = 0, w[DSP_POOL_IN_H] = 5, w[DSP_POOL_IN_W] = 6, w[DSP_POOL_IN_C] = 3;
  w[DSP_POOL_OUTPUT] = 4096, w[DSP_POOL_OUT_H] = 3, w[DSP_POOL_OUT_W] = 3, w[DSP_POOL_SCALES] = 8192;
  w[DSP_POOL_KERNEL_H] = 3, w[DSP_POOL_KERNEL_W] = 2, w[DSP_POOL_STRIDE_H] = 2, w[DSP_POOL_STRIDE_W] = 2;
  w[DSP_POOL_IN_ZERO] = 7, w[DSP_POOL_OUT_ZERO] = static_cast<uint32_t>(-9),
  w[DSP_POOL_LOW] = static_cast<uint32_t>(-120), w[DSP_POOL_HIGH] = 99;
  w[DSP_POOL_PADDING_LEFT] = w[DSP_POOL_WIDE] = 0;
  const int64_t fixed = w[DSP_POOL_MULTIPLIER] = 1234567890;
  w[DSP_POOL_SHIFT] = 33;
  for (uint32_t i = 0; i < 6; ++i)
    store(8192 + 8 * i, static_cast<uint32_t>(draw(1 << 30, INT32_MAX))), store(8196 + 8 * i, 31 + i);
  for (uint32_t kind = 0; kind < 4; ++kind) {
    w[DSP_POOL_KIND] = kind;
    if (kind == DSP_POOL_AVERAGE_OF_CODES) w[DSP_POOL_OUT_ZERO] = w[DSP_POOL_IN_ZERO];
    dsp_pool(w.data(), tcm_.data());
    for (int64_t y = 0; y < 3; ++y)
      for (int64_t x = 0; x < 3; ++x)
        for (int64_t c = 0; c < 3; ++c) {
          std::vector<int64_t> codes;
          for (int64_t iy = std::max<int64_t>(2 * y - 1, 0); iy < std::min<int64_t>(2 * y + 2, 5); ++iy)
            for (int64_t ix = 2 * x; ix < 2 * x + 2; ++ix)
              codes.push_back(code_at(static_cast<size_t>((iy * 6 + ix) * 3 + c)) - 7);
          int64_t sum = 0, multiplier = fixed, shift = 33;
          for (const int64_t code : codes) sum += code;
          if (kind == DSP_POOL_MAX) sum = *std::max_element(codes.begin(), codes.end());
          if (kind == DSP_POOL_AVERAGE_BY_COUNT) {
            int32_t own = 0;
            std::memcpy(&own, &tcm_[8192 + 8 * (codes.size() - 1)], 4);
            multiplier = own, shift = static_cast<int64_t>(31 + codes.size() - 1);
          }
          int64_t wanted = rounded_even(sum * multiplier, static_cast<uint32_t>(shift)) - 9;
          if (kind == DSP_POOL_AVERAGE_OF_CODES) {
            const auto count = static_cast<int64_t>(codes.size());
            wanted = std::lround(static_cast<double>(sum + 7 * count) / static_cast<double>(count));
          }
          wanted = limited(wanted, -120, 99);
          ASSERT_EQ(code_at(static_cast<size_t>(4096 + (y * 3 + x) * 3 + c)), wanted)
              << kind << " " << y << " " << x << " " << c;
        }
  }
}

TEST_F(Core, SoftmaxIsNearTheRealOne) {
  fill();
  const double scale = 0.06, out_scale = 1.0 / 256;
  for (uint32_t i = 0; i < 256; ++i)
    store(8192 + 4 * i, static_cast<uint32_t>(std::lround(std::exp(-scale * i) * DSP_SOFTMAX_ONE)));
  Words w(DSP_SOFTMAX_WORDS);
  w[DSP_SOFTMAX_OUTPUT] = 4096, w[DSP_SOFTMAX_ROWS] = 7, w[DSP_SOFTMAX_COLUMNS] = 33,
  w[DSP_SOFTMAX_TABLE] = 8192;
  w[DSP_SOFTMAX_INVERSE] = static_cast<uint32_t>(65536 / out_scale),
  w[DSP_SOFTMAX_OUT_ZERO] = static_cast<uint32_t>(-128);
  dsp_softmax(w.data(), tcm_.data());
  for (size_t row = 0; row < 7; ++row) {
    double sum = 0;
    for (size_t i = 0; i < 33; ++i) sum += std::exp(scale * code_at(row * 33 + i));
    for (size_t i = 0; i < 33; ++i) {
      const double real = std::exp(scale * code_at(row * 33 + i)) / sum / out_scale - 128;
      ASSERT_NEAR(code_at(4096 + row * 33 + i), std::min(real, 127.0), 0.501) << row << " " << i;
    }
  }
}

// ---- the verifier

TEST(Verifier, AcceptsAStreamThatWaits) {
  Words words;
  put(words, DSP_OP_LAYER, {0});
  put_copy(words, DSP_MEMORY_CONSTANTS, 0, DSP_MEMORY_TCM, 512, 256);
  put_copy(words, DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 0, 64);
  put(words, DSP_OP_WAIT, {DSP_ENGINE_DMA, 0});
  put_table(words, 0, 64, 64);
  put(words, DSP_OP_WAIT, {DSP_ENGINE_COMPUTE, 0});
  put_copy(words, DSP_MEMORY_TCM, 64, DSP_MEMORY_IO + 1, 0, 64);
  EXPECT_EQ(defect_of(with_end(words)), "");
}

TEST(Verifier, RejectsRacesWithTheOtherEngine) {
  Words words;
  put_copy(words, DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 0, 64);
  put_table(words, 0, 64, 64);
  EXPECT_EQ(defect_of(with_end(words)), "race with a command in flight");
  Words overwritten;
  put_table(overwritten, 0, 64, 64);
  put_copy(overwritten, DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 32, 8);
  EXPECT_EQ(defect_of(with_end(overwritten)), "race with a command in flight");
}

TEST(Verifier, RejectsWhatLeavesItsMemory) {
  for (const auto& [from, from_offset, to, to_offset, reason] :
       std::vector<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, std::string>>{
           {DSP_MEMORY_TCM, 1001, DSP_MEMORY_ARENA, 0, "range beyond its memory"},
           {DSP_MEMORY_TCM, 0xfffffff0, DSP_MEMORY_ARENA, 0, "range beyond its memory"},
           {DSP_MEMORY_TCM, 0, DSP_MEMORY_ARENA, 233, "range beyond its memory"},
           {DSP_MEMORY_TCM, 0, DSP_MEMORY_CONSTANTS, 0, "write to constants"},
           {DSP_MEMORY_TCM, 0, DSP_MEMORY_FILL, 0, "write to the fill byte"},
           {DSP_MEMORY_TCM, 0, DSP_MEMORY_IO, 0, "write to an input"},
           {DSP_MEMORY_IO + 2, 0, DSP_MEMORY_TCM, 0, "unknown memory"},
           {DSP_MEMORY_FILL, 256, DSP_MEMORY_TCM, 0, "byte of a fill"},
           {DSP_MEMORY_TCM, 0, DSP_MEMORY_TCM, 23, "dma onto its source"}}) {
    Words words;
    put_copy(words, from, from_offset, to, to_offset, 24);
    EXPECT_EQ(defect_of(with_end(words)), reason);
  }
  Words strided;
  put(strided, DSP_OP_DMA, {DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 0, 3, 0xffffffff, 1, 4, 1, 1});
  EXPECT_EQ(defect_of(with_end(strided)), "range beyond its memory");
}

TEST(Verifier, RejectsMemoryThatNoCommandUses) {
  Words words;
  put(words, DSP_OP_END, {});
  EXPECT_EQ(defect_of(words), "more memory than the commands use");
}

TEST(Verifier, RejectsStreamsThatDoNotEnd) {
  Words words;
  put_copy(words, DSP_MEMORY_IO, 0, DSP_MEMORY_TCM, 0, 64);
  EXPECT_EQ(defect_of(words), "end of the stream in a command");
  EXPECT_EQ(defect_of(with_end(with_end(words))), "commands after the end");
  EXPECT_EQ(defect_of(with_end({0xffff0004})), "end of the stream in a command");
  EXPECT_EQ(defect_of(with_end({99 | 1 << 16})), "unknown opcode");
  EXPECT_EQ(defect_of({}), "end of the stream in a command");
}

// A sum of more products could overflow the accumulator.
TEST(Verifier, LimitsTheProductsOfASum) {
  Words w(DSP_CONV_WORDS, 1);
  w[DSP_CONV_INPUT] = 0, w[DSP_CONV_WEIGHTS] = 100, w[DSP_CONV_CHANNELS] = 200, w[DSP_CONV_OUTPUT] = 300;
  w[DSP_CONV_FIRST_OUT] = w[DSP_CONV_IS_TRANSPOSED] = w[DSP_CONV_WIDE] = 0;
  const auto check = [&] {
    Words words;
    put(words, DSP_OP_CONV, Words(w.begin() + 1, w.end()));
    return defect_of(with_end(words));
  };
  EXPECT_EQ(check(), "");
  w[DSP_CONV_IN_ZERO] = 128;
  EXPECT_EQ(check(), "zero point or limit of a convolution");
  w[DSP_CONV_IN_ZERO] = 1, w[DSP_CONV_KERNEL_H] = 256, w[DSP_CONV_KERNEL_W] = 129;
  EXPECT_EQ(check(), "products of a convolution");
  w[DSP_CONV_KERNEL_H] = w[DSP_CONV_KERNEL_W] = 1, w[DSP_CONV_FIRST_OUT] = 1;
  EXPECT_EQ(check(), "groups of a convolution");
}

TEST(Clock, EnginesWorkAtTheSameTime) {
  Words words;
  put_copy(words, DSP_MEMORY_CONSTANTS, 0, DSP_MEMORY_TCM, 512, 256);
  put_table(words, 0, 64, 64);
  put(words, DSP_OP_END, {});
  const dsp_stream stream = {reinterpret_cast<const uint8_t*>(words.data()),
                             static_cast<uint32_t>(words.size() * 4)};
  EXPECT_EQ(dsp_total_cycles(&stream), 4 + 64 + 16);  // issue, start of a copy, 256 bytes at 16 a cycle
  Words in_turn;
  put_copy(in_turn, DSP_MEMORY_CONSTANTS, 0, DSP_MEMORY_TCM, 512, 256);
  put(in_turn, DSP_OP_WAIT, {DSP_ENGINE_DMA, 0});
  put_table(in_turn, 0, 64, 64);
  put(in_turn, DSP_OP_END, {});
  const dsp_stream other = {reinterpret_cast<const uint8_t*>(in_turn.data()),
                            static_cast<uint32_t>(in_turn.size() * 4)};
  EXPECT_EQ(dsp_total_cycles(&other), 84 + 4 + 16 + 8);
}

}  // namespace
}  // namespace etb::dsp_stub
