// SPDX-License-Identifier: Apache-2.0
#include "host/kernels/integer_loops.hpp"

#include <cstring>
#include <type_traits>

#include "host/runtime/evalue.hpp"
#if defined(__ARM_FEATURE_MVE)
#include "host/kernels/integer_blocks_mve.hpp"
#else
#include "host/kernels/integer_blocks.hpp"
#endif

namespace etb::host {
namespace {

// Calls add(x, weights) for each position of a window.
template <class Add>
inline void visit_window(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                         Add add) noexcept {
  const ptrdiff_t columns = window.columns, input_column = window.input_column,
                  weight_column = window.weight_column;
  const ptrdiff_t input_gap = window.input_row - columns * input_column,
                  weight_gap = window.weight_row - columns * weight_column;
  for (ptrdiff_t r = window.rows; r > 0; --r, x += input_gap, weights += weight_gap) {
    for (ptrdiff_t c = columns; c > 0; --c, x += input_column, weights += weight_column) add(x, weights);
  }
}

}  // namespace

[[gnu::cold]] int32_t Rescale::move_up(int32_t value, int32_t shift) noexcept {
  const int64_t moved = static_cast<int64_t>(value) * (int64_t{1} << (shift & 31));
  return static_cast<int32_t>(std::clamp<int64_t>(moved, INT32_MIN, INT32_MAX));
}

// Both variants look at halves of 64-bit numbers, because these processors compare 32 bits at a time, and collect what must be 0.
#if defined(__ARM_FEATURE_MVE)

bool copy_rescales(const RescaleCopy& copy, size_t count) noexcept {
  static_assert(std::is_standard_layout_v<EValue>);                    // an integer is its first member
  static_assert(Rescale::kLargestShift == -Rescale::kLeastShift - 1);  // one offset for both limits
  const auto *multipliers = reinterpret_cast<const uint32_t*>(copy.multipliers),
             *shifts = reinterpret_cast<const uint32_t*>(copy.shifts);
  int32_t *out_multipliers = copy.out_multipliers, *out_shifts = copy.out_shifts;
  uint32x4_t rest = vdupq_n_u32(0), signs = rest;
  uint32x4_t from, shift_from, low, high, part;
  __asm__ volatile(
      "wlstp.32 lr, %[count], 2f\n"
      "1: vldrw.32 %q[from], [%[multipliers]], #16\n"
      "vldrw.32 %q[shift_from], [%[shifts]], #16\n"
      "vldrw.u32 %q[low], [%q[from]]\n"
      "vldrw.u32 %q[high], [%q[from], #4]\n"
      "vldrw.u32 %q[from], [%q[shift_from]]\n"  // shifts
      "vldrw.u32 %q[part], [%q[shift_from], #4]\n"
      "vorr %q[rest], %q[rest], %q[high]\n"
      "vshr.s32 %q[high], %q[from], #31\n"
      "veor %q[part], %q[part], %q[high]\n"
      "vorr %q[rest], %q[rest], %q[part]\n"
      "vorr %q[signs], %q[signs], %q[low]\n"
      "vadd.i32 %q[part], %q[from], %[offset]\n"
      "vorr %q[signs], %q[signs], %q[part]\n"
      "vmvn %q[part], %q[from]\n"  // -1 - shift
      "vadd.i32 %q[part], %q[part], %[offset]\n"
      "vorr %q[signs], %q[signs], %q[part]\n"
      "vstrw.32 %q[low], [%[out_multipliers]], #16\n"
      "vstrw.32 %q[from], [%[out_shifts]], #16\n"
      "letp lr, 1b\n"
      "2:"
      : [multipliers] "+l"(multipliers), [shifts] "+l"(shifts), [out_multipliers] "+l"(out_multipliers),
        [out_shifts] "+l"(out_shifts), [rest] "+w"(rest), [signs] "+w"(signs), [from] "=&w"(from),
        [shift_from] "=&w"(shift_from), [low] "=&w"(low), [high] "=&w"(high), [part] "=&w"(part)
      : [count] "r"(count), [offset] "r"(-Rescale::kLeastShift)
      : "lr", "memory");
  return vmaxvq_u32(0, vorrq_u32(rest, vshrq_n_u32(signs, 31))) == 0;
}

int32_t sum_codes(const int8_t* codes, ptrdiff_t count) noexcept {
  int32_t sum = 0;
  int8x16_t x;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.8 %q[x], [%[codes]], #16\n"
      "vaddva.s8 %[sum], %q[x]\n"
      "letp lr, 1b\n"
      "2:"
      : [codes] "+r"(codes), [sum] "+Te"(sum), [x] "=&w"(x)
      : [count] "r"(count)
      : "lr", "memory");
  return sum;
}

void copy_codes(const int8_t* from, ptrdiff_t count, int8_t* to) noexcept {
  int8x16_t codes;
  __asm__ volatile(
      "wlstp.8 lr, %[count], 2f\n"
      "1: vldrb.8 %q[codes], [%[from]], #16\n"
      "vstrb.8 %q[codes], [%[to]], #16\n"
      "letp lr, 1b\n"
      "2:"
      : [from] "+r"(from), [to] "+r"(to), [codes] "=&w"(codes)
      : [count] "r"(count)
      : "lr", "memory");
}

#else

bool copy_rescales(const RescaleCopy& copy, size_t count) noexcept {
  EValue *const *multipliers = copy.multipliers, *const *shifts = copy.shifts;
  int32_t *out_multipliers = copy.out_multipliers, *out_shifts = copy.out_shifts;
  uint32_t rest = 0, signs = 0;
  for (; count > 0; --count) {
    const auto multiplier = static_cast<uint64_t>((*multipliers++)->to_int()),
               shift = static_cast<uint64_t>((*shifts++)->to_int());
    const auto low = static_cast<uint32_t>(multiplier), moves = static_cast<uint32_t>(shift);
    rest |= static_cast<uint32_t>(multiplier >> 32);
    rest |= static_cast<uint32_t>(shift >> 32) ^ static_cast<uint32_t>(static_cast<int32_t>(moves) >> 31);
    signs |= low | (moves - static_cast<uint32_t>(Rescale::kLeastShift)) |
             (static_cast<uint32_t>(Rescale::kLargestShift) - moves);
    *out_multipliers++ = static_cast<int32_t>(low);
    *out_shifts++ = static_cast<int32_t>(moves);
  }
  return (rest | signs >> 31) == 0;
}

void copy_codes(const int8_t* from, ptrdiff_t count, int8_t* to) noexcept {
  constexpr ptrdiff_t kShort = 16;
  if (count >= kShort) {
    std::memcpy(to, from, static_cast<size_t>(count));
    return;
  }
  for (; count > 0; --count) {
    *to++ = *from++;
    __asm__("" : "+r"(to));  // the compiler would call memcpy
  }
}

int32_t sum_codes(const int8_t* codes, ptrdiff_t count) noexcept {
  int32_t sum = 0;
  for (ptrdiff_t i = 0; i < count; ++i) sum += codes[i];
  return sum;
}

#endif

template <int kRows>
[[gnu::noinline]] void add_row_products(const int8_t* x, ptrdiff_t x_step, const int8_t* weights,
                                        ptrdiff_t weight_step, ptrdiff_t channels, ptrdiff_t count,
                                        const uint32_t* const (&starts)[2],
                                        uint32_t (*sums)[kTile]) noexcept {
  // Sums wrap, so they may be signed ones.
  const auto *start0 = reinterpret_cast<const int32_t*>(starts[0]),
             *start1 = reinterpret_cast<const int32_t*>(starts[1]);
  auto *sum0 = reinterpret_cast<int32_t*>(sums[0]), *sum1 = reinterpret_cast<int32_t*>(sums[1]);
  if constexpr (kRows == 2) {
    for (; channels >= 2; channels -= 2, weights += 2 * weight_step) {
      int32_t first[2] = {start0[0], start0[1]}, second[2] = {start1[0], start1[1]};
      add_two_by_two(x, x + x_step, weights, weights + weight_step, count, first, second);
      sum0[0] = first[0], sum0[1] = first[1];
      sum1[0] = second[0], sum1[1] = second[1];
      start0 += 2, start1 += 2, sum0 += 2, sum1 += 2;
    }
  } else {
    for (; channels >= 4; channels -= 4, weights += 4 * weight_step, start0 += 4, sum0 += 4) {
      int32_t four[4] = {start0[0], start0[1], start0[2], start0[3]};
      add_one_by_four(x, weights, weight_step, count, four);
      sum0[0] = four[0], sum0[1] = four[1], sum0[2] = four[2], sum0[3] = four[3];
    }
  }
  for (; channels > 0; --channels, weights += weight_step) {
    *sum0++ = add_products(x, weights, count, *start0++);
    if constexpr (kRows == 2) *sum1++ = add_products(x + x_step, weights, count, *start1++);
  }
}

template void add_row_products<1>(const int8_t*, ptrdiff_t, const int8_t*, ptrdiff_t, ptrdiff_t, ptrdiff_t,
                                  const uint32_t* const (&)[2], uint32_t (*)[kTile]) noexcept;
template void add_row_products<2>(const int8_t*, ptrdiff_t, const int8_t*, ptrdiff_t, ptrdiff_t, ptrdiff_t,
                                  const uint32_t* const (&)[2], uint32_t (*)[kTile]) noexcept;

#if defined(__ARM_FEATURE_MVE)

namespace {

// A predicate that is true for all lanes.
struct AllLanes {};

int32x4_t load(const int32_t* from, AllLanes) noexcept { return vldrwq_s32(from); }
int32x4_t load(const int32_t* from, mve_pred16_t lanes) noexcept { return vldrwq_z_s32(from, lanes); }
void store(int8_t* to, int32x4_t codes, AllLanes) noexcept { vstrbq_s32(to, codes); }
void store(int8_t* to, int32x4_t codes, mve_pred16_t lanes) noexcept { vstrbq_p_s32(to, codes, lanes); }
void scatter(int8_t* to, uint32x4_t places, int32x4_t codes, AllLanes) noexcept {
  vstrbq_scatter_offset_s32(to, places, codes);
}
void scatter(int8_t* to, uint32x4_t places, int32x4_t codes, mve_pred16_t lanes) noexcept {
  vstrbq_scatter_offset_p_s32(to, places, codes, lanes);
}

// Adds the products of sixteen channels. Lanes 0, 2, 4 and 6 of products have a vector of their own, as have the others.
void add_sixteen_channels(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                          const uint32_t* starts, uint32_t* sums) noexcept {
  const uint32x4_t every_second = vidupq_n_u32(0, 8);
  uint32x4_t s0 = vldrwq_gather_offset_u32(starts, every_second),
             s1 = vldrwq_gather_offset_u32(starts + 1, every_second),
             s2 = vldrwq_gather_offset_u32(starts + 8, every_second),
             s3 = vldrwq_gather_offset_u32(starts + 9, every_second);
  const ptrdiff_t columns = window.columns, input_column = window.input_column,
                  weight_column = window.weight_column;
  const ptrdiff_t input_gap = window.input_row - columns * input_column,
                  weight_gap = window.weight_row - columns * weight_column;
  for (ptrdiff_t r = window.rows; r > 0; --r, x += input_gap, weights += weight_gap) {
    int16x8_t a, b, product;
    // GCC 12 moves the pointers in each step, because loads of bytes to 16 bits need one of r0 to r7.
    __asm__ volatile(
        "wls lr, %[columns], 2f\n"
        "1: vldrb.s16 %q[a], [%[x]]\n"
        "vldrb.s16 %q[b], [%[weights]]\n"
        "vmullb.s16 %q[product], %q[a], %q[b]\n"
        "vmullt.s16 %q[a], %q[a], %q[b]\n"
        "vadd.i32 %q[s0], %q[s0], %q[product]\n"
        "vadd.i32 %q[s1], %q[s1], %q[a]\n"
        "vldrb.s16 %q[a], [%[x], #8]\n"
        "vldrb.s16 %q[b], [%[weights], #8]\n"
        "vmullb.s16 %q[product], %q[a], %q[b]\n"
        "vmullt.s16 %q[a], %q[a], %q[b]\n"
        "vadd.i32 %q[s2], %q[s2], %q[product]\n"
        "vadd.i32 %q[s3], %q[s3], %q[a]\n"
        "add %[x], %[input_column]\n"
        "add %[weights], %[weight_column]\n"
        "le lr, 1b\n"
        "2:"
        : [x] "+l"(x), [weights] "+l"(weights), [s0] "+w"(s0), [s1] "+w"(s1), [s2] "+w"(s2), [s3] "+w"(s3),
          [a] "=&w"(a), [b] "=&w"(b), [product] "=&w"(product)
        : [columns] "r"(columns), [input_column] "r"(input_column), [weight_column] "r"(weight_column)
        : "lr", "memory");
  }
  vstrwq_scatter_offset_u32(sums, every_second, s0);
  vstrwq_scatter_offset_u32(sums + 1, every_second, s1);
  vstrwq_scatter_offset_u32(sums + 8, every_second, s2);
  vstrwq_scatter_offset_u32(sums + 9, every_second, s3);
}

// The same for the first `channels` of eight.
void add_up_to_eight_channels(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                              uint32_t channels, const uint32_t* starts, uint32_t* sums) noexcept {
  const mve_pred16_t lanes = vctp16q(channels), even = vctp32q((channels + 1) / 2),
                     odd = vctp32q(channels / 2);
  const uint32x4_t every_second = vidupq_n_u32(0, 8);
  int32x4_t s0 = vreinterpretq_s32_u32(vldrwq_gather_offset_z_u32(starts, every_second, even)),
            s1 = vreinterpretq_s32_u32(vldrwq_gather_offset_z_u32(starts + 1, every_second, odd));
  visit_window(window, x, weights, [&](const int8_t* at, const int8_t* weight) {
    const int16x8_t a = vldrbq_z_s16(at, lanes), b = vldrbq_z_s16(weight, lanes);
    s0 = vaddq_s32(s0, vmullbq_int_s16(a, b));
    s1 = vaddq_s32(s1, vmulltq_int_s16(a, b));
  });
  vstrwq_scatter_offset_p_u32(sums, every_second, vreinterpretq_u32_s32(s0), even);
  vstrwq_scatter_offset_p_u32(sums + 1, every_second, vreinterpretq_u32_s32(s1), odd);
}

// store_codes for rescales and codes that are neighbours.
void store_neighbours(const ChannelRescales& rescales, const CodeLimits& limits, const uint32_t* sums,
                      ptrdiff_t channels, int8_t* out) noexcept {
  const int32x4_t zero = vdupq_n_s32(0), low = vdupq_n_s32(limits.low), high = vdupq_n_s32(limits.high);
  const int32_t *multipliers = rescales.multipliers, *shifts = rescales.shifts;
  int32x4_t value, factor, moves, part;
  // The second rounding is upwards: negative values first move down by one.
  __asm__ volatile(
      "wlstp.32 lr, %[channels], 2f\n"
      "1: vldrw.32 %q[value], [%[sums]], #16\n"
      "vldrw.32 %q[moves], [%[shifts]], #16\n"
      "vldrw.32 %q[factor], [%[multipliers]], #16\n"
      "vmax.s32 %q[part], %q[moves], %q[zero]\n"
      "vmin.s32 %q[moves], %q[moves], %q[zero]\n"
      "vqshl.s32 %q[value], %q[value], %q[part]\n"
      "vqrdmulh.s32 %q[value], %q[value], %q[factor]\n"
      "vand %q[part], %q[value], %q[moves]\n"
      "vshr.s32 %q[part], %q[part], #31\n"
      "vqadd.s32 %q[value], %q[value], %q[part]\n"
      "vrshl.s32 %q[value], %q[value], %q[moves]\n"
      "vqadd.s32 %q[value], %q[value], %[offset]\n"
      "vmax.s32 %q[value], %q[value], %q[low]\n"
      "vmin.s32 %q[value], %q[value], %q[high]\n"
      "vstrb.32 %q[value], [%[out]], #4\n"
      "letp lr, 1b\n"
      "2:"
      : [sums] "+l"(sums), [shifts] "+r"(shifts), [multipliers] "+r"(multipliers), [out] "+l"(out),
        [value] "=&w"(value), [factor] "=&w"(factor), [moves] "=&w"(moves), [part] "=&w"(part)
      : [channels] "r"(channels), [offset] "r"(limits.offset), [zero] "w"(zero), [low] "w"(low),
        [high] "w"(high)
      : "lr", "memory");
}

}  // namespace

void add_window_products(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                         ptrdiff_t channels, const uint32_t* starts, uint32_t* sums) noexcept {
  for (; channels >= 16; channels -= 16, x += 16, weights += 16, starts += 16, sums += 16)
    add_sixteen_channels(window, x, weights, starts, sums);
  for (; channels > 0; channels -= 8, x += 8, weights += 8, starts += 8, sums += 8)
    add_up_to_eight_channels(window, x, weights, static_cast<uint32_t>(channels), starts, sums);
}

void store_codes(const ChannelRescales& rescales, const CodeLimits& limits, const uint32_t* sums,
                 ptrdiff_t channels, int8_t* out, ptrdiff_t out_step) noexcept {
  if (rescales.stride == 1 && out_step == 1) return store_neighbours(rescales, limits, sums, channels, out);
  const int32x4_t zero = vdupq_n_s32(0), low = vdupq_n_s32(limits.low), high = vdupq_n_s32(limits.high);
  const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 1), static_cast<uint32_t>(out_step));
  const int32_t offset = limits.offset;
  const int32_t *multiplier = rescales.multipliers, *shift = rescales.shifts;
  int32x4_t factor = vdupq_n_s32(*multiplier), moves = vdupq_n_s32(*shift);
  const auto step = [&](auto lanes) {
    if (rescales.stride != 0) {
      factor = load(multiplier, lanes), moves = load(shift, lanes);
      multiplier += 4, shift += 4;
    }
    const int32x4_t right = vminq_s32(moves, zero);
    int32x4_t value = load(reinterpret_cast<const int32_t*>(sums), lanes);
    value = vqrdmulhq_s32(vqshlq_s32(value, vmaxq_s32(moves, zero)), factor);
    // The second rounding is upwards: negative values first move down by one.
    value = vqaddq_s32(value, vshrq_n_s32(vandq_s32(value, right), 31));
    value = vqaddq_n_s32(vrshlq_s32(value, right), offset);
    value = vminq_s32(vmaxq_s32(value, low), high);
    if (out_step == 1)
      store(out, value, lanes);
    else
      scatter(out, places, value, lanes);
  };
  for (; channels >= 4; channels -= 4, sums += 4, out += 4 * out_step) step(AllLanes());
  if (channels > 0) step(vctp32q(static_cast<uint32_t>(channels)));
}

#else

namespace {

// Sums of four neighbouring channels stay in registers. The window is not empty.
inline void add_four_channels(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                              const uint32_t* starts, uint32_t* sums) noexcept {
  auto s0 = static_cast<int32_t>(starts[0]), s1 = static_cast<int32_t>(starts[1]),
       s2 = static_cast<int32_t>(starts[2]), s3 = static_cast<int32_t>(starts[3]);
  const ptrdiff_t columns = window.columns, input_column = window.input_column,
                  weight_column = window.weight_column;
  const ptrdiff_t input_gap = window.input_row - columns * input_column,
                  weight_gap = window.weight_row - columns * weight_column;
  ptrdiff_t rows = window.rows;
  do {
    ptrdiff_t left = columns;
    do {
#if defined(ETB_HAS_PAIRS)
      const uint32_t a = load_codes(x), b = load_codes(weights);
      const int16x2_t a_even = even_of(a), a_odd = odd_of(a), b_even = even_of(b), b_odd = odd_of(b);
      s0 = __smlabb(a_even, b_even, s0);
      s1 = __smlabb(a_odd, b_odd, s1);
      s2 = __smlatt(a_even, b_even, s2);
      s3 = __smlatt(a_odd, b_odd, s3);
#else
      s0 = multiply_add(x[0], weights[0], s0);
      s1 = multiply_add(x[1], weights[1], s1);
      s2 = multiply_add(x[2], weights[2], s2);
      s3 = multiply_add(x[3], weights[3], s3);
#endif
      x += input_column;
      weights += weight_column;
      // Without this the compiler has pointers of their own for the inner loop.
      __asm__("" : "+r"(x), "+r"(weights));
    } while (--left > 0);
    x += input_gap;
    weights += weight_gap;
  } while (--rows > 0);
  sums[0] = static_cast<uint32_t>(s0);
  sums[1] = static_cast<uint32_t>(s1);
  sums[2] = static_cast<uint32_t>(s2);
  sums[3] = static_cast<uint32_t>(s3);
}

}  // namespace

void add_window_products(const DepthwiseWindow& window, const int8_t* x, const int8_t* weights,
                         ptrdiff_t channels, const uint32_t* starts, uint32_t* sums) noexcept {
  if (window.rows > 0 && window.columns > 0) {
    for (; channels >= 4; channels -= 4, x += 4, weights += 4, starts += 4, sums += 4)
      add_four_channels(window, x, weights, starts, sums);
  }
  for (; channels > 0; --channels) {
    auto sum = static_cast<int32_t>(*starts++);
    visit_window(window, x++, weights++,
                 [&](const int8_t* at, const int8_t* weight) { sum = multiply_add(*at, *weight, sum); });
    *sums++ = static_cast<uint32_t>(sum);
  }
}

namespace {

template <class Step>
inline void store_codes_by(Step stride, const ChannelRescales& rescales, const CodeLimits& limits,
                           const uint32_t* sums, ptrdiff_t channels, int8_t* out, Step out_step) noexcept {
  const int32_t *multiplier = rescales.multipliers, *shift = rescales.shifts;
  const int32_t low = limits.low - limits.offset, high = limits.high - limits.offset, offset = limits.offset;
  for (; channels > 0; --channels, multiplier += stride, shift += stride, out += out_step) {
    const int32_t rescaled = Rescale{*multiplier, *shift}.apply(static_cast<int32_t>(*sums++));
    *out = static_cast<int8_t>(std::clamp(rescaled, low, high) + offset);
  }
}

}  // namespace

void store_codes(const ChannelRescales& rescales, const CodeLimits& limits, const uint32_t* sums,
                 ptrdiff_t channels, int8_t* out, ptrdiff_t out_step) noexcept {
  using One = std::integral_constant<ptrdiff_t, 1>;
  if (rescales.stride == 1 && out_step == 1)
    store_codes_by(One(), rescales, limits, sums, channels, out, One());
  else
    store_codes_by(rescales.stride, rescales, limits, sums, channels, out, out_step);
}

#endif

}  // namespace etb::host
