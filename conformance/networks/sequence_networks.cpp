// SPDX-License-Identifier: Apache-2.0
// Networks over vectors and sequences: perceptrons, attention with and without a cache, recurrent cells.
#include <cmath>

#include "conformance/networks/networks.hpp"

namespace etb::conformance {
namespace {

using ir::Dims;
using ir::ValueRef;

ir::ValueId gelu(NetworkBuilder& net, ir::ValueId x) {
  return net.node("aten.gelu.default", {ValueRef{x}, std::string("none")});
}
ir::ValueId scaled(NetworkBuilder& net, ir::ValueId x, double factor) {
  return net.node("aten.mul.Scalar", {ValueRef{x}, factor});
}
ir::ValueId sigmoid(NetworkBuilder& net, ir::ValueId x) { return unary(net, "aten.sigmoid.default", x); }
ir::ValueId tanh_of(NetworkBuilder& net, ir::ValueId x) { return unary(net, "aten.tanh.default", x); }

void mlp(NetworkBuilder& net) {
  ir::ValueId x = net.input({net.batch(), 37});
  x = layer_norm(net, gelu(net, linear(net, x, 37, 64)), 64);
  x = unary(net, "aten.relu.default", linear(net, x, 64, 129, false));
  net.output(softmax(net, linear(net, x, 129, 11), -1));
}

constexpr int64_t kHeads = 3, kHead = 8, kWidth = kHeads * kHead;

// [batch, length, width] to [batch * heads, length, head].
ir::ValueId split_heads(NetworkBuilder& net, ir::ValueId x, int64_t length) {
  const ir::ValueId four = permute(net, view(net, x, {net.batch(), length, kHeads, kHead}), {0, 2, 1, 3});
  const ir::ValueId copy = net.node("aten.clone.default", {ValueRef{four}, ir::MemoryFormat::kContiguous});
  return view(net, copy, {net.times_batch(kHeads), length, kHead});
}
ir::ValueId join_heads(NetworkBuilder& net, ir::ValueId x, int64_t length) {
  const ir::ValueId four = permute(net, view(net, x, {net.batch(), kHeads, length, kHead}), {0, 2, 1, 3});
  const ir::ValueId copy = net.node("aten.clone.default", {ValueRef{four}, ir::MemoryFormat::kContiguous});
  return view(net, copy, {net.batch(), length, kWidth});
}

// softmax(q k^T / sqrt(head) + mask) v, for heads in the first dimension.
ir::ValueId attend(NetworkBuilder& net, ir::ValueId q, ir::ValueId k, ir::ValueId v, ir::ValueId mask) {
  const ir::ValueId turned = permute(net, k, {0, 2, 1});
  const ir::ValueId scores = net.node("aten.bmm.default", {ValueRef{q}, ValueRef{turned}});
  const ir::ValueId masked = add(net, scaled(net, scores, 1 / std::sqrt(static_cast<double>(kHead))), mask);
  return net.node("aten.bmm.default", {ValueRef{softmax(net, masked, -1)}, ValueRef{v}});
}

// A mask that hides later positions: -1e4 above the diagonal.
ir::ValueId causal_mask(NetworkBuilder& net, int64_t length) {
  std::vector<double> elements;
  for (int64_t row = 0; row < length; ++row)
    for (int64_t column = 0; column < length; ++column) elements.push_back(column > row ? -1e4 : 0);
  return net.constant(ir::Dtype::FLOAT32, {length, length}, elements);
}

void transformer(NetworkBuilder& net) {
  constexpr int64_t kLength = 9;
  const ir::ValueId tokens = net.input({net.batch(), kLength}, {0, 30}, ir::Dtype::INT64);
  const ir::ValueId table = net.weight({31, kWidth}, 1);
  ir::ValueId x =
      net.node("aten.embedding.default", {ValueRef{table}, ValueRef{tokens}, ir::Dim(-1), false, false});
  x = add(net, x, net.weight({kLength, kWidth}, 0.5));
  const ir::ValueId h = layer_norm(net, x, kWidth);
  const ir::ValueId q = split_heads(net, linear(net, h, kWidth, kWidth), kLength),
                    k = split_heads(net, linear(net, h, kWidth, kWidth, false), kLength),
                    v = split_heads(net, linear(net, h, kWidth, kWidth), kLength);
  const ir::ValueId seen = join_heads(net, attend(net, q, k, v, causal_mask(net, kLength)), kLength);
  x = add(net, x, linear(net, seen, kWidth, kWidth));
  const ir::ValueId inner = gelu(net, linear(net, layer_norm(net, x, kWidth), kWidth, 4 * kWidth));
  x = add(net, x, linear(net, inner, 4 * kWidth, kWidth));
  net.output(linear(net, layer_norm(net, x, kWidth), kWidth, 31, false));
}

ir::ValueId rms_norm(NetworkBuilder& net, ir::ValueId x, int64_t size) {
  const ir::ValueId square = mul(net, x, x);
  const ir::ValueId mean = net.node("aten.mean.dim", {ValueRef{square}, Dims{-1}, true, ir::Nothing{}});
  const ir::ValueId safe = net.node("aten.add.Scalar", {ValueRef{mean}, 1e-6, ir::Dim(1)});
  return mul(net, mul(net, x, unary(net, "aten.rsqrt.default", safe)), net.weight({size}, 0.5, 1));
}

// Rotates pairs of channels by an angle of the position: x cos + [-second half, first half] sin.
ir::ValueId rotate(NetworkBuilder& net, ir::ValueId x, ir::ValueId cosine, ir::ValueId sine) {
  const ir::ValueId first = slice(net, x, 2, 0, kHead / 2), second = slice(net, x, 2, kHead / 2, kHead);
  const ir::ValueId turned = cat(net, {unary(net, "aten.neg.default", second), first}, 2);
  return add(net, mul(net, x, cosine), mul(net, turned, sine));
}

// One decoding step of a language model: one new token, keys and values of earlier ones in caches that the
// step returns with the new one.
void decoder_step(NetworkBuilder& net) {
  constexpr int64_t kCache = 12, kAt = 7;  // the new position
  const ir::ValueId x = net.input({net.batch(), 1, kWidth});
  const ir::ValueId old_keys = net.input({net.times_batch(kHeads), kCache, kHead}),
                    old_values = net.input({net.times_batch(kHeads), kCache, kHead});
  std::vector<double> cosine, sine, mask;
  for (int64_t i = 0; i < kHead; ++i) {
    const double angle = kAt * std::pow(100.0, -static_cast<double>(i % (kHead / 2)) / 4);
    cosine.push_back(std::cos(angle));
    sine.push_back(std::sin(angle));
  }
  for (int64_t i = 0; i < kCache; ++i) mask.push_back(i > kAt ? -1e4 : 0);
  const ir::ValueId cos_table = net.constant(ir::Dtype::FLOAT32, {1, 1, kHead}, cosine),
                    sin_table = net.constant(ir::Dtype::FLOAT32, {1, 1, kHead}, sine),
                    hidden = net.constant(ir::Dtype::FLOAT32, {1, 1, kCache}, mask);
  const ir::ValueId h = rms_norm(net, x, kWidth);
  const ir::ValueId q = rotate(net, split_heads(net, linear(net, h, kWidth, kWidth, false), 1), cos_table,
                               sin_table),
                    k = rotate(net, split_heads(net, linear(net, h, kWidth, kWidth, false), 1), cos_table,
                               sin_table),
                    v = split_heads(net, linear(net, h, kWidth, kWidth, false), 1);
  const auto store = [&](ir::ValueId cache, ir::ValueId value) {
    return net.node("aten.slice_scatter.default", {ValueRef{cache}, ValueRef{value}, ir::Dim(1), ir::Dim(kAt),
                                                   ir::Dim(kAt + 1), ir::Dim(1)});
  };
  const ir::ValueId keys = store(old_keys, k), values = store(old_values, v);
  ir::ValueId y = join_heads(net, attend(net, q, keys, values, hidden), 1);
  y = add(net, x, linear(net, y, kWidth, kWidth, false));
  const ir::ValueId n = rms_norm(net, y, kWidth);
  const ir::ValueId gate = linear(net, n, kWidth, 64, false), up = linear(net, n, kWidth, 64, false);
  y = add(net, y, linear(net, mul(net, mul(net, gate, sigmoid(net, gate)), up), 64, kWidth, false));
  net.output(y);
  net.output(keys);
  net.output(values);
}

// A long short-term memory over five steps: all share their weights.
void lstm(NetworkBuilder& net) {
  constexpr int64_t kSteps = 5, kIn = 7, kSize = 10;
  const ir::ValueId x = net.input({net.batch(), kSteps, kIn});
  ir::ValueId h = net.input({net.batch(), kSize}), c = net.input({net.batch(), kSize});
  const ir::ValueId wx = net.weight({4 * kSize, kIn}, 0.4), bx = net.weight({4 * kSize}, 0.3),
                    wh = net.weight({4 * kSize, kSize}, 0.4);
  std::vector<ir::ValueId> states;
  for (int64_t step = 0; step < kSteps; ++step) {
    const ir::ValueId now = net.node("aten.select.int", {ValueRef{x}, ir::Dim(1), ir::Dim(step)});
    const ir::ValueId gates =
        add(net, net.node("aten.linear.default", {ValueRef{now}, ValueRef{wx}, ValueRef{bx}}),
            net.node("aten.linear.default", {ValueRef{h}, ValueRef{wh}, ir::Nothing{}}));
    const auto gate = [&](int64_t i) { return slice(net, gates, 1, i * kSize, (i + 1) * kSize); };
    c = add(net, mul(net, sigmoid(net, gate(1)), c), mul(net, sigmoid(net, gate(0)), tanh_of(net, gate(2))));
    h = mul(net, sigmoid(net, gate(3)), tanh_of(net, c));
    states.push_back(net.node("aten.unsqueeze.default", {ValueRef{h}, ir::Dim(1)}));
  }
  net.output(cat(net, states, 1));
  net.output(c);
}

// A gated recurrent unit over four steps.
void gru(NetworkBuilder& net) {
  constexpr int64_t kSteps = 4, kIn = 6, kSize = 9;
  const ir::ValueId x = net.input({net.batch(), kSteps, kIn});
  ir::ValueId h = net.input({net.batch(), kSize});
  const ir::ValueId wx = net.weight({3 * kSize, kIn}, 0.4), bx = net.weight({3 * kSize}, 0.3),
                    wh = net.weight({3 * kSize, kSize}, 0.4), bh = net.weight({3 * kSize}, 0.3);
  for (int64_t step = 0; step < kSteps; ++step) {
    const ir::ValueId now = net.node("aten.select.int", {ValueRef{x}, ir::Dim(1), ir::Dim(step)});
    const ir::ValueId a = net.node("aten.linear.default", {ValueRef{now}, ValueRef{wx}, ValueRef{bx}}),
                      b = net.node("aten.linear.default", {ValueRef{h}, ValueRef{wh}, ValueRef{bh}});
    const auto part = [&](ir::ValueId of, int64_t i) {
      return slice(net, of, 1, i * kSize, (i + 1) * kSize);
    };
    const ir::ValueId reset = sigmoid(net, add(net, part(a, 0), part(b, 0))),
                      update = sigmoid(net, add(net, part(a, 1), part(b, 1)));
    const ir::ValueId fresh = tanh_of(net, add(net, part(a, 2), mul(net, reset, part(b, 2))));
    const ir::ValueId change = net.node("aten.sub.Tensor", {ValueRef{h}, ValueRef{fresh}, ir::Dim(1)});
    h = add(net, fresh, mul(net, update, change));
  }
  net.output(h);
}

constexpr Network kNetworks[] = {
    {"mlp", "linear layers with GELU and layer norm", mlp},
    {"transformer", "an encoder block with causal attention", transformer},
    {"decoder_step", "one step of a language model with key and value caches", decoder_step},
    {"lstm", "a long short-term memory over five steps", lstm},
    {"gru", "a gated recurrent unit over four steps", gru},
};

}  // namespace

std::span<const Network> sequence_networks() { return kNetworks; }

}  // namespace etb::conformance
