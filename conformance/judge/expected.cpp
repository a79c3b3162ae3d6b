// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge/expected.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "conformance/cases/values.hpp"
#include "conformance/judge/reference.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::conformance {
namespace {

constexpr int kNoisyRuns = 8;
// Part of the codes that move by one: two correct roundings of nearly a tie differ.
constexpr int kOneCodeIn = 16;

// Units in the last place that the contract allows any op of these networks.
double largest_ulps(const PrecisionContract& contract) {
  double out = contract.ulps;
  for (const auto& row : contract.rows) out = std::max(out, row.ulps);
  return out;
}

class Noise {
 public:
  Noise(std::string_view seed, double size, const NodeErrors& errors)
      : random_(seed), size_(size), errors_(errors) {}

  void change(double& value) { value *= 1 + size_ * (2 * random_.uniform() - 1); }

  void change_result(std::string_view op, uint32_t node, host::Tensor& result) {
    if (result.dtype() == host::Dtype::FLOAT64) {
      auto* const values = result.data_as<double>();
      for (int64_t i = 0; i < result.numel(); ++i) change(values[i]);
      const auto error = errors_.find(node);
      if (error == errors_.end()) return;
      for (int64_t i = 0; i < result.numel(); ++i) values[i] += error->second * (2 * random_.uniform() - 1);
      return;
    }
    if (op.rfind("quantized_decomposed.quantize", 0) != 0 && errors_.count(node) == 0) return;
    has_codes_ = true;
    if (result.dtype() == host::Dtype::INT8) move_codes(result.data_as<int8_t>(), result.numel(), -127, 126);
    if (result.dtype() == host::Dtype::UINT8) move_codes(result.data_as<uint8_t>(), result.numel(), 1, 254);
  }

  bool has_codes() const { return has_codes_; }

 private:
  // Codes at the ends stay: they are clamped, and rarely close to a tie.
  template <class T>
  void move_codes(T* codes, int64_t count, int low, int high) {
    for (int64_t i = 0; i < count; ++i)
      if (codes[i] >= low && codes[i] <= high && random_.between(0, kOneCodeIn - 1) == 0)
        codes[i] = static_cast<T>(codes[i] + (random_.between(0, 1) == 0 ? -1 : 1));
  }

  Random random_;
  double size_;
  const NodeErrors& errors_;
  bool has_codes_ = false;
};

// Finds the values that leave the range of the dtype that the graph stores.
class OverflowWatch {
 public:
  explicit OverflowWatch(const graph::View& view)
      : method_(view.method()), overflows_(method_.value_count(), false) {}

  void see(uint32_t node, std::span<host::Tensor* const> results) {
    uint32_t id = method_.node(node).first_output();
    for (const host::Tensor* const result : results) {
      overflows_[id] = is_beyond(*result, method_.value(id));
      ++id;
    }
  }

  void mark(std::vector<ExpectedTensor>& outputs) const {
    std::vector<bool> follows(overflows_.size(), false);
    for (const graph::Node& node : method_.nodes()) {
      bool any = false;
      for (const graph::Value& operand : node.operands())
        any = any || follows[operand.id()] || overflows_[operand.id()];
      for (const graph::Value& result : node.results()) follows[result.id()] = any;
    }
    for (uint32_t i = 0; i < outputs.size(); ++i)
      outputs[i].follows_overflow = follows[method_.output(i).id()];
  }

 private:
  static bool is_beyond(const host::Tensor& result, const graph::Value& stored) {
    const auto dtype = static_cast<etb_dtype>(stored.spec().dtype);
    if (result.dtype() != host::Dtype::FLOAT64 || !is_floating(dtype)) return false;
    const double largest = float_format(dtype).largest;
    const std::span<const double> values(result.data_as<double>(), static_cast<size_t>(result.numel()));
    return std::any_of(values.begin(), values.end(),
                       [largest](double value) { return std::isfinite(value) && std::abs(value) > largest; });
  }

  graph::Graph method_;
  std::vector<bool> overflows_;  // by value
};

std::vector<double> values_of(const host::Tensor& tensor) {
  std::vector<double> out(static_cast<size_t>(tensor.numel()));
  for (int64_t i = 0; i < tensor.numel(); ++i)
    out[static_cast<size_t>(i)] = load_element(static_cast<etb_dtype>(tensor.dtype()), tensor.data(), i);
  return out;
}

std::vector<TensorData> with_noise(std::vector<TensorData> inputs, Noise& noise) {
  for (TensorData& input : inputs) {
    if (!is_floating(input.shape.dtype)) continue;
    for (int64_t i = 0; i < input.shape.numel(); ++i) {
      double value = load_element(input.shape.dtype, input.bytes.data(), i);
      noise.change(value);
      store_element(input.shape.dtype, input.bytes.data(), i, value);
    }
  }
  return inputs;
}

// The graph, and where its constants are.
struct Subgraph {
  std::span<const uint8_t> image;
  const host::ConstantBytes& read_constant;
};

using Results = std::span<host::Tensor* const>;

Result<std::vector<ExpectedTensor>> run(const Subgraph& graph, const std::vector<TensorData>& inputs,
                                        const host::NodeHook& after_node = {}) {
  ETB_ASSIGN(host::GraphExecutor executor, host::GraphExecutor::make(graph.image, reference_kernels(),
                                                                     {.precision = host::Precision::kFloat64,
                                                                      .read_constant = graph.read_constant}));
  if (executor.input_count() != inputs.size())
    return make_error(Code::INTERNAL,
                      fmt::format("{} inputs, expected {}", inputs.size(), executor.input_count()));
  for (uint32_t i = 0; i < executor.input_count(); ++i)
    ETB_TRY(executor.set_input(i, inputs[i].shape.sizes, inputs[i].bytes.data(), inputs[i].bytes.size()));
  ETB_TRY(executor.run({}, after_node));
  std::vector<ExpectedTensor> out;
  for (uint32_t i = 0; i < executor.output_count(); ++i) {
    const host::Tensor& tensor = executor.output(i);
    ExpectedTensor& made = out.emplace_back();
    made.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
    made.values = values_of(tensor);
    made.is_floating = tensor.dtype() == host::Dtype::FLOAT64;
  }
  return out;
}

Result<std::vector<ExpectedTensor>> run_watched(const Subgraph& graph,
                                                const std::vector<TensorData>& inputs) {
  ETB_ASSIGN(const graph::View view, graph::View::open(graph.image));
  OverflowWatch overflows(view);
  const auto watch = [&](std::string_view /*op*/, uint32_t node, Results results) -> Status {
    overflows.see(node, results);
    return {};
  };
  ETB_ASSIGN(std::vector<ExpectedTensor> out, run(graph, inputs, watch));
  overflows.mark(out);
  return out;
}

Result<std::vector<ExpectedTensor>> run_with_noise(const Subgraph& graph,
                                                   const std::vector<TensorData>& inputs, Noise& noise) {
  return run(graph, with_noise(inputs, noise),
             [&](std::string_view op, uint32_t node, Results results) -> Status {
               for (host::Tensor* const result : results) noise.change_result(op, node, *result);
               return {};
             });
}

// Adds what one run with changes shows.
void widen(ExpectedTensor& expected, std::vector<double> noisy, double& largest) {
  for (size_t i = 0; i < noisy.size(); ++i) {
    const double change = std::abs(noisy[i] - expected.values[i]);
    if (std::isnan(change)) continue;
    expected.bounds[i] = std::max(expected.bounds[i], kBoundOfAChange * change);
    largest = std::max(largest, change);
  }
  if (!expected.is_floating) expected.answers.push_back(std::move(noisy));
}

}  // namespace

Result<std::vector<ExpectedTensor>> expect_results(std::span<const uint8_t> image,
                                                   const host::ConstantBytes& read_constant,
                                                   const std::vector<TensorData>& inputs,
                                                   const PrecisionContract& contract, std::string_view seed,
                                                   const ExpectOptions& options) {
  const Subgraph graph{image, read_constant};
  ETB_ASSIGN(std::vector<ExpectedTensor> out,
             options.find_overflows ? run_watched(graph, inputs) : run(graph, inputs));
  const double unit = float_format(contract.accumulator).unit();
  const double size = unit * std::max(kRoundingsOfAChange, largest_ulps(contract));
  std::vector<double> largest(out.size(), 0);
  bool has_codes = false;
  for (ExpectedTensor& expected : out) expected.bounds.assign(expected.values.size(), 0);
  for (int i = 0; i < kNoisyRuns; ++i) {
    Noise noise(fmt::format("{}/{}", seed, i), size, options.errors);
    ETB_ASSIGN(std::vector<ExpectedTensor> noisy, run_with_noise(graph, inputs, noise));
    for (size_t k = 0; k < out.size(); ++k) widen(out[k], std::move(noisy[k].values), largest[k]);
    has_codes = has_codes || noise.has_codes();
  }
  // A code that moved in no run of ours may move in the plugin's.
  if (has_codes)
    for (size_t k = 0; k < out.size(); ++k)
      for (double& bound : out[k].bounds) bound = std::max(bound, kBoundOfAChange / 4 * largest[k]);
  const auto flushes = [](const PrecisionRow& row) { return row.flushes_subnormals; };
  const bool may_flush =
      contract.flushes_subnormals || std::any_of(contract.rows.begin(), contract.rows.end(), flushes);
  for (ExpectedTensor& expected : out) expected.may_flush = may_flush;
  return out;
}

namespace {

double bound_of(const ExpectedTensor& expected, const TensorData& found, size_t index) {
  const FloatFormat& format = float_format(found.shape.dtype);
  const double flushed = expected.may_flush ? std::ldexp(1.0, format.min_exponent - 1) : 0;
  return expected.bounds[index] + format.ulp(expected.values[index]) + flushed;
}

// Error of an element as a multiple of its bound.
double margin_of(const ExpectedTensor& expected, const TensorData& found, size_t index) {
  const double value = load_element(found.shape.dtype, found.bytes.data(), static_cast<int64_t>(index));
  const double wanted = expected.values[index];
  if (value == wanted || (std::isnan(value) && std::isnan(wanted))) return 0;
  if (!expected.is_floating) {
    for (const std::vector<double>& answer : expected.answers)
      if (answer[index] == value) return 1;
    return HUGE_VAL;
  }
  const double margin = std::abs(value - wanted) / bound_of(expected, found, index);
  return std::isnan(margin) ? HUGE_VAL : margin;
}

}  // namespace

std::string describe_difference(const ExpectedTensor& expected, const TensorData& found) {
  if (found.shape.sizes != expected.sizes)
    return fmt::format("sizes [{}], expected [{}]", fmt::join(found.shape.sizes, ", "),
                       fmt::join(expected.sizes, ", "));
  for (size_t i = 0; i < expected.values.size(); ++i) {
    if (margin_of(expected, found, i) <= 1) continue;
    const double value = load_element(found.shape.dtype, found.bytes.data(), static_cast<int64_t>(i));
    if (!expected.is_floating)
      return fmt::format("element {} is {}, expected {}", i, value, expected.values[i]);
    return fmt::format("element {} is {}, expected {}, at most {:.3g} off", i, value, expected.values[i],
                       bound_of(expected, found, i));
  }
  return "";
}

double find_margin(const ExpectedTensor& expected, const TensorData& found) {
  if (found.shape.sizes != expected.sizes) return HUGE_VAL;
  double out = 0;
  for (size_t i = 0; i < expected.values.size(); ++i) out = std::max(out, margin_of(expected, found, i));
  return out;
}

}  // namespace etb::conformance
