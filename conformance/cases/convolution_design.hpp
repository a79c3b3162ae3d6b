// SPDX-License-Identifier: Apache-2.0
// A convolution with attributes for each direction, and the case of it.
#pragma once

#include "conformance/cases/case_builder.hpp"
#include "conformance/cases/design.hpp"
#include "conformance/cases/value_sets.hpp"

namespace etb::conformance {

struct Channels {
  int64_t in, out, groups;
};

enum class Parameter { kNone, kConstant, kInput };

struct Convolution {
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  int64_t batch = 1;
  Channels channels{};
  Numbers size, kernel, stride, padding, dilation, output_padding;
  bool is_transposed = false;
  bool is_last = false, is_large = false;
  Parameter weight = Parameter::kConstant, bias = Parameter::kNone;
  ValueSet values = ValueSet::kStatistical;

  // Sizes of the result's spatial dimensions. Not positive where the kernel does not fit.
  Numbers result_size() const;
  Shape input_shape() const;
  Shape weight_shape() const;
  Shape result_shape() const;
  int64_t length() const;  // of one sum
  // "op.convolution.f32.2x6x9x7.o8_k3x2_s2x1_p1x0_d1x2_g2.bias.constant.stat"
  std::string name() const;
};

// Returns the arguments of aten.convolution; `bias` is an argument of that name.
std::vector<graph::ArgumentDesc> convolution_args(const Convolution& c, uint32_t input, uint32_t weight,
                                                  const graph::ArgumentDesc& bias);

void add_convolution(CaseList& out, const Convolution& c);

}  // namespace etb::conformance
