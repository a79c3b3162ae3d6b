// SPDX-License-Identifier: Apache-2.0
// A convolution with attributes for each direction, as a form.
#pragma once

#include "conformance/cases/op_form.hpp"
#include "conformance/cases/window.hpp"

namespace etb::conformance {

struct Channels {
  int64_t in, out, groups;
};

enum class Parameter { kNone, kConstant, kInput };

struct Convolution : Window {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  int64_t batch = 1;
  Channels channels{};
  Numbers output_padding;
  bool is_transposed = false;
  bool is_last = false, is_large = false;
  Parameter weight = Parameter::kConstant, bias = Parameter::kNone;
  Values values = Values::kStatistical;

  // Sizes of the result's spatial dimensions. Not positive where the kernel does not fit.
  Numbers result_size() const;
  Shape input_shape() const;
  Shape weight_shape() const;
  Shape result_shape() const;
  // Products that one element of the result adds up.
  int64_t length() const;
};

// Adds the factors of a convolution over images to a design: its channels, and the attributes of its window. `part` is
// the member of a row that is the convolution.
template <class Row>
void add_image_layer(DesignOf<Row>& design, Convolution Row::*part, std::vector<Channels> channels,
                     const WindowLevels& window) {
  design.add([part](Row& row) -> Channels& { return (row.*part).channels; }, std::move(channels));
  add_window(design, part, window);
}

// Returns the arguments of aten.convolution; `bias` is an argument of that name.
std::vector<graph::ArgumentDesc> convolution_args(const Convolution& c, uint32_t input, uint32_t weight,
                                                  const graph::ArgumentDesc& bias);

// Returns one kernel size, stride and so on for all directions of an image.
Convolution even_convolution(etb_dtype dtype, const Channels& channels, const Sizes& size, int64_t kernel,
                             int64_t stride = 1, int64_t padding = 0, int64_t dilation = 1);

OpForm convolution_form(const Convolution& c);

}  // namespace etb::conformance
