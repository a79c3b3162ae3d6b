// SPDX-License-Identifier: Apache-2.0
// Quantised networks, as PT2E quantisation writes them: codes between pairs of quantize and dequantize.
#include "conformance/networks/networks.hpp"

namespace etb::conformance {
namespace {

using ir::Dims;
using ir::Dtype;
using ir::ValueRef;

struct Codes {
  double scale = 0.03;
  int64_t zero_point = 0;
  int64_t low = -128, high = 127;
};

ir::ValueId dequantize(NetworkBuilder& net, ir::ValueId x, const Codes& codes) {
  return net.node_of("quantized_decomposed.dequantize_per_tensor.default",
                     {ValueRef{x}, codes.scale, ir::Dim(codes.zero_point), ir::Dim(codes.low),
                      ir::Dim(codes.high), Dtype::INT8, ir::Nothing{}},
                     Dtype::FLOAT32, net.sizes(x));
}

// Rounds to codes and back.
ir::ValueId requantize(NetworkBuilder& net, ir::ValueId x, const Codes& codes) {
  const ir::ValueId q = net.node_of("quantized_decomposed.quantize_per_tensor.default",
                                    {ValueRef{x}, codes.scale, ir::Dim(codes.zero_point), ir::Dim(codes.low),
                                     ir::Dim(codes.high), Dtype::INT8},
                                    Dtype::INT8, net.sizes(x));
  return dequantize(net, q, codes);
}

// A parameter of codes with a scale for each of the first dimension's `sizes[0]` parts.
ir::ValueId weight_by_channel(NetworkBuilder& net, const std::vector<int64_t>& sizes, double scale) {
  std::vector<double> scales, zeros;
  for (int64_t i = 0; i < sizes[0]; ++i) {
    scales.push_back(scale * (1 + 0.125 * static_cast<double>(i % 5)));
    zeros.push_back(0);
  }
  const ir::ValueId w = net.codes(sizes, Dtype::INT8, -127, 127),
                    s = net.constant(Dtype::FLOAT32, {sizes[0]}, scales),
                    z = net.constant(Dtype::INT64, {sizes[0]}, zeros);
  return net.node_of("quantized_decomposed.dequantize_per_channel.default",
                     {ValueRef{w}, ValueRef{s}, ValueRef{z}, ir::Dim(0), ir::Dim(-127), ir::Dim(127),
                      Dtype::INT8, ir::Nothing{}},
                     Dtype::FLOAT32, net.sizes(w));
}

ir::ValueId quantised_convolution(NetworkBuilder& net, ir::ValueId x, const ConvolutionShape& c) {
  const ir::ValueId w = weight_by_channel(net, {c.out, c.in / c.groups, c.kernel, c.kernel}, 0.004);
  const ir::ValueId b = net.weight({c.out}, 0.2);
  return net.node("aten.convolution.default",
                  {ValueRef{x}, ValueRef{w}, ValueRef{b}, Dims{c.stride, c.stride},
                   Dims{c.padding, c.padding}, Dims{1, 1}, false, Dims{0, 0}, ir::Dim(c.groups)});
}

ir::ValueId quantised_linear(NetworkBuilder& net, ir::ValueId x, int64_t in, int64_t out) {
  const ir::ValueId w = weight_by_channel(net, {out, in}, 0.004), b = net.weight({out}, 0.2);
  return net.node("aten.linear.default", {ValueRef{x}, ValueRef{w}, ValueRef{b}});
}

void quantised_cnn(NetworkBuilder& net) {
  ir::ValueId x = requantize(net, net.input({net.batch(), 3, 10, 11}, {-2, 2}), {0.016, 3});
  x = unary(net, "aten.relu.default", quantised_convolution(net, x, {.in = 3, .out = 12, .stride = 2}));
  x = requantize(net, x, {0.02, -128});
  const ir::ValueId shortcut = x;
  x = quantised_convolution(net, x, {.in = 12, .out = 12, .groups = 12});
  x = requantize(net, unary(net, "aten.relu.default", x), {0.025, -128});
  x = requantize(net, quantised_convolution(net, x, {.in = 12, .out = 12, .kernel = 1, .padding = 0}),
                 {0.03, 5});
  x = requantize(net, add(net, x, shortcut), {0.04, -20});
  x = requantize(net, net.node("aten.mean.dim", {ValueRef{x}, Dims{-1, -2}, true, ir::Nothing{}}),
                 {0.02, -20});
  x = requantize(net, quantised_linear(net, view(net, x, {net.batch(), 12}), 12, 6), {0.03, 1});
  net.output(x);
}

// Linear layers whose results get a fixed scale.
void quantised_mlp(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 21}, {-3, 3});
  x = unary(net, "aten.relu.default", quantised_linear(net, requantize(net, x, {0.025, 0}), 21, 30));
  net.output(quantised_linear(net, requantize(net, x, {0.02, -128}), 30, 5));
}

// Rounds to codes whose scale and zero point follow from the values of this run.
ir::ValueId requantize_by_range(NetworkBuilder& net, ir::ValueId x) {
  const std::vector<ir::ValueId> found =
      net.nodes_of("quantized_decomposed.choose_qparams.tensor",
                   {ValueRef{x}, ir::Dim(-128), ir::Dim(127), 1.1920928955078125e-07, Dtype::INT8},
                   {{Dtype::FLOAT64, {1}}, {Dtype::INT64, {1}}});
  const ir::ValueId q = net.node_of(
      "quantized_decomposed.quantize_per_tensor.tensor",
      {ValueRef{x}, ValueRef{found[0]}, ValueRef{found[1]}, ir::Dim(-128), ir::Dim(127), Dtype::INT8},
      Dtype::INT8, net.sizes(x));
  return net.node_of("quantized_decomposed.dequantize_per_tensor.tensor",
                     {ValueRef{q}, ValueRef{found[0]}, ValueRef{found[1]}, ir::Dim(-128), ir::Dim(127),
                      Dtype::INT8, ir::Nothing{}},
                     Dtype::FLOAT32, net.sizes(x));
}

void dynamically_quantised_mlp(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 21}, {-3, 3});
  x = unary(net, "aten.relu.default", quantised_linear(net, requantize_by_range(net, x), 21, 30));
  net.output(quantised_linear(net, requantize_by_range(net, x), 30, 5));
}

constexpr Network kNetworks[] = {
    {"quantised_cnn", "an int8 convolutional network with a shortcut", quantised_cnn},
    {"quantised_mlp", "int8 linear layers with float results", quantised_mlp},
    {"dynamic_mlp", "int8 linear layers whose inputs get their scales at run time",
     dynamically_quantised_mlp},
};

}  // namespace

std::span<const Network> quantised_networks() { return kNetworks; }

}  // namespace etb::conformance
