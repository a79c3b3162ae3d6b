// SPDX-License-Identifier: Apache-2.0
// A window that moves over an image: what convolutions and pools have in common.
#pragma once

#include "conformance/cases/design.hpp"

namespace etb::conformance {

// One number for each direction. `size` is the image's.
struct Window {
  Numbers size, kernel, stride, padding, dilation;
};

// Levels of the five attributes of a window.
struct WindowLevels {
  std::vector<Numbers> sizes, kernels, strides, paddings, dilations;
};

// Adds five factors to a design. `part` is the part of a row that is a window, or has one as its base.
template <class Row, class Part>
void add_window(DesignOf<Row>& design, Part part, const WindowLevels& levels) {
  const auto add = [&](Numbers Window::*member, const std::vector<Numbers>& numbers) {
    design.add(
        [part, member](Row& row) -> Numbers& {
          Window& window = std::invoke(part, row);
          return window.*member;
        },
        numbers);
  };
  add(&Window::size, levels.sizes);
  add(&Window::kernel, levels.kernels);
  add(&Window::stride, levels.strides);
  add(&Window::padding, levels.paddings);
  add(&Window::dilation, levels.dilations);
}

// Adds the factors of a row that is itself a window.
template <class Row>
void add_window(DesignOf<Row>& design, const WindowLevels& levels) {
  add_window(
      design, [](Row& row) -> Window& { return row; }, levels);
}

}  // namespace etb::conformance
