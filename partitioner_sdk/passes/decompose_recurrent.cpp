// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and plain networks, unrolled over time: one group of nodes per step, as in the official lowering.
#include <algorithm>

#include "ops/gru.hpp"
#include "ops/gru_cell.hpp"
#include "ops/lstm.hpp"
#include "ops/lstm_cell.hpp"
#include "ops/rnn_relu.hpp"
#include "ops/rnn_relu_cell.hpp"
#include "ops/rnn_tanh.hpp"
#include "ops/rnn_tanh_cell.hpp"
#include "partitioner_sdk/passes/random_numbers.hpp"

namespace etb::passes {

namespace {

// The weights of one layer in one direction.
struct Weights {
  Argument input, hidden;  // both are matrices
  Argument input_bias = Nothing{}, hidden_bias = Nothing{};
  Argument projection = Nothing{};  // a matrix that makes an LSTM's hidden state smaller
};

// Arguments that both ops have.
struct Sequence {
  ValueId input;
  std::vector<Weights> weights;  // by layer, then direction
  bool is_bidirectional;
  double dropout;  // share of elements set to 0 between layers
};

// The parameters in the order of the modules: matrices, biases, an LSTM's projection, for each layer and direction.
std::optional<std::vector<Weights>> read_weights(const Call& a, const std::vector<ValueId>& params,
                                                 bool has_biases, int64_t count) {
  const size_t plain = has_biases ? 4 : 2;
  const bool is_projected = count > 0 && params.size() / static_cast<size_t>(count) == plain + 1 &&
                            a.op().name == "aten.lstm.input";
  const size_t each = plain + (is_projected ? 1 : 0);
  if (count <= 0 || params.size() != each * static_cast<size_t>(count)) {
    a.fail("weights: " + std::to_string(params.size()) + " tensors, expected " +
           std::to_string(plain * static_cast<size_t>(std::max<int64_t>(count, 0))));
    return std::nullopt;
  }
  std::vector<Weights> out;
  for (size_t i = 0; i < params.size(); i += each) {
    Weights& weights = out.emplace_back();
    weights.input = ValueRef{params[i]};
    weights.hidden = ValueRef{params[i + 1]};
    if (is_projected) weights.projection = ValueRef{params[i + plain]};
    if (!has_biases) continue;
    weights.input_bias = ValueRef{params[i + 2]};
    weights.hidden_bias = ValueRef{params[i + 3]};
  }
  return out;
}

ValueId unary(Builder& b, std::string_view op, ValueId x) { return b.call(op, {ValueRef{x}}); }
ValueId binary(Builder& b, std::string_view op, ValueId x, ValueId y) {
  return b.call(op, {ValueRef{x}, ValueRef{y}});
}

// The input's part of all gates of all steps at once, then one value per step; backwards in time when
// `is_reverse`.
ValueId project_input(Builder& b, ValueId input, const Weights& weights) {
  return b.call("aten.linear.default", {ValueRef{input}, weights.input, weights.input_bias});
}
Values split_steps(Builder& b, ValueId projected, bool is_reverse) {
  if (is_reverse) projected = b.call("aten.flip.default", {ValueRef{projected}, Dims{0}});
  return b.call_all("aten.unbind.int", {ValueRef{projected}});
}
ValueId join_steps(Builder& b, Values steps, bool is_reverse) {
  if (is_reverse) std::reverse(steps.begin(), steps.end());
  return b.call("aten.cat.default", {ir::ValueList{std::move(steps)}});
}
ValueId without_time(Builder& b, ValueId value) {
  return b.call("aten.squeeze.dims", {ValueRef{value}, Dims{0}});
}

struct LayerResult {
  ValueId output;
  Values finals;  // hidden state, cell state
};

// gates = W h + projected input: in, forget, cell, out. c' = forget c + in cell; h' = out tanh(c'),
// perhaps projected.
LayerResult lstm_layer(Builder& b, ValueId input, const Values& states, const Weights& weights,
                       bool is_reverse) {
  ValueId hidden = b.call("aten.unsqueeze.default", {ValueRef{states[0]}, Dim(0)});
  ValueId cell = b.call("aten.unsqueeze.default", {ValueRef{states[1]}, Dim(0)});
  Values steps;
  for (const ValueId step : split_steps(b, project_input(b, input, weights), is_reverse)) {
    const ValueId from_hidden =
        b.call("aten.linear.default", {ValueRef{hidden}, weights.hidden, weights.hidden_bias});
    const ValueId gates = binary(b, "aten.add.Tensor", from_hidden, step);
    const Values parts = b.call_all("aten.chunk.default", {ValueRef{gates}, Dim(4), Dim(2)});
    if (parts.size() != 4) return {input, states};
    const ValueId in = unary(b, "aten.sigmoid.default", parts[0]);
    const ValueId forget = unary(b, "aten.sigmoid.default", parts[1]);
    const ValueId fresh = unary(b, "aten.tanh.default", parts[2]);
    const ValueId out = unary(b, "aten.sigmoid.default", parts[3]);
    const ValueId kept = binary(b, "aten.mul.Tensor", forget, cell);
    const ValueId added = binary(b, "aten.mul.Tensor", in, fresh);
    cell = binary(b, "aten.add.Tensor", kept, added);
    hidden = binary(b, "aten.mul.Tensor", out, unary(b, "aten.tanh.default", cell));
    if (weights.projection != Argument(Nothing{}))
      hidden = b.call("aten.linear.default", {ValueRef{hidden}, weights.projection, Nothing{}});
    steps.push_back(hidden);
  }
  const ValueId output = join_steps(b, std::move(steps), is_reverse);
  const ValueId last_hidden = without_time(b, hidden);
  return {output, {last_hidden, without_time(b, cell)}};
}

// reset, update, new: h' = (h - new) update + new.
LayerResult gru_layer(Builder& b, ValueId input, const Values& states, const Weights& weights,
                      bool is_reverse) {
  const ValueId projected = project_input(b, input, weights);
  ValueId hidden = b.call("aten.unsqueeze.default", {ValueRef{states[0]}, Dim(0)});
  Values steps;
  for (const ValueId step : split_steps(b, projected, is_reverse)) {
    const Values from_input = b.call_all("aten.chunk.default", {ValueRef{step}, Dim(3), Dim(1)});
    const ValueId product =
        b.call("aten.linear.default", {ValueRef{hidden}, weights.hidden, weights.hidden_bias});
    const Values from_hidden = b.call_all("aten.chunk.default", {ValueRef{product}, Dim(3), Dim(2)});
    if (from_input.size() != 3 || from_hidden.size() != 3) return {input, states};
    const ValueId reset =
        unary(b, "aten.sigmoid.default", binary(b, "aten.add.Tensor", from_hidden[0], from_input[0]));
    const ValueId update =
        unary(b, "aten.sigmoid.default", binary(b, "aten.add.Tensor", from_hidden[1], from_input[1]));
    const ValueId gated = binary(b, "aten.mul.Tensor", from_hidden[2], reset);
    const ValueId fresh = unary(b, "aten.tanh.default", binary(b, "aten.add.Tensor", from_input[2], gated));
    const ValueId difference = binary(b, "aten.sub.Tensor", hidden, fresh);
    hidden = binary(b, "aten.add.Tensor", binary(b, "aten.mul.Tensor", difference, update), fresh);
    steps.push_back(hidden);
  }
  const ValueId output = join_steps(b, std::move(steps), is_reverse);
  return {output, {without_time(b, hidden)}};
}

// h' = tanh(W h + projected input), or relu.
LayerResult plain_layer(Builder& b, ValueId input, const Values& states, const Weights& weights,
                        bool is_reverse, std::string_view activation) {
  ValueId hidden = b.call("aten.unsqueeze.default", {ValueRef{states[0]}, Dim(0)});
  Values steps;
  for (const ValueId step : split_steps(b, project_input(b, input, weights), is_reverse)) {
    const ValueId from_hidden =
        b.call("aten.linear.default", {ValueRef{hidden}, weights.hidden, weights.hidden_bias});
    hidden = unary(b, activation, binary(b, "aten.add.Tensor", from_hidden, step));
    steps.push_back(hidden);
  }
  const ValueId output = join_steps(b, std::move(steps), is_reverse);
  return {output, {without_time(b, hidden)}};
}
LayerResult tanh_layer(Builder& b, ValueId input, const Values& states, const Weights& weights,
                       bool is_reverse) {
  return plain_layer(b, input, states, weights, is_reverse, "aten.tanh.default");
}
LayerResult relu_layer(Builder& b, ValueId input, const Values& states, const Weights& weights,
                       bool is_reverse) {
  return plain_layer(b, input, states, weights, is_reverse, "aten.relu.default");
}

using Layer = LayerResult (*)(Builder& b, ValueId input, const Values& states, const Weights& weights,
                              bool is_reverse);

// Runs the layers; states[k] has one value per layer and direction. Returns the output, then the stacked
// final states.
Values run_layers(Builder& b, Sequence sequence, const std::vector<Values>& states, bool is_batch_first,
                  Layer layer) {
  ValueId x = sequence.input;
  if (is_batch_first) x = transpose(b, x, 0, 1);
  const size_t directions = sequence.is_bidirectional ? 2 : 1;
  std::vector<Values> finals(states.size());
  for (size_t i = 0; i < sequence.weights.size(); i += directions) {
    Values outputs;
    if (i != 0) x = dropped_out(b, x, sequence.dropout);
    for (size_t d = 0; d < directions; ++d) {
      Values initial;
      for (const Values& kind : states) initial.push_back(kind[i + d]);
      const LayerResult result = layer(b, x, initial, sequence.weights[i + d], d == 1);
      outputs.push_back(result.output);
      for (size_t k = 0; k < finals.size() && k < result.finals.size(); ++k)
        finals[k].push_back(result.finals[k]);
    }
    x = directions == 1 ? outputs[0] : b.call("aten.cat.default", {ir::ValueList{outputs}, Dim(2)});
  }
  if (is_batch_first) x = transpose(b, x, 0, 1);
  Values out = {x};
  for (Values& kind : finals) out.push_back(b.call("aten.stack.default", {ir::ValueList{std::move(kind)}}));
  return out;
}

template <class A>
std::optional<Sequence> read_sequence(const A& a) {
  if (a.input().spec().rank() != 3) {
    a.fail("input of rank " + std::to_string(a.input().spec().rank()) + ", expected 3");
    return std::nullopt;
  }
  const double dropout = a.train() ? a.dropout().number() : 0;
  if (!(dropout >= 0 && dropout <= 1)) {
    a.fail("dropout of " + std::to_string(dropout) + ", expected 0 to 1");
    return std::nullopt;
  }
  const int64_t layers = a.num_layers().integer();
  auto weights = read_weights(a, a.params().ids(), a.has_biases(), layers * (a.bidirectional() ? 2 : 1));
  if (!weights) return std::nullopt;
  return Sequence{a.input(), *std::move(weights), a.bidirectional(), dropout};
}

Values lstm(Builder& b, const ops::lstm_input<Call>& a) {
  const auto sequence = read_sequence(a);
  const std::vector<ValueId> initial = a.hx().ids();
  if (!sequence || initial.size() != 2) return {};
  const Values hidden = b.call_all("aten.unbind.int", {ValueRef{initial[0]}});
  const Values cell = b.call_all("aten.unbind.int", {ValueRef{initial[1]}});
  if (hidden.size() != sequence->weights.size() || cell.size() != hidden.size()) {
    a.fail(std::to_string(hidden.size()) + " initial states for " + std::to_string(sequence->weights.size()) +
           " layers and directions, expected one each");
    return {};
  }
  return run_layers(b, *sequence, {hidden, cell}, a.batch_first(), lstm_layer);
}

template <class A>
Values one_state(Builder& b, const A& a, Layer layer) {
  const auto sequence = read_sequence(a);
  if (!sequence) return {};
  const Values hidden = b.call_all("aten.unbind.int", {a.hx()});
  if (hidden.size() != sequence->weights.size()) {
    a.fail(std::to_string(hidden.size()) + " initial states for " + std::to_string(sequence->weights.size()) +
           " layers and directions, expected one each");
    return {};
  }
  return run_layers(b, *sequence, {hidden}, a.batch_first(), layer);
}
Values gru(Builder& b, const ops::gru_input<Call>& a) { return one_state(b, a, gru_layer); }
Values rnn_tanh(Builder& b, const ops::rnn_tanh_input<Call>& a) { return one_state(b, a, tanh_layer); }
Values rnn_relu(Builder& b, const ops::rnn_relu_input<Call>& a) { return one_state(b, a, relu_layer); }

// ---- One step, for modules in a loop of the user's model: input, hidden state, weights for both, biases for
// both.

template <class A>
ValueId project_input(Builder& b, const A& a) {
  return b.call("aten.linear.default", {a.input(), a.w_ih(), a.b_ih()});
}
template <class A>
ValueId project_hidden(Builder& b, const A& a, ValueId hidden) {
  return b.call("aten.linear.default", {ValueRef{hidden}, a.w_hh(), a.b_hh()});
}
Values lstm_cell(Builder& b, const ops::lstm_cell_default<Call>& a) {
  const std::vector<ValueId> states = a.hx().ids();
  if (states.size() != 2) return {};
  const ValueId gates = binary(b, "aten.add.Tensor", project_input(b, a), project_hidden(b, a, states[0]));
  const Values parts = b.call_all("aten.chunk.default", {ValueRef{gates}, Dim(4), Dim(1)});
  if (parts.size() != 4) return {};
  const ValueId in = unary(b, "aten.sigmoid.default", parts[0]);
  const ValueId forget = unary(b, "aten.sigmoid.default", parts[1]);
  const ValueId fresh = unary(b, "aten.tanh.default", parts[2]);
  const ValueId out = unary(b, "aten.sigmoid.default", parts[3]);
  const ValueId cell = binary(b, "aten.add.Tensor", binary(b, "aten.mul.Tensor", forget, states[1]),
                              binary(b, "aten.mul.Tensor", in, fresh));
  const ValueId hidden = binary(b, "aten.mul.Tensor", out, unary(b, "aten.tanh.default", cell));
  return {hidden, cell};
}
Values gru_cell(Builder& b, const ops::gru_cell_default<Call>& a) {
  const ValueId from_input = project_input(b, a), from_hidden = project_hidden(b, a, a.hx());
  const Values x = b.call_all("aten.chunk.default", {ValueRef{from_input}, Dim(3), Dim(1)});
  const Values h = b.call_all("aten.chunk.default", {ValueRef{from_hidden}, Dim(3), Dim(1)});
  if (x.size() != 3 || h.size() != 3) return {};
  const ValueId reset = unary(b, "aten.sigmoid.default", binary(b, "aten.add.Tensor", h[0], x[0]));
  const ValueId update = unary(b, "aten.sigmoid.default", binary(b, "aten.add.Tensor", h[1], x[1]));
  const ValueId gated = binary(b, "aten.mul.Tensor", h[2], reset);
  const ValueId fresh = unary(b, "aten.tanh.default", binary(b, "aten.add.Tensor", x[2], gated));
  const ValueId difference = binary(b, "aten.sub.Tensor", a.hx(), fresh);
  return {binary(b, "aten.add.Tensor", binary(b, "aten.mul.Tensor", difference, update), fresh)};
}
template <class A>
Values plain_cell(Builder& b, const A& a, std::string_view activation) {
  return {
      unary(b, activation, binary(b, "aten.add.Tensor", project_input(b, a), project_hidden(b, a, a.hx())))};
}
Values rnn_tanh_cell(Builder& b, const ops::rnn_tanh_cell_default<Call>& a) {
  return plain_cell(b, a, "aten.tanh.default");
}
Values rnn_relu_cell(Builder& b, const ops::rnn_relu_cell_default<Call>& a) {
  return plain_cell(b, a, "aten.relu.default");
}

}  // namespace

std::span<const Decomposition> recurrent_decompositions() {
  static constexpr Decomposition kRows[] = {
      row<ops::gru_input, gru>(),           row<ops::gru_cell_default, gru_cell>(),
      row<ops::lstm_input, lstm>(),         row<ops::lstm_cell_default, lstm_cell>(),
      row<ops::rnn_relu_input, rnn_relu>(), row<ops::rnn_relu_cell_default, rnn_relu_cell>(),
      row<ops::rnn_tanh_input, rnn_tanh>(), row<ops::rnn_tanh_cell_default, rnn_tanh_cell>(),
  };
  return kRows;
}

}  // namespace etb::passes
