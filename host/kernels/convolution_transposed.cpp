// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions: outputs that are a stride apart are together a plain convolution.
//
// Output o takes tap k from input i where o + padding = i * stride + k * dilation. So the outputs with one remainder of o by the stride
// share their taps: every (stride / gcd(stride, dilation))th one. From one such output to the next i grows by one, and from one such
// tap to the next it shrinks by dilation / gcd. No zeros are put between inputs, and no product is with a zero.
#include <algorithm>
#include <numeric>

#include "etb/cpp/fail.hpp"
#include "host/kernels/convolution.hpp"
#include "host/kernels/kernel.hpp"

namespace etb::host {
namespace {

// One dim of the convolution of one remainder.
struct Remainder {
  int64_t output;  // the first output
  int64_t out;     // count of outputs
  int64_t tap;     // the first tap
  int64_t taps;    // count of taps
  int64_t padding;
};

class Transposed {
 public:
  Transposed(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
             const ConvolutionOperand& weight, const Tensor* bias, const ConvolutionOperand& out)
      : context_(context), shape_(shape), input_(input), weight_(weight), bias_(bias), out_(out) {
    for (int dim = 0; dim < 3; ++dim) {
      const int64_t common = std::gcd(shape.stride[dim], shape.dilation[dim]);
      tap_step_[dim] = shape.stride[dim] / common;
      dilation_[dim] = shape.dilation[dim] / common;
      class_count_[dim] = std::min(shape.kernel[dim], tap_step_[dim]);
    }
  }

  etb_status run() {
    if (has_outputs_without_taps()) ETB_CHECK(fill_with_bias());
    for (int64_t d = 0; d < class_count_[0]; ++d) {
      for (int64_t r = 0; r < class_count_[1]; ++r) {
        for (int64_t c = 0; c < class_count_[2]; ++c) {
          if (context_.should_stop(1)) return context_.stopped();
          ETB_CHECK(run_class({remainder(0, d), remainder(1, r), remainder(2, c)}));
        }
      }
    }
    return ETB_OK;
  }

 private:
  struct Class {
    Remainder dims[3];
  };

  bool has_outputs_without_taps() const {
    for (int dim = 0; dim < 3; ++dim) {
      if (class_count_[dim] < shape_.stride[dim]) return true;
    }
    return false;
  }

  // Returns the convolution of the taps `tap`, `tap` + tap_step ...
  Remainder remainder(int dim, int64_t tap) const {
    const int64_t stride = shape_.stride[dim], position = tap * shape_.dilation[dim] - shape_.padding[dim];
    Remainder result = {};
    result.output = (position % stride + stride) % stride;
    result.out = result.output >= shape_.out[dim] ? 0 : (shape_.out[dim] - 1 - result.output) / stride + 1;
    result.tap = tap;
    result.taps = (shape_.kernel[dim] - 1 - tap) / tap_step_[dim] + 1;
    // The first output takes the first tap from input `start`, and the last tap, which comes first in a window, from further to the left.
    const int64_t start = (result.output - position) / stride;
    result.padding = (result.taps - 1) * dilation_[dim] - start;
    return result;
  }

  etb_status run_class(const Class& remainders) {
    Convolution shape = shape_;
    ConvolutionOperand weight = weight_, out = out_;
    shape.is_transposed = false;
    for (int dim = 0; dim < 3; ++dim) {
      const Remainder& part = remainders.dims[dim];
      if (part.out == 0) return ETB_OK;
      shape.out[dim] = part.out;
      shape.kernel[dim] = part.taps;
      shape.stride[dim] = 1;
      shape.dilation[dim] = dilation_[dim];
      shape.padding[dim] = part.padding;
      out.data = out.at(part.output * out.inner[dim]);
      out.inner[dim] *= shape_.stride[dim];
      // The weights are turned round: they begin with the last tap.
      const int64_t last = part.tap + (part.taps - 1) * tap_step_[dim];
      weight.data = weight.at((shape_.kernel[dim] - 1 - last) * weight.inner[dim]);
      weight.inner[dim] *= tap_step_[dim];
    }
    KernelContext::Mark mark(context_);
    return run_windows(context_, shape, input_, weight, bias_, out);
  }

  etb_status fill_with_bias() {
    const VectorTable& table = vector_table(context_);
    const Compute compute = compute_of(out_.dtype);
    const ConvertLoop store =
        table.conversions->store[static_cast<int>(out_.dtype)][static_cast<int>(compute)];
    constexpr int64_t kRun = 64;
    const auto value_nbytes = static_cast<size_t>(compute == Compute::kFloat ? 4 : 8);
    alignas(8) char values[kRun * 8] = {};
    const int64_t group_out = shape_.out_channels / shape_.groups;
    for (int64_t channel = 0; channel < shape_.out_channels; ++channel) {
      for (int64_t i = 0; i < kRun && bias_ != nullptr; ++i) {
        table.conversions->load[static_cast<int>(bias_->dtype())][static_cast<int>(compute)](
            values + static_cast<size_t>(i) * value_nbytes,
            bias_->data_as<char>() + channel * static_cast<int64_t>(element_nbytes(bias_->dtype())), 1, 1);
      }
      for (int64_t image = 0; image < shape_.batch; ++image) {
        const int64_t plane =
            image * out_.outer[0] + channel / group_out * out_.group + channel % group_out * out_.outer[1];
        for (int64_t depth = 0; depth < shape_.out[0]; ++depth) {
          for (int64_t row = 0; row < shape_.out[1]; ++row) {
            for (int64_t column = 0; column < shape_.out[2]; column += kRun) {
              const int64_t count = std::min(kRun, shape_.out[2] - column);
              if (context_.should_stop(count)) return context_.stopped();
              store(out_.at(plane + depth * out_.inner[0] + row * out_.inner[1] + column * out_.inner[2]),
                    values, out_.inner[2], count);
            }
          }
        }
      }
    }
    return context_.stopped();
  }

  KernelContext& context_;
  const Convolution& shape_;
  const ConvolutionOperand &input_, &weight_;
  const Tensor* bias_;
  const ConvolutionOperand& out_;
  int64_t tap_step_[3], dilation_[3], class_count_[3];
};

}  // namespace

etb_status run_transposed(KernelContext& context, const Convolution& shape, const ConvolutionOperand& input,
                          const ConvolutionOperand& weight, const Tensor* bias,
                          const ConvolutionOperand& out) noexcept {
  return Transposed(context, shape, input, weight, bias, out).run();
}

}  // namespace etb::host
