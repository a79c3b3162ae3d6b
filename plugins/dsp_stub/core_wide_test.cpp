// SPDX-License-Identifier: Apache-2.0
// int16 codes in the core: against direct formulas in wide integers, and in the verifier and the clock.
#include <cmath>

#include "plugins/dsp_stub/testing/core_fixture.hpp"

namespace etb::dsp_stub {
namespace {

constexpr uint32_t kFirst = DSP_WIDE_FIRST, kSecond = DSP_WIDE_SECOND, kResult = DSP_WIDE_RESULT;

TEST_F(Core, RequantisesWideSumsLikeTheRule) {
  for (int i = 0; i < 200000; ++i) {
    const int64_t value = draw(-(int64_t{1} << 47), (int64_t{1} << 47) - 1) >> draw(0, 46);
    const auto multiplier = static_cast<int16_t>(draw(INT16_MIN, INT16_MAX));
    const auto shift = static_cast<uint32_t>(draw(1, 61));
    ASSERT_EQ(dsp_requantise_wide(value, multiplier, shift), rounded(value, multiplier, shift))
        << value << " " << multiplier << " " << shift;
  }
  EXPECT_EQ(dsp_requantise_wide(3, 1 << 14, 15), 2);    // a tie of 1.5
  EXPECT_EQ(dsp_requantise_wide(-3, 1 << 14, 15), -1);  // -1.5
  EXPECT_EQ(dsp_requantise_wide(-5, 300, 0), -1500);
  EXPECT_EQ(dsp_requantise_wide(INT64_MAX, 1, 1), int64_t{1} << 46);  // saturates at 48 bits
}

// Every mix of widths that the operands and the result of arithmetic can have.
TEST_F(Core, AddsMultipliesAndComparesMixedWidths) {
  fill();
  const int64_t ma = 1503238553, mb = -1288490189;
  for (uint32_t wide = 1; wide < 8; ++wide)
    for (uint32_t kind = 0; kind < 4; ++kind) {
      const bool a_wide = wide & kFirst, b_wide = wide & kSecond, out_wide = wide & kResult;
      Words w(DSP_BINARY_WORDS);
      w[DSP_BINARY_KIND] = kind, w[DSP_BINARY_WIDE] = wide;
      w[DSP_BINARY_B] = 4000, w[DSP_BINARY_OUTPUT] = 8000, w[DSP_BINARY_COUNT] = 777;
      const int64_t a_zero = a_wide ? 0 : 3, b_zero = b_wide ? 0 : -7, out_zero = out_wide ? 0 : 11;
      w[DSP_BINARY_A_ZERO] = static_cast<uint32_t>(a_zero),
      w[DSP_BINARY_B_ZERO] = static_cast<uint32_t>(b_zero);
      w[DSP_BINARY_OUT_ZERO] = static_cast<uint32_t>(out_zero);
      const int64_t low = lowest(out_wide) + 9, high = highest(out_wide) - 5;
      w[DSP_BINARY_LOW] = static_cast<uint32_t>(low), w[DSP_BINARY_HIGH] = static_cast<uint32_t>(high);
      w[DSP_BINARY_A_MULTIPLIER] = static_cast<uint32_t>(ma),
      w[DSP_BINARY_B_MULTIPLIER] = static_cast<uint32_t>(mb);
      // Most results are inside of the range of codes.
      const uint32_t a_bits = a_wide ? 15 : 7, b_bits = b_wide ? 15 : 7;
      w[DSP_BINARY_SHIFT] = 31 + (kind == DSP_BINARY_MULTIPLY ? a_bits + b_bits : std::max(a_bits, b_bits)) -
                            (out_wide ? 15 : 7);
      dsp_binary(w.data(), tcm_.data());
      size_t inside = 0;
      for (size_t i = 0; i < 777; ++i) {
        const int64_t a = any_at(0, i, a_wide) - a_zero, b = any_at(4000, i, b_wide) - b_zero;
        const int64_t value = kind == 0   ? a * ma + b * mb
                              : kind == 1 ? a * ma * b
                              : kind == 2 ? std::max(a * ma, b * mb)
                                          : std::min(a * ma, b * mb);
        const int64_t code = rounded_even(value, w[DSP_BINARY_SHIFT]) + out_zero;
        inside += code >= low && code <= high;
        ASSERT_EQ(any_at(8000, i, out_wide), limited(code, low, high)) << wide << " " << kind << " " << i;
      }
      EXPECT_GT(inside, 250u) << wide << " " << kind;
    }
}

TEST_F(Core, TablesOfInt8CodesHaveInt16Results) {
  fill();
  Words w(DSP_TABLE_WORDS);
  w[DSP_TABLE_OUTPUT] = 2000, w[DSP_TABLE_COUNT] = 501, w[DSP_TABLE_TABLE] = 6000,
  w[DSP_TABLE_WIDE] = kResult;
  dsp_table(w.data(), tcm_.data());
  for (size_t i = 0; i < 501; ++i)
    ASSERT_EQ(wide_at(2000, i), wide_at(6000, static_cast<size_t>(code_at(i) + 128))) << i;
}

// All 65,536 codes, for each distance of samples, against the line between two samples in real numbers.
TEST_F(Core, TablesOfInt16CodesInterpolate) {
  for (const bool out_wide : {true, false})
    for (uint32_t fraction = DSP_MIN_FRACTION; fraction <= DSP_MAX_FRACTION; ++fraction) {
      fill();
      Words w(DSP_TABLE_WORDS);
      w[DSP_TABLE_OUTPUT] = 8192, w[DSP_TABLE_COUNT] = 4096, w[DSP_TABLE_TABLE] = 32768;
      w[DSP_TABLE_FRACTION] = fraction, w[DSP_TABLE_WIDE] = kFirst | (out_wide ? kResult : 0);
      ASSERT_EQ(dsp_table_bytes(w[DSP_TABLE_WIDE], fraction), 2 * ((65536u >> fraction) + 1));
      for (int64_t first = -32768; first < 32768; first += 4096) {
        for (size_t i = 0; i < 4096; ++i) store_wide(0, i, first + static_cast<int64_t>(i));
        dsp_table(w.data(), tcm_.data());
        for (size_t i = 0; i < 4096; ++i) {
          const auto at = static_cast<size_t>(first + 32768) + i;
          const double part = static_cast<double>(at % (1u << fraction)) / (1 << fraction);
          const double line =
              wide_at(32768, at >> fraction) * (1 - part) + wide_at(32768, (at >> fraction) + 1) * part;
          const double code = std::floor(std::ldexp(line, out_wide ? 0 : -7) + 0.5);
          ASSERT_EQ(any_at(8192, i, out_wide), out_wide ? code : std::clamp(code, -128.0, 127.0))
              << fraction << " " << at;
        }
      }
    }
}

TEST_F(Core, PoolsMixedWidthsExactly) {
  for (const uint32_t wide : {kFirst, kResult, kFirst | kResult})
    for (uint32_t kind = 0; kind < 2; ++kind) {
      fill();
      const bool in_wide = wide & kFirst, out_wide = wide & kResult;
      Words w(DSP_POOL_WORDS, 1);
      w[DSP_POOL_KIND] = kind, w[DSP_POOL_WIDE] = wide;
      w[DSP_POOL_INPUT] = 0, w[DSP_POOL_IN_H] = 5, w[DSP_POOL_IN_W] = 6, w[DSP_POOL_IN_C] = 3;
      w[DSP_POOL_OUTPUT] = 4096, w[DSP_POOL_OUT_H] = 3, w[DSP_POOL_OUT_W] = 3;
      w[DSP_POOL_KERNEL_H] = 3, w[DSP_POOL_KERNEL_W] = 2, w[DSP_POOL_STRIDE_H] = w[DSP_POOL_STRIDE_W] = 2;
      const int64_t in_zero = in_wide ? 0 : 7, out_zero = out_wide ? 0 : -9;
      w[DSP_POOL_IN_ZERO] = static_cast<uint32_t>(in_zero),
      w[DSP_POOL_OUT_ZERO] = static_cast<uint32_t>(out_zero);
      const int64_t low = lowest(out_wide) + 3, high = highest(out_wide) - 2;
      w[DSP_POOL_LOW] = static_cast<uint32_t>(low), w[DSP_POOL_HIGH] = static_cast<uint32_t>(high);
      w[DSP_POOL_PADDING_LEFT] = 0;
      const int64_t multiplier = w[DSP_POOL_MULTIPLIER] = 1234567890;
      const uint32_t shift = w[DSP_POOL_SHIFT] =
          (kind == DSP_POOL_MAX ? 31u : 33u) + (in_wide && !out_wide ? 8 : 0);
      dsp_pool(w.data(), tcm_.data());
      for (int64_t y = 0; y < 3; ++y)
        for (int64_t x = 0; x < 3; ++x)
          for (int64_t c = 0; c < 3; ++c) {
            std::vector<int64_t> codes;
            for (int64_t iy = std::max<int64_t>(2 * y - 1, 0); iy < std::min<int64_t>(2 * y + 2, 5); ++iy)
              for (int64_t ix = 2 * x; ix < 2 * x + 2; ++ix)
                codes.push_back(any_at(0, static_cast<size_t>((iy * 6 + ix) * 3 + c), in_wide) - in_zero);
            int64_t value = 0;
            for (const int64_t code : codes) value += code;
            if (kind == DSP_POOL_MAX) value = *std::max_element(codes.begin(), codes.end());
            const int64_t wanted = limited(rounded_even(value * multiplier, shift) + out_zero, low, high);
            ASSERT_EQ(any_at(4096, static_cast<size_t>((y * 3 + x) * 3 + c), out_wide), wanted)
                << wide << " " << kind << " " << y << " " << x << " " << c;
          }
    }
}

// A softmax of rows in the TCM of a test: codes at 0, results at 32768, the table at 61440.
Words softmax_words(uint32_t wide, uint32_t rows, uint32_t columns) {
  Words w(DSP_SOFTMAX_WORDS);
  w[DSP_SOFTMAX_OUTPUT] = 32768, w[DSP_SOFTMAX_ROWS] = rows, w[DSP_SOFTMAX_COLUMNS] = columns;
  w[DSP_SOFTMAX_TABLE] = 61440, w[DSP_SOFTMAX_WIDE] = wide;
  return w;
}

// Results beside real numbers: half a step for rounding, and the error of sums of `columns` exponentials.
TEST_F(Core, SoftmaxOfMixedWidthsIsNearTheRealOne) {
  for (const uint32_t wide : {kFirst, kResult, kFirst | kResult})
    for (const double spread : {0.02, 0.5, 2.0})
      for (const double finer : {1.0, 64.0}) {
        fill();
        const bool in_wide = wide & kFirst, out_wide = wide & kResult;
        const size_t rows = 7, columns = 331;
        const double scale = in_wide ? spread / 256 : spread,
                     out_scale = (out_wide ? 0x1p-15 : 0x1p-8) / finer;
        Words w = softmax_words(wide, rows, columns);
        for (uint32_t i = 0; i < 256; ++i) {
          store(61440 + 4 * i,
                static_cast<uint32_t>(std::llround(std::exp(-scale * 256 * i) * DSP_SOFTMAX_WIDE_ONE)));
          store(62464 + 4 * i,
                static_cast<uint32_t>(std::llround(std::exp(-scale * i) * DSP_SOFTMAX_WIDE_ONE)));
        }
        w[DSP_SOFTMAX_INVERSE] = static_cast<uint32_t>(256 / out_scale);
        const int64_t zero = out_wide ? 0 : -128;
        w[DSP_SOFTMAX_OUT_ZERO] = static_cast<uint32_t>(zero);
        dsp_softmax(w.data(), tcm_.data());
        size_t inside = 0;
        for (size_t row = 0; row < rows; ++row) {
          double sum = 0;
          int64_t largest = INT16_MIN;
          for (size_t i = 0; i < columns; ++i)
            largest = std::max(largest, any_at(0, row * columns + i, in_wide));
          const auto part = [&](size_t i) {
            return std::exp(scale * (any_at(0, row * columns + i, in_wide) - largest));
          };
          for (size_t i = 0; i < columns; ++i) sum += part(i);
          for (size_t i = 0; i < columns; ++i) {
            const size_t at = row * columns + i;
            const double real = part(i) / sum / out_scale + zero;
            const double wanted = std::min(real, static_cast<double>(highest(out_wide)));
            inside += wanted == real && real > zero + 1;
            ASSERT_NEAR(any_at(32768, at, out_wide), wanted, 0.51) << wide << " " << spread << " " << at;
          }
        }
        EXPECT_GT(inside, 20u) << wide << " " << spread << " " << finer;
      }
}

// The largest sum that a stream can have, and the smallest.
TEST_F(Core, SoftmaxOfAnyTableDoesNotOverflow) {
  tcm_.assign(DSP_TCM_BYTES, 0xff);
  Words w = softmax_words(kResult, 1, DSP_MAX_COLUMNS);
  w[DSP_SOFTMAX_OUTPUT] = 65536, w[DSP_SOFTMAX_TABLE] = 65536 + 131072;
  w[DSP_SOFTMAX_INVERSE] = DSP_SOFTMAX_MAX_INVERSE;
  dsp_softmax(w.data(), tcm_.data());
  for (size_t i = 0; i < DSP_MAX_COLUMNS; ++i) ASSERT_EQ(wide_at(65536, i), 64) << i;  // 2^30 / 2^8 / 2^16
  std::fill(tcm_.begin() + w[DSP_SOFTMAX_TABLE], tcm_.end(), uint8_t{0});
  dsp_softmax(w.data(), tcm_.data());
  for (size_t i = 0; i < DSP_MAX_COLUMNS; ++i) ASSERT_EQ(wide_at(65536, i), 0) << i;
}

// ---- the verifier and the clock

std::string defect_of_one(uint32_t opcode, const Words& w) {
  Words words;
  put(words, opcode, Words(w.begin() + 1, w.end()));
  return defect_of(with_end(words));
}

Words table_words() {
  Words w(DSP_TABLE_WORDS);
  w[DSP_TABLE_OUTPUT] = 32, w[DSP_TABLE_COUNT] = 16, w[DSP_TABLE_TABLE] = 64, w[DSP_TABLE_WIDE] = kResult;
  return w;
}

TEST(WideVerifier, CountsRangesInBytes) {
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_B] = 200, w[DSP_BINARY_OUTPUT] = 400, w[DSP_BINARY_COUNT] = 100, w[DSP_BINARY_WIDE] = 7;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "");
  w[DSP_BINARY_OUTPUT] = 398;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "result onto an operand");
  w[DSP_BINARY_OUTPUT] = 826;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "range beyond its memory");
  w[DSP_BINARY_OUTPUT] = 824;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "");
  Words table = table_words();
  table[DSP_TABLE_TABLE] = 514;  // 512 bytes
  EXPECT_EQ(defect_of_one(DSP_OP_TABLE, table), "range beyond its memory");
  table[DSP_TABLE_WIDE] = 0;  // 256
  EXPECT_EQ(defect_of_one(DSP_OP_TABLE, table), "");
}

TEST(WideVerifier, RejectsOddOffsets) {
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_B] = 200, w[DSP_BINARY_OUTPUT] = 400, w[DSP_BINARY_COUNT] = 10;
  const std::pair<uint32_t, uint32_t> fields[] = {
      {DSP_BINARY_A, kFirst}, {DSP_BINARY_B, kSecond}, {DSP_BINARY_OUTPUT, kResult}};
  for (const auto& [field, wide] : fields) {
    ++w[field];
    w[DSP_BINARY_WIDE] = 7 - wide;
    EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "") << field;
    w[DSP_BINARY_WIDE] = wide;
    EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "odd offset of int16 codes") << field;
    --w[field];
  }
  Words table = table_words();
  ++table[DSP_TABLE_TABLE];
  EXPECT_EQ(defect_of_one(DSP_OP_TABLE, table), "odd offset of int16 codes");
}

TEST(WideVerifier, RejectsZeroPointsLimitsAndTypes) {
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_B] = 200, w[DSP_BINARY_OUTPUT] = 400, w[DSP_BINARY_COUNT] = 10, w[DSP_BINARY_WIDE] = kFirst;
  w[DSP_BINARY_A_ZERO] = 1;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "zero point or limit of a binary op");
  w[DSP_BINARY_A_ZERO] = 0, w[DSP_BINARY_HIGH] = 128;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "zero point or limit of a binary op");
  w[DSP_BINARY_WIDE] = kResult;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "");
  w[DSP_BINARY_HIGH] = 32768;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "zero point or limit of a binary op");
  w[DSP_BINARY_HIGH] = 0, w[DSP_BINARY_WIDE] = 8;
  EXPECT_EQ(defect_of_one(DSP_OP_BINARY, w), "types of a binary op");
  Words table = table_words();
  table[DSP_TABLE_WIDE] = kSecond;
  EXPECT_EQ(defect_of_one(DSP_OP_TABLE, table), "types of a table");
  for (const uint32_t fraction : {0u, 2u, 8u, 40u}) {
    table[DSP_TABLE_WIDE] = kFirst, table[DSP_TABLE_FRACTION] = fraction;
    EXPECT_EQ(defect_of_one(DSP_OP_TABLE, table), "fraction of a table") << fraction;
  }
}

// A command of one pixel, whose operands and result are 200 bytes apart.
Words window_words(uint32_t opcode) {
  const uint32_t conv_words = DSP_CONV_WORDS, pool_words = DSP_POOL_WORDS;
  Words w(opcode == DSP_OP_CONV ? conv_words : pool_words, 1);
  if (opcode == DSP_OP_CONV) {
    w[DSP_CONV_INPUT] = 0, w[DSP_CONV_WEIGHTS] = 200, w[DSP_CONV_CHANNELS] = 400, w[DSP_CONV_OUTPUT] = 600;
    w[DSP_CONV_FIRST_OUT] = w[DSP_CONV_IS_TRANSPOSED] = w[DSP_CONV_IN_ZERO] = w[DSP_CONV_OUT_ZERO] = 0;
  } else {
    w[DSP_POOL_KIND] = DSP_POOL_MAX, w[DSP_POOL_INPUT] = 0, w[DSP_POOL_OUTPUT] = 600;
    w[DSP_POOL_IN_ZERO] = w[DSP_POOL_OUT_ZERO] = 0;
  }
  w.back() = 0;
  return w;
}

TEST(WideVerifier, ChecksWindowsOfInt16Codes) {
  struct Fields {
    uint32_t opcode, input, output, in_zero, out_zero, high;
    const char *codes, *types;
  };
  for (const Fields& f :
       {Fields{DSP_OP_CONV, DSP_CONV_INPUT, DSP_CONV_OUTPUT, DSP_CONV_IN_ZERO, DSP_CONV_OUT_ZERO,
               DSP_CONV_HIGH, "zero point or limit of a convolution", "types of a convolution"},
        Fields{DSP_OP_POOL, DSP_POOL_INPUT, DSP_POOL_OUTPUT, DSP_POOL_IN_ZERO, DSP_POOL_OUT_ZERO,
               DSP_POOL_HIGH, "zero point or limit of a pool", "types of a pool"}}) {
    const auto check = [&](uint32_t wide, uint32_t field, uint32_t value) {
      Words w = window_words(f.opcode);
      w.back() = wide;
      w[field] = value;
      return defect_of_one(f.opcode, w);
    };
    for (const uint32_t wide : {0u, kFirst, kResult, kFirst | kResult})
      EXPECT_EQ(check(wide, f.high, 100), "") << wide;
    EXPECT_EQ(check(kFirst, f.input, 1), "odd offset of int16 codes");
    EXPECT_EQ(check(kResult, f.input, 1), "");
    EXPECT_EQ(check(kResult, f.output, 601), "odd offset of int16 codes");
    EXPECT_EQ(check(kFirst, f.output, 601), "");
    EXPECT_EQ(check(kFirst, f.in_zero, 1), f.codes);
    EXPECT_EQ(check(kResult, f.in_zero, 1), "");
    EXPECT_EQ(check(kResult, f.out_zero, 1), f.codes);
    EXPECT_EQ(check(kFirst, f.out_zero, 1), "");
    EXPECT_EQ(check(kFirst, f.high, 128), f.codes);
    EXPECT_EQ(check(kResult, f.high, 32767), "");
    EXPECT_EQ(check(kResult, f.high, 32768), f.codes);
    EXPECT_EQ(check(8, f.high, 100), f.types);
    EXPECT_EQ(check(kSecond, f.high, 100), f.opcode == DSP_OP_CONV ? "" : f.types);
    EXPECT_EQ(check(kFirst, f.input, 1022), "");
    EXPECT_EQ(check(kResult, f.output, 1022), "");
    EXPECT_EQ(check(kFirst, f.input, 1024), "range beyond its memory");
  }
}

TEST(WideVerifier, ChecksInt16Weights) {
  const auto check = [](uint32_t wide, uint32_t field, uint32_t value) {
    Words w = window_words(DSP_OP_CONV);
    w.back() = wide;
    w[DSP_CONV_IN_C] = w[DSP_CONV_GROUP_IN] = 50;
    w[field] = value;
    return defect_of_one(DSP_OP_CONV, w);
  };
  for (const uint32_t wide : {kSecond, kFirst | kSecond, kSecond | kResult, kFirst | kSecond | kResult}) {
    SCOPED_TRACE(wide);
    EXPECT_EQ(check(wide, DSP_CONV_WEIGHTS, 300), "");
    EXPECT_EQ(check(wide, DSP_CONV_WEIGHTS, 301), "odd offset of int16 codes");
    EXPECT_EQ(check(wide, DSP_CONV_WEIGHTS, 924), "");  // 50 weights of two bytes
    EXPECT_EQ(check(wide, DSP_CONV_WEIGHTS, 926), "range beyond its memory");
    EXPECT_EQ(check(wide, DSP_CONV_OUTPUT, 298), "result onto an operand");
    EXPECT_EQ(check(wide - kSecond, DSP_CONV_WEIGHTS, 926), "");
  }
}

// A sum of 32,768 products of two lowest codes has 46 bits; it is exact.
TEST_F(Core, TheLargestSumOfInt16CodesIsExact) {
  tcm_.assign(DSP_TCM_BYTES, 0);
  Words w(DSP_CONV_WORDS, 1);
  w[DSP_CONV_INPUT] = 0, w[DSP_CONV_WEIGHTS] = 65536, w[DSP_CONV_CHANNELS] = 131072,
  w[DSP_CONV_OUTPUT] = 131084;
  w[DSP_CONV_PADDING_TOP] = w[DSP_CONV_PADDING_LEFT] = w[DSP_CONV_FIRST_OUT] = w[DSP_CONV_IS_TRANSPOSED] = 0;
  w[DSP_CONV_IN_C] = w[DSP_CONV_GROUP_IN] = DSP_MAX_PRODUCTS;
  w[DSP_CONV_IN_ZERO] = w[DSP_CONV_OUT_ZERO] = 0, w[DSP_CONV_WIDE] = kFirst | kSecond | kResult;
  w[DSP_CONV_LOW] = static_cast<uint32_t>(INT16_MIN), w[DSP_CONV_HIGH] = INT16_MAX;
  for (size_t i = 0; i < DSP_MAX_PRODUCTS; ++i) store_wide(0, i, INT16_MIN), store_wide(65536, i, INT16_MIN);
  store_wide(131072, 3, 3);
  store(131072 + DSP_CHANNEL_SHIFT, 34);
  dsp_conv(w.data(), tcm_.data());
  EXPECT_EQ(wide_at(131084, 0), 3 << 11);  // 2^45 * 3 / 2^34
}

// 65,536 int16 codes times a multiplier of 32 bits have 63 bits.
TEST(WideVerifier, LimitsTheElementsOfAWindow) {
  Words w(DSP_POOL_WORDS, 1);
  w[DSP_POOL_KIND] = DSP_POOL_AVERAGE, w[DSP_POOL_INPUT] = 0, w[DSP_POOL_OUTPUT] = 100;
  w[DSP_POOL_IN_ZERO] = w[DSP_POOL_OUT_ZERO] = 0, w[DSP_POOL_WIDE] = kFirst | kResult;
  w[DSP_POOL_KERNEL_H] = w[DSP_POOL_KERNEL_W] = 256;
  EXPECT_EQ(defect_of_one(DSP_OP_POOL, w), "");
  w[DSP_POOL_KERNEL_H] = 257;
  EXPECT_EQ(defect_of_one(DSP_OP_POOL, w), "window of a pool");
  w[DSP_POOL_WIDE] = 0;
  EXPECT_EQ(defect_of_one(DSP_OP_POOL, w), "");
}

TEST(WideVerifier, AnAverageOfCodesKeepsTypeAndZeroPoint) {
  Words w(DSP_POOL_WORDS, 1);
  w[DSP_POOL_KIND] = DSP_POOL_AVERAGE_OF_CODES, w[DSP_POOL_INPUT] = 0, w[DSP_POOL_OUTPUT] = 100;
  const auto defect = [&w](uint32_t wide, uint32_t in_zero, uint32_t out_zero) {
    w[DSP_POOL_WIDE] = wide, w[DSP_POOL_IN_ZERO] = in_zero, w[DSP_POOL_OUT_ZERO] = out_zero;
    return defect_of_one(DSP_OP_POOL, w);
  };
  constexpr auto kText = "types or zero points of an average of codes";
  EXPECT_EQ(defect(0, 5, 5), "");
  EXPECT_EQ(defect(0, 5, 4), kText);
  EXPECT_EQ(defect(kFirst | kResult, 0, 0), "");
  EXPECT_EQ(defect(kFirst, 0, 0), kText);
  EXPECT_EQ(defect(kResult, 0, 0), kText);
}

TEST(WideVerifier, ChecksSoftmax) {
  const auto check = [](uint32_t wide, uint32_t field, uint32_t value) {
    Words w(DSP_SOFTMAX_WORDS);
    w[DSP_SOFTMAX_TABLE] = 512, w[DSP_SOFTMAX_OUTPUT] = 2560;
    w[DSP_SOFTMAX_ROWS] = 2, w[DSP_SOFTMAX_COLUMNS] = 50, w[DSP_SOFTMAX_WIDE] = wide;

    w[field] = value;
    Words words;
    put(words, DSP_OP_SOFTMAX, Words(w.begin() + 1, w.end()));
    return defect_of(with_end(words, 4096), 4096);
  };
  for (const uint32_t wide : {0u, kFirst, kResult, kFirst | kResult}) {
    SCOPED_TRACE(wide);
    EXPECT_EQ(check(wide, DSP_SOFTMAX_TABLE, 512), "");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_INVERSE, DSP_SOFTMAX_MAX_INVERSE + 1), "scale of a softmax");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_COLUMNS, DSP_MAX_COLUMNS + 1), "extent of a softmax");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_OUT_ZERO, 1), wide & kResult ? "scale of a softmax" : "");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_INPUT, 3001), wide & kFirst ? "odd offset of int16 codes" : "");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_OUTPUT, 3001), wide & kResult ? "odd offset of int16 codes" : "");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_INPUT, 3996), wide & kFirst ? "range beyond its memory" : "");
    EXPECT_EQ(check(wide, DSP_SOFTMAX_OUTPUT, 3996), wide & kResult ? "range beyond its memory" : "");
    // The table has 2,048 bytes beside int16 codes, else 1,024.
    EXPECT_EQ(check(wide, DSP_SOFTMAX_TABLE, 1536), wide != 0 ? "result onto an operand" : "");
  }
  for (const uint32_t wide : {kSecond, kFirst | kSecond, 8u})
    EXPECT_EQ(check(wide, DSP_SOFTMAX_TABLE, 512), "types of a softmax") << wide;
}

TEST(WideVerifier, AcceptsCommandsOfInt8CodesOnly) {
  Words binary(DSP_BINARY_WORDS), table(DSP_TABLE_WORDS);
  binary[DSP_BINARY_OUTPUT] = table[DSP_TABLE_OUTPUT] = 600, table[DSP_TABLE_TABLE] = 300;
  binary[DSP_BINARY_COUNT] = table[DSP_TABLE_COUNT] = 16;
  const auto check = [](uint32_t opcode, Words& w, size_t narrow) {
    EXPECT_EQ(defect_of_one(opcode, w), "");
    w.resize(narrow);
    EXPECT_EQ(defect_of_one(opcode, w), "");
    w.pop_back();
    EXPECT_EQ(defect_of_one(opcode, w), "length of a command");
  };
  check(DSP_OP_BINARY, binary, DSP_BINARY_NARROW_WORDS);
  check(DSP_OP_TABLE, table, DSP_TABLE_NARROW_WORDS);
}

uint64_t cycles_of(uint32_t opcode, const Words& w) {
  dsp_command command{};
  command.opcode = opcode;
  std::copy(w.begin(), w.end(), command.word);
  return dsp_count_cycles(&command);
}

TEST(WideClock, Int16HasHalfTheLanes) {
  Words w(DSP_BINARY_WORDS);
  w[DSP_BINARY_COUNT] = 800;
  EXPECT_EQ(cycles_of(DSP_OP_BINARY, w), 16u + 100);
  for (const uint32_t wide : {kFirst, kSecond, kResult}) {
    w[DSP_BINARY_WIDE] = wide;
    EXPECT_EQ(cycles_of(DSP_OP_BINARY, w), 16u + 200) << wide;
  }
  Words conv(DSP_CONV_WORDS, 1);
  conv[DSP_CONV_GROUP_IN] = 64, conv[DSP_CONV_OUT_C] = 16, conv[DSP_CONV_WIDE] = 0;
  EXPECT_EQ(cycles_of(DSP_OP_CONV, conv), 16u + 2 * 8 + 2);
  for (const uint32_t wide : {kFirst, kSecond}) {
    conv[DSP_CONV_WIDE] = wide;
    EXPECT_EQ(cycles_of(DSP_OP_CONV, conv), 16u + 2 * 16 + 2) << wide;
  }
  conv[DSP_CONV_WIDE] = kFirst | kSecond;
  EXPECT_EQ(cycles_of(DSP_OP_CONV, conv), 16u + 2 * 32 + 2);
  Words softmax = softmax_words(0, 3, 80);
  EXPECT_EQ(cycles_of(DSP_OP_SOFTMAX, softmax), 16u + 3 * (3 * 10 + 32));
  for (const uint32_t wide : {kFirst, kResult}) {
    softmax[DSP_SOFTMAX_WIDE] = wide;
    EXPECT_EQ(cycles_of(DSP_OP_SOFTMAX, softmax), 16u + 3 * (3 * 20 + 32)) << wide;
  }
}

}  // namespace
}  // namespace etb::dsp_stub
