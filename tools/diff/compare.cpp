// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "conformance/cases/mutable_graph.hpp"
#include "conformance/networks/compile_network.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "tools/diff/message.hpp"
#include "tools/diff/quantisation.hpp"
#include "tools/evaluate_constants.hpp"

namespace etb::diff {

using conformance::ExpectedTensor;
using conformance::PrecisionContract;

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight:
      return "right";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kUnjudged:
      return "unjudged";
  }
  return "";
}

const ResultComparison* NodesComparison::find_wrong() const {
  for (const ResultComparison& result : results)
    if (result.is_wrong()) return &result;
  return nullptr;
}

namespace {

// Without a reference, results that differ by more than this part of the largest one are wrong.
constexpr double kUnexplainedPart = 0x1p-10;

// The contract of these ops, with units of the coarsest floating dtype that the nodes store.
PrecisionContract contract_for(const ir::Module& module, const std::vector<uint32_t>& nodes,
                               const Side& side) {
  std::vector<std::string> ops;
  double unit = 0;
  etb_dtype stored = ETB_DTYPE_FLOAT32;
  for (const uint32_t node : nodes) {
    ops.push_back(module.op(module.main().nodes[node]).name);
    for (const ir::ValueId id : module.main().nodes[node].outputs) {
      const auto dtype = static_cast<etb_dtype>(module.main().values[id].spec.dtype);
      if (!conformance::is_floating(dtype) || conformance::float_format(dtype).unit() <= unit) continue;
      unit = conformance::float_format(dtype).unit();
      stored = dtype;
    }
  }
  PrecisionContract out = side.contract().narrowed(ops, stored);
  if (unit > conformance::float_format(out.accumulator).unit() || stored == ETB_DTYPE_FLOAT64)
    out.accumulator = stored;
  return out;
}

// A result that the plugin's contract or the dtype's range leaves open is right.
void apply_contract(const PrecisionContract& contract, const TensorData& found, ExpectedTensor& expected) {
  const etb_dtype dtype = found.shape.dtype;
  if (!expected.is_floating || !conformance::is_floating(dtype) || found.shape.sizes != expected.sizes)
    return;
  const conformance::FloatFormat& format = conformance::float_format(dtype);
  const double least_normal = std::ldexp(1.0, format.min_exponent - 1);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double& wanted = expected.values[i];
    if (contract.flushes_subnormals) expected.bounds[i] += least_normal;
    const double value = conformance::load_element(dtype, found.bytes.data(), static_cast<int64_t>(i));
    const bool is_overflow = std::abs(wanted) + expected.bounds[i] >= format.largest && std::isinf(value) &&
                             std::signbit(value) == std::signbit(wanted);
    if (is_overflow || (contract.is_finite_only && !std::isfinite(wanted))) wanted = value;
  }
}

void judge_result(const PrecisionContract& contract, ExpectedTensor expected, SideResult& out) {
  apply_contract(contract, out.value, expected);
  out.text = conformance::describe_difference(expected, out.value);
  out.margin = conformance::find_margin(expected, out.value);
  out.verdict = out.text.empty() ? Verdict::kRight : Verdict::kWrong;
}

bool has_special(const TensorData& tensor) {
  for (int64_t i = 0; i < tensor.shape.numel(); ++i)
    if (!std::isfinite(conformance::load_element(tensor.shape.dtype, tensor.bytes.data(), i))) return true;
  return false;
}

// The reference cannot judge numbers that only it can hold, and what follows from them: a plugin may turn infinity or
// NaN into another number than the kernels. The nodes alone read the same numbers, so they are judged.
bool is_beyond_range(const ResultComparison& result, const ExpectedTensor& expected) {
  if (result.a.verdict != Verdict::kWrong && result.b.verdict != Verdict::kWrong) return false;
  return expected.follows_overflow || (has_special(result.a.value) && has_special(result.b.value));
}

// Compares the sides with each other.
void judge_without_reference(ResultComparison& out) {
  const TensorData& a = out.a.value;
  if (!out.metrics) {
    out.b.verdict = Verdict::kWrong;
    out.b.text = describe_shape(out.b.value) + ", expected " + describe_shape(a);
    return;
  }
  double largest = 0;
  for (int64_t i = 0; i < a.shape.numel(); ++i) {
    const double value = std::abs(conformance::load_element(a.shape.dtype, a.bytes.data(), i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const double bound = conformance::is_floating(a.shape.dtype) ? kUnexplainedPart * largest : 0;
  if (out.metrics->max_abs <= bound) return;
  out.b.verdict = Verdict::kWrong;
  out.b.margin = bound > 0 ? out.metrics->max_abs / bound : HUGE_VAL;
  out.b.text = "element " + std::to_string(out.metrics->max_index) + " differs by " +
               std::to_string(out.metrics->max_abs) + " from the other side";
}

// Replaces block-wise quantisations, for which the reference has no kernels, by arithmetic. Their results are still codes.
Status lower_block_codes(ir::Module& module, std::vector<RemovedRounding>& roundings) {
  for (const ir::Node& node : module.main().nodes)
    if (module.op(node).name.rfind("torchao.quantize_affine", 0) == 0)
      roundings.push_back({node.debug_handle, 0});
  const Result<bool> lowered = passes::lower_affine(module);
  return lowered ? Status() : tl::make_unexpected(lowered.error());
}

// Errors of the copies that replace roundings, by node of the image.
Result<conformance::NodeErrors> errors_of(const graph::ImageBytes& image,
                                          const std::vector<RemovedRounding>& roundings) {
  conformance::NodeErrors out;
  if (roundings.empty()) return out;
  ETB_ASSIGN(const graph::View view, graph::View::open(image.span()));
  for (const graph::Node& node : view.method().nodes())
    for (const RemovedRounding& one : roundings) {
      // The conversion to integers is the rounding in the arithmetic of a quantisation.
      const bool is_other_step = one.half_step == 0 && node.op_name().find("to_") == std::string_view::npos;
      if (node.debug_handle() == one.debug_handle && !is_other_step) out[node.id()] = one.half_step;
    }
  return out;
}

// Codes whose operands differ by the error of a code are numbers with a bound, not answers.
void allow_next_code(ExpectedTensor& expected) {
  if (expected.is_floating) return;
  expected.is_floating = true;
  for (double& bound : expected.bounds) bound = std::max(bound, 1.0);
}

// Values that the nodes read, as extract_part orders them.
Result<std::vector<const TensorData*>> find_inputs(const Model& model, const Part& part) {
  std::vector<const TensorData*> out;
  for (const ir::ValueId id : part.operands) {
    const TensorData* const value = model.find_value(id);
    if (value == nullptr)
      return make_error(Code::NOT_SUPPORTED, "reads '" + model.name_of(id) + "', which is no tensor");
    out.push_back(value);
  }
  return out;
}

// A side without results is wrong; the other one has no judge.
void add_deaths(Side::Run& a, Side::Run& b, NodesComparison& out) {
  out.has_death = true;
  for (ResultComparison& result : out.results)
    for (const auto& [ran, of_side] : {std::pair(&a, &result.a), std::pair(&b, &result.b)}) {
      if (const auto found = ran->results.find(result.value); found != ran->results.end())
        of_side->value = std::move(found->second);
      if (ran->death.empty()) continue;
      of_side->verdict = Verdict::kWrong;
      of_side->margin = HUGE_VAL;
      of_side->text = ran->death;
    }
}

std::vector<TensorData> copies_of(const std::vector<const TensorData*>& tensors) {
  std::vector<TensorData> out;
  for (const TensorData* tensor : tensors) out.push_back(*tensor);
  return out;
}

}  // namespace

// The order of a method's outputs is not that of its nodes.
Result<Side::Run> Comparison::take_outputs(const Side& side, const NodesComparison& of) const {
  if (of.nodes.size() != model_.node_count())
    return make_error(Code::NOT_SUPPORTED, "knows only the outputs of the whole method");
  ETB_ASSIGN(const MethodOutputs outputs, side.outputs(model_.inputs()));
  Side::Run out;
  out.death = outputs.death;
  if (!out.death.empty()) return out;
  const std::vector<TensorData>& found = outputs.values;
  std::map<ir::ValueId, size_t> positions;
  size_t count = 0;
  for (const ir::Output& output : model_.module().main().outputs) {
    if (output.kind != ir::OutputKind::kUser) continue;
    if (const auto* const value = ir::get_if<ir::ValueRef>(output.value)) positions[value->id] = count;
    ++count;
  }
  if (found.size() != count)
    return make_error(Code::INVALID_DATA, "outputs: found " + std::to_string(found.size()) + ", expected " +
                                              std::to_string(count) + " as the model has");
  for (const ResultComparison& result : of.results) {
    const TensorData& value = found[positions.at(result.value)];
    if (!has_all_bytes(value))
      return make_error(Code::INVALID_DATA, "output '" + model_.name_of(result.value) + "' is no tensor");
    out.results[result.value] = value;
  }
  return out;
}

Result<Side::Run> Comparison::run_side(const Side& side, const NodesComparison& of,
                                       const std::vector<const TensorData*>& inputs) const {
  auto out = side.kind() == SideKind::kOutputs ? take_outputs(side, of) : side.run(model_, of.nodes, inputs);
  if (!out) return tl::make_unexpected(with_context(std::move(out).error(), side.name()));
  return out;
}

Status Comparison::run_sides(NodesComparison& out, const std::vector<const TensorData*>& inputs) const {
  ETB_ASSIGN(Side::Run a, run_side(a_, out, inputs));
  ETB_ASSIGN(Side::Run b, run_side(b_, out, inputs));
  out.delegated_a = a.delegated_nodes;
  out.delegated_b = b.delegated_nodes;
  if (!a.death.empty() || !b.death.empty()) {
    add_deaths(a, b, out);
    return {};
  }
  // A recording has not every result.
  std::erase_if(out.results, [&](const ResultComparison& result) {
    return a.results.count(result.value) == 0 || b.results.count(result.value) == 0;
  });
  for (ResultComparison& result : out.results) {
    result.a.value = std::move(a.results.at(result.value));
    result.b.value = std::move(b.results.at(result.value));
    result.metrics = measure(result.a.value, result.b.value);
    for (const Comparator& comparator : options_.comparators) {
      const Result<double> distance = comparator.compare(result.a.value, result.b.value);
      if (!distance) out.failure = distance.error();
      result.distances.push_back(distance.value_or(0));
    }
  }
  return {};
}

Result<std::vector<ExpectedTensor>> Comparison::expect(bool has_roundings, const std::vector<uint32_t>& nodes,
                                                       const std::vector<const TensorData*>& inputs,
                                                       const Side& side) const {
  Part part = extract_part(model_.fixed_module(), nodes, PartResults::kNeeded);
  std::vector<RemovedRounding> roundings;
  if (!has_roundings)
    roundings = remove_quantisation(
        part.module, [&](ir::ValueId id) { return model_.find_value(id); },
        has_archive_side() ? RemovalScope::kWithWeights : RemovalScope::kActivations);
  const bool has_removed = !roundings.empty();
  // Folded weights would have no error.
  const passes::Evaluate evaluate = has_archive_side() ? passes::Evaluate() : tools::evaluate_constants;
  ETB_TRY(lower_block_codes(part.module, roundings));
  ETB_ASSIGN(const conformance::NetworkGraph graph,
             conformance::make_network_graph(std::move(part.module), evaluate));
  conformance::ExpectOptions wanted;
  wanted.find_overflows = true;
  ETB_ASSIGN(wanted.errors, errors_of(graph.image, roundings));
  auto out = conformance::expect_results(graph.image.span(), graph.reader(), copies_of(inputs),
                                         contract_for(model_.fixed_module(), nodes, side),
                                         "diff/" + std::to_string(options_.seed), wanted);
  if (out && has_removed)
    for (ExpectedTensor& expected : *out) allow_next_code(expected);
  return out;
}

void Comparison::judge(NodesComparison& out, const std::vector<const TensorData*>& inputs,
                       const std::vector<ir::ValueId>& order) const {
  const bool has_one_contract = a_.contract().rows.empty() && b_.contract().rows.empty();
  const auto expect_both = [&](bool has_roundings) {
    auto of_a = expect(has_roundings, out.nodes, inputs, a_);
    auto of_b = has_one_contract ? of_a : expect(has_roundings, out.nodes, inputs, b_);
    return std::pair(std::move(of_a), std::move(of_b));
  };
  auto [a, b] = expect_both(!has_real_side());
  // The reference lacks some quantisations. Real numbers with the errors of the scales replace them.
  if (!a || !b) {
    auto [real_a, real_b] = expect_both(false);
    if (real_a && real_b) std::tie(a, b) = std::pair(std::move(real_a), std::move(real_b));
  }
  if (!a || !b) {
    out.obstacle = "no reference: " + (a ? b : a).error().message;
    for (ResultComparison& result : out.results) judge_without_reference(result);
    return;
  }
  for (ResultComparison& result : out.results) {
    const auto at = std::find(order.begin(), order.end(), result.value) - order.begin();
    const auto position = static_cast<size_t>(at);
    judge_result(contract_for(model_.fixed_module(), out.nodes, a_), (*a)[position], result.a);
    judge_result(contract_for(model_.fixed_module(), out.nodes, b_), (*b)[position], result.b);
    if (!is_beyond_range(result, (*a)[position])) continue;
    for (SideResult* side : {&result.a, &result.b}) {
      side->verdict = Verdict::kUnjudged;
      side->margin = 0;
      side->text.clear();
    }
    out.obstacle = "numbers leave the range of the dtype, not of the float64 reference; see the nodes alone";
  }
}

NodesComparison Comparison::compare(const std::vector<uint32_t>& nodes) const {
  NodesComparison out;
  out.nodes = nodes;
  out.obstacle = find_obstacle(model_.module(), nodes);
  if (!out.obstacle.empty()) return out;
  const Part part = extract_part(model_.module(), nodes, PartResults::kNeeded);
  for (const ir::ValueId id : part.results) {
    ResultComparison& result = out.results.emplace_back();
    result.value = id;
    for (const uint32_t node : nodes) {
      const auto& outputs = model_.module().main().nodes[node].outputs;
      if (std::find(outputs.begin(), outputs.end(), id) != outputs.end()) result.node = node;
    }
  }
  const auto inputs = find_inputs(model_, part);
  const Status ran = inputs ? run_sides(out, *inputs) : Status(tl::make_unexpected(inputs.error()));
  if (!ran) {
    out.obstacle = ran.error().message;
    out.results.clear();
    return out;
  }
  if (!out.results.empty() && !out.has_death) judge(out, *inputs, part.results);
  return out;
}

Result<graph::ImageBytes> make_image(const Model& model, const std::vector<uint32_t>& nodes,
                                     ir::ValueId output) {
  Part part = extract_part(model.fixed_module(), nodes, PartResults::kNeeded);
  part.module.main().outputs = {{ir::ValueRef{output}, ir::OutputKind::kUser, {}}};
  partition::ConstantKeys keys;
  ETB_ASSIGN(partition::MethodImage made, partition::make_method_image(part.module, keys));
  ETB_ASSIGN(const conformance::MutableGraph graph,
             conformance::read_mutable_graph(made.image, [&](const char* key) {
               const partition::KeyedConstant* const found = keys.find(key);
               return found == nullptr ? std::span<const std::byte>() : found->bytes;
             }));
  return conformance::write_image(graph);
}

}  // namespace etb::diff
