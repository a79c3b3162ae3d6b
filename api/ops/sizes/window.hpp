// SPDX-License-Identifier: Apache-2.0
// Sizes that windows leave: convolution, transposed convolution and pooling, one spatial dimension at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace etb::ops {

// One dimension of a window that moves over an image. Its elements are `dilation` apart and its positions `stride`.
struct Window {
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t padding_before = 0, padding_after = 0;

  void set_padding(int64_t both_sides) { padding_before = padding_after = both_sides; }
};

enum class WindowRounding : uint8_t {
  kDown,  // positions that the padded image holds as a whole
  kUp     // ceil_mode: one more position, which the end of the image cuts
};

enum class WindowError : uint8_t {
  kNone,
  kStride,     // below 1
  kDoesNotFit  // the window reaches over more than the padded image, or nothing is left of it
};

// Item `index` of a list with one entry a dimension or one entry for all dimensions; nullopt where the list has none.
template <class List>
auto item_of(const List& list, size_t index) -> std::optional<std::decay_t<decltype(list[0])>> {
  if (list.size() == 1) return list[0];
  if (index >= list.size()) return std::nullopt;
  return list[index];
}

// Elements from the first to the last that one position of the window reads.
template <class Arithmetic>
typename Arithmetic::Size window_reach(Arithmetic& sizes, const Window& window) {
  return sizes.add(sizes.mul(window.dilation, sizes.sub(window.kernel, 1)), 1);
}

// Positions of a window along an image of `size`.
template <class Arithmetic>
[[nodiscard]] WindowError count_positions(Arithmetic& sizes, typename Arithmetic::Size size,
                                          const Window& window, WindowRounding rounding,
                                          typename Arithmetic::Size* out_count) {
  if (window.stride < 1) return WindowError::kStride;
  const bool rounds_up = rounding == WindowRounding::kUp;
  // Elements after the end of the first position.
  const auto rest = sizes.add(
      size, sizes.sub(sizes.add(window.padding_before, window.padding_after), window_reach(sizes, window)));
  const std::optional<int64_t> left = sizes.known(rest);
  if (left && *left < 0 && !(rounds_up && *left > -window.stride)) return WindowError::kDoesNotFit;
  auto count =
      sizes.add(rounds_up ? sizes.ceil_div(rest, window.stride) : sizes.floor_div(rest, window.stride), 1);
  // A position that would begin in the padding after the image is left out. Nothing decides it for a formula.
  if (rounds_up && sizes.known(count) && sizes.known(size)) {
    const auto last = sizes.mul(sizes.sub(count, 1), window.stride);
    if (*sizes.known(last) >= *sizes.known(sizes.add(size, window.padding_before)))
      count = sizes.sub(count, 1);
  }
  *out_count = count;
  return WindowError::kNone;
}

// Size of the image that a transposed convolution makes of one of `size`. `output_padding` is added after it.
template <class Arithmetic>
[[nodiscard]] WindowError transposed_size(Arithmetic& sizes, typename Arithmetic::Size size,
                                          const Window& window, int64_t output_padding,
                                          typename Arithmetic::Size* out_size) {
  const auto inner = sizes.mul(sizes.sub(size, 1), window.stride);
  const auto added = sizes.add(
      sizes.sub(window_reach(sizes, window), sizes.add(window.padding_before, window.padding_after)),
      output_padding);
  *out_size = sizes.add(inner, added);
  const std::optional<int64_t> known = sizes.known(*out_size);
  return known && *known < 0 ? WindowError::kDoesNotFit : WindowError::kNone;
}

// Channels of a convolution's result, from the first two sizes of its weights.
template <class Arithmetic>
typename Arithmetic::Size convolution_channels(Arithmetic& sizes, typename Arithmetic::Size weight_size_0,
                                               typename Arithmetic::Size weight_size_1, bool is_transposed,
                                               typename Arithmetic::Size groups) {
  return is_transposed ? sizes.mul(weight_size_1, groups) : weight_size_0;
}

}  // namespace etb::ops
