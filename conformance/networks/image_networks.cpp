// SPDX-License-Identifier: Apache-2.0
// Networks over images: classifiers, residual and depthwise blocks, a U-Net, a detection head.
#include "conformance/networks/networks.hpp"

namespace etb::conformance {
namespace {

using ir::Dims;
using ir::ValueRef;

ir::ValueId max_pool(NetworkBuilder& net, ir::ValueId x, int64_t kernel, int64_t stride, int64_t padding) {
  return net.nodes("aten.max_pool2d_with_indices.default",
                   {ValueRef{x}, Dims{kernel, kernel}, Dims{stride, stride}, Dims{padding, padding},
                    Dims{1, 1}, false})[0];
}
// Averages each channel, which stays as 1 x 1.
ir::ValueId mean_of_channels(NetworkBuilder& net, ir::ValueId x) {
  return net.node("aten.mean.dim", {ValueRef{x}, Dims{-1, -2}, true, ir::Nothing{}});
}
ir::ValueId relu(NetworkBuilder& net, ir::ValueId x) { return unary(net, "aten.relu.default", x); }
ir::ValueId clamp(NetworkBuilder& net, ir::ValueId x, int64_t low, int64_t high) {
  return net.node("aten.clamp.default", {ValueRef{x}, ir::Dim(low), ir::Dim(high)});
}

void cnn(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 3, 20, 24});
  x = relu(net, batch_norm(net, convolution(net, x, {.in = 3, .out = 16, .kernel = 3, .stride = 2}), 16));
  x = max_pool(net, x, 3, 2, 1);
  x = relu(net, batch_norm(net, convolution(net, x, {.in = 16, .out = 24}), 24));
  x = view(net, mean_of_channels(net, x), {net.batch(), 24});
  net.output(linear(net, x, 24, 10));
}

// Two blocks with a shortcut, the second with a stride and a projection.
void resnet(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 16, 9, 11});
  ir::ValueId y = relu(net, batch_norm(net, convolution(net, x, {.in = 16, .out = 16}), 16));
  y = batch_norm(net, convolution(net, y, {.in = 16, .out = 16}), 16);
  x = relu(net, add(net, x, y));
  y = relu(net, batch_norm(net, convolution(net, x, {.in = 16, .out = 32, .stride = 2}), 32));
  y = batch_norm(net, convolution(net, y, {.in = 32, .out = 32}), 32);
  const ir::ValueId shortcut =
      batch_norm(net, convolution(net, x, {.in = 16, .out = 32, .kernel = 1, .stride = 2, .padding = 0}), 32);
  x = relu(net, add(net, y, shortcut));
  net.output(linear(net, view(net, mean_of_channels(net, x), {net.batch(), 32}), 32, 7));
}

// Inverted residuals with depthwise convolutions, ReLU6 and squeeze and excitation.
void mobilenet(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 8, 13, 10});
  const ir::ValueId shortcut = x;
  x = clamp(net, batch_norm(net, convolution(net, x, {.in = 8, .out = 48, .kernel = 1, .padding = 0}), 48), 0,
            6);
  x = clamp(net, batch_norm(net, convolution(net, x, {.in = 48, .out = 48, .groups = 48}), 48), 0, 6);
  ir::ValueId gate =
      relu(net, convolution(net, mean_of_channels(net, x), {.in = 48, .out = 12, .kernel = 1, .padding = 0}));
  gate = unary(net, "aten.sigmoid.default",
               convolution(net, gate, {.in = 12, .out = 48, .kernel = 1, .padding = 0}));
  x = mul(net, x, gate);
  x = batch_norm(net, convolution(net, x, {.in = 48, .out = 8, .kernel = 1, .padding = 0}), 8);
  x = add(net, x, shortcut);
  x = clamp(net,
            convolution(net, x, {.in = 8, .out = 40, .kernel = 5, .stride = 2, .padding = 2, .groups = 8}), 0,
            6);
  net.output(linear(net, view(net, mean_of_channels(net, x), {net.batch(), 40}), 40, 9));
}

// Two levels down and up, with the outer level joined in.
void unet(NetworkBuilder& net) {
  const ir::ValueId x = net.input({net.batch(), 3, 16, 12});
  const ir::ValueId outer = relu(net, convolution(net, x, {.in = 3, .out = 8}));
  const ir::ValueId inner = relu(net, convolution(net, max_pool(net, outer, 2, 2, 0), {.in = 8, .out = 16}));
  const ir::ValueId deep = relu(net, convolution(net, max_pool(net, inner, 2, 2, 0), {.in = 16, .out = 24}));
  const auto twice = [&](ir::ValueId value, ir::ValueId skip, int64_t channels, int64_t from) {
    const Dims& goal = net.sizes(skip);
    const Dims sizes = {net.batch(), from, goal[2], goal[3]};
    const ir::ValueId up =
        net.node_of("aten.upsample_nearest2d.vec", {ValueRef{value}, ir::Nothing{}, ir::FloatList{2.0, 2.0}},
                    ir::Dtype::FLOAT32, sizes);
    return relu(net, convolution(net, cat(net, {up, skip}, 1), {.in = from + channels, .out = channels}));
  };
  const ir::ValueId up = twice(twice(deep, inner, 16, 24), outer, 8, 16);
  net.output(unary(net, "aten.sigmoid.default",
                   convolution(net, up, {.in = 8, .out = 2, .kernel = 1, .padding = 0})));
}

// Boxes and scores of two levels, the best five of each picture.
void detection_head(NetworkBuilder& net) {
  std::vector<ir::ValueId> scores, boxes;
  for (const int64_t size : {6, 3}) {
    const ir::ValueId x = net.input({net.batch(), 12, size, size + 1});
    const auto flat = [&](ir::ValueId value, int64_t per_cell) {
      return view(net, permute(net, value, {0, 2, 3, 1}), {net.batch(), size * (size + 1), per_cell});
    };
    const ir::ValueId tower = relu(net, convolution(net, x, {.in = 12, .out = 12}));
    scores.push_back(flat(convolution(net, tower, {.in = 12, .out = 4}), 4));
    boxes.push_back(flat(convolution(net, tower, {.in = 12, .out = 4}), 4));
  }
  const ir::ValueId all = unary(net, "aten.sigmoid.default", cat(net, scores, 1));
  const ir::ValueId best = net.node("aten.amax.default", {ValueRef{all}, Dims{-1}, false});
  const std::vector<ir::ValueId> top =
      net.nodes("aten.topk.default", {ValueRef{best}, ir::Dim(5), ir::Dim(-1), true, true});
  const ir::ValueId index = net.node(
      "aten.expand.default", {ValueRef{net.node("aten.unsqueeze.default", {ValueRef{top[1]}, ir::Dim(-1)})},
                              Dims{net.batch(), 5, 4}, false});
  const ir::ValueId sides = unary(net, "aten.exp.default", cat(net, boxes, 1));
  net.output(top[0]);
  net.output(net.node("aten.gather.default", {ValueRef{sides}, ir::Dim(1), ValueRef{index}, false}));
}

// More than 64 nodes in a row, each block with its own scale and the first input again.
void deep_chain(NetworkBuilder& net) {
  const ir::ValueId first = net.input({net.batch(), 33});
  ir::ValueId x = first;
  for (int i = 0; i < 24; ++i) {
    x = mul(net, x, net.weight({33}, 0.5, 1));
    x = i % 2 == 0 ? unary(net, "aten.tanh.default", x) : relu(net, x);
    x = add(net, x, first);
  }
  net.output(x);
}

// Twelve inputs and ten outputs that share values.
void many_ends(NetworkBuilder& net) {
  std::vector<ir::ValueId> inputs;
  for (int i = 0; i < 12; ++i) inputs.push_back(net.input({net.batch(), 5 + i % 3}));
  std::vector<ir::ValueId> projected;
  for (size_t i = 0; i < inputs.size(); ++i)
    projected.push_back(linear(net, inputs[i], 5 + static_cast<int64_t>(i) % 3, 6, i % 2 == 0));
  for (size_t i = 0; i + 2 < projected.size(); ++i)
    net.output(add(net, mul(net, projected[i], projected[i + 1]), projected[i + 2]));
}

// One value is the first operand of nodes whose second operands are all different: of its sizes, broadcast, a
// parameter, times a factor.
void one_operand(NetworkBuilder& net) {
  const ir::ValueId x = net.input({net.batch(), 8}), y = net.input({net.batch(), 8}), row = net.input({8});
  const ir::ValueId parameter = net.weight({8}, 1), number = net.weight({1}, 1);
  for (const ir::ValueId other : {y, row, parameter, y, number}) {
    net.output(add(net, x, other));
    net.output(mul(net, x, other));
  }
  net.output(net.node("aten.add.Tensor", {ir::ValueRef{x}, ir::ValueRef{y}, ir::Dim(2)}));
}

constexpr Network kNetworks[] = {
    {"cnn", "convolutions with batch norm, pooling and a classifier", cnn},
    {"resnet", "residual blocks with a projection", resnet},
    {"mobilenet", "depthwise convolutions with squeeze and excitation", mobilenet},
    {"unet", "a U-Net with two levels", unet},
    {"detection_head", "boxes and scores of two levels, and the best of them", detection_head},
    {"deep_chain", "72 nodes in a row", deep_chain},
    {"one_operand", "sums and products that share an operand", one_operand},
    {"many_ends", "twelve inputs and ten outputs", many_ends},
};

}  // namespace

std::span<const Network> image_networks() { return kNetworks; }

}  // namespace etb::conformance
