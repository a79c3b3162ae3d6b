// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/error_model.hpp"

#include <algorithm>

#include "conformance/judge/reference.hpp"
#include "host/portable_backend/graph_executor.hpp"
#include "partitioner_sdk/import/fixed_sizes.hpp"
#include "partitioner_sdk/import/import.hpp"
#include "tools/evaluate_constants.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {

namespace {

using conformance::TensorData;
using Order = std::vector<uint8_t>;

TensorData to_data(Array array, const Order& order) {
  const Order present = array.dim_order.empty() ? row_major(array.sizes.size()) : array.dim_order;
  if (present != order && array.sizes.size() == order.size()) array = reorder(array, order);
  return {{static_cast<etb_dtype>(array.dtype), std::move(array.sizes), order}, std::move(array.bytes)};
}

Array to_array(const format::BundledTensor& tensor) {
  return {static_cast<host::Dtype>(tensor.dtype),
          {tensor.sizes.begin(), tensor.sizes.end()},
          {tensor.dim_order.begin(), tensor.dim_order.end()},
          {tensor.data.begin(), tensor.data.end()}};
}

// The narrowest float that the graph stores: its kernels round between nodes to it.
etb_dtype accumulator_of(const ir::Module& module) {
  etb_dtype narrowest = ETB_DTYPE_FLOAT32;
  for (const ir::Value& value : module.main().values) {
    const auto dtype = static_cast<etb_dtype>(value.spec.dtype);
    if (value.kind != ir::ValueKind::kTensor || !conformance::is_half(dtype)) continue;
    if (narrowest == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_BFLOAT16) narrowest = dtype;
  }
  return narrowest;
}

// Marks an error of a graph that the reference cannot run.
Error not_run(Error error) {
  error.code = Code::NOT_SUPPORTED;
  return error;
}

// Sizes of a tensor; an int is its own size.
std::vector<int64_t> sizes_of(const format::BundledValueView& value) {
  if (value.kind() == format::BundledKind::kInt) return {value.as_int()};
  if (value.kind() != format::BundledKind::kTensor) return {};
  const format::BundledTensor tensor = value.as_tensor();
  return {tensor.sizes.begin(), tensor.sizes.end()};
}

Order order_of(const etb_graph_spec& spec) { return {spec.dim_order, spec.dim_order + spec.rank}; }

}  // namespace

Result<GraphErrorModel::Graph> GraphErrorModel::make_graph(const format::BundledCaseView& item) const {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(archive_, {}));
  Graph made;
  for (uint32_t i = 0; i < item.input_count(); ++i) {
    // The exporter made other numbers a part of the graph.
    const bool is_fixed = std::any_of(module.fixed_inputs.begin(), module.fixed_inputs.end(),
                                      [i](const ir::FixedInput& input) { return input.position == i; });
    if (is_fixed) continue;
    made.sizes.push_back(sizes_of(item.input(i)));
    if (item.input(i).kind() == format::BundledKind::kTensor) made.inputs.push_back(i);
  }
  ETB_TRY(pt2::fix_sizes(module, made.sizes));
  made.contract.accumulator = accumulator_of(module);
  module.name = "forward";
  auto graph = conformance::make_network_graph(std::move(module), evaluate_constants);
  if (!graph) return tl::make_unexpected(not_run(std::move(graph).error()));
  made.graph = *std::move(graph);
  host::ExecutorOptions options;
  options.precision = host::Precision::kFloat64;
  options.read_constant = [&](const char* key) -> Result<std::span<const std::byte>> {
    const partition::KeyedConstant* const found = made.graph.constants->find(key);
    if (found == nullptr) return make_error(Code::NOT_FOUND, std::string("no constant '") + key + "'");
    return found->bytes;
  };
  const auto opened =
      host::GraphExecutor::make(made.graph.image.span(), conformance::reference_kernels(), options);
  if (!opened) return tl::make_unexpected(not_run(opened.error()));
  const host::GraphExecutor& executor = *opened;
  if (executor.input_count() != made.inputs.size())
    return make_error(Code::NOT_SUPPORTED, "the test case has " + std::to_string(made.inputs.size()) +
                                               " tensors as inputs, the graph " +
                                               std::to_string(executor.input_count()));
  for (uint32_t i = 0; i < executor.input_count(); ++i)
    made.input_orders.push_back(order_of(executor.input_spec(i)));
  for (uint32_t i = 0; i < executor.output_count(); ++i)
    made.output_orders.push_back(order_of(executor.output_spec(i)));
  return made;
}

// Cases of the same sizes share a graph.
Result<const GraphErrorModel::Graph*> GraphErrorModel::graph_of(const format::BundledCaseView& item) {
  Sizes key;
  for (uint32_t i = 0; i < item.input_count(); ++i) key.push_back(sizes_of(item.input(i)));
  if (!latest_ || latest_key_ != key) {
    latest_.reset();
    ETB_ASSIGN(latest_, make_graph(item));
    latest_key_ = std::move(key);
  }
  return &*latest_;
}

Result<std::vector<ModelOutput>> GraphErrorModel::expect(const format::BundledCaseView& item,
                                                         const std::string& seed) {
  ETB_ASSIGN(const Graph* const graph, graph_of(item));
  std::vector<TensorData> inputs;
  for (size_t i = 0; i < graph->inputs.size(); ++i)
    inputs.push_back(to_data(to_array(item.input(graph->inputs[i]).as_tensor()), graph->input_orders[i]));
  auto expected = conformance::expect_results(graph->graph.image.span(), graph->graph.reader(), inputs,
                                             graph->contract, seed);
  if (!expected) return tl::make_unexpected(not_run(std::move(expected).error()));
  std::vector<ModelOutput> out;
  for (size_t i = 0; i < expected->size(); ++i)
    out.push_back({std::move((*expected)[i]), graph->output_orders[i]});
  return out;
}

std::string describe_difference(const ModelOutput& expected, const host::EValue& found) {
  if (!found.is_tensor()) return std::string("a ") + host::to_text(found.tag()) + ", expected a tensor";
  return conformance::describe_difference(expected.expected,
                                          to_data(to_row_major(found.tensor()), expected.dim_order));
}

std::string describe_difference(const ModelOutput& expected, const format::BundledValueView& found) {
  if (found.kind() != format::BundledKind::kTensor)
    return std::string("a ") + format::to_text(found.kind()) + ", expected a tensor";
  return conformance::describe_difference(expected.expected,
                                          to_data(to_array(found.as_tensor()), expected.dim_order));
}

}  // namespace etb::tools
