// SPDX-License-Identifier: Apache-2.0
#include "conformance/networks/network_builder.hpp"

#include <algorithm>
#include <cmath>

#include "partitioner_sdk/infer/infer.hpp"

namespace etb::conformance {
namespace {

using ir::Dims;
using ir::ValueRef;

etb_dtype code_of(ir::Dtype dtype) { return static_cast<etb_dtype>(dtype); }

Dims repeated(int64_t value, size_t count) { return Dims(count, ir::Dim(value)); }

}  // namespace

NetworkBuilder::NetworkBuilder(std::string_view name, const Batch& batch)
    : batch_(batch.size), random_(name) {
  module_.graphs.emplace_back().name = "forward";
  if (batch.is_dynamic) batch_ = module_.symbols.add_symbol({"s0", 1, batch.size, batch.size});
}

ir::ValueId NetworkBuilder::input(const Dims& sizes, const Domain& domain, ir::Dtype dtype) {
  ir::Graph& graph = module_.main();
  ir::Value value;
  value.name = "x" + std::to_string(inputs_.size());
  value.spec = {dtype, sizes, ir::contiguous_strides(module_.symbols, sizes)};
  inputs_.push_back({dtype, sizes, domain});
  const ir::ValueId id = graph.add_value(std::move(value));
  graph.inputs.push_back({id, ir::InputKind::kUser, "", ir::kNone});
  return id;
}

ir::ValueId NetworkBuilder::parameter(ir::Dtype dtype, const std::vector<int64_t>& sizes,
                                      std::vector<std::byte> bytes) {
  ir::Graph& graph = module_.main();
  const std::string name = "p" + std::to_string(parameters_.size());
  ir::Value value;
  value.name = name;
  const Dims dims(sizes.begin(), sizes.end());
  value.spec = {dtype, dims, ir::contiguous_strides(module_.symbols, dims)};
  const ir::ValueId id = graph.add_value(std::move(value));
  const uint32_t constant = module_.add_constant(name, dtype, sizes, std::move(bytes));
  parameters_.emplace_back(id, constant);
  graph.inputs.push_back({id, ir::InputKind::kParameter, name, constant});
  return id;
}

ir::ValueId NetworkBuilder::weight(const std::vector<int64_t>& sizes, double bound, double center) {
  return parameter(ir::Dtype::FLOAT32, sizes,
                   make_values({ETB_DTYPE_FLOAT32, sizes, {}}, Values::kStatistical,
                               {center - bound, center + bound}, 0, random_)
                       .bytes);
}

ir::ValueId NetworkBuilder::codes(const std::vector<int64_t>& sizes, ir::Dtype dtype, int64_t low,
                                  int64_t high) {
  return parameter(dtype, sizes,
                   make_values({code_of(dtype), sizes, {}}, Values::kStatistical,
                               {static_cast<double>(low), static_cast<double>(high)}, 0, random_)
                       .bytes);
}

ir::ValueId NetworkBuilder::constant(ir::Dtype dtype, const std::vector<int64_t>& sizes,
                                     const std::vector<double>& elements) {
  std::vector<std::byte> bytes(elements.size() * element_nbytes(code_of(dtype)));
  for (size_t i = 0; i < elements.size(); ++i)
    store_element(code_of(dtype), bytes.data(), static_cast<int64_t>(i), elements[i]);
  return parameter(dtype, sizes, std::move(bytes));
}

std::vector<ir::ValueId> NetworkBuilder::add(const char* op, std::vector<ir::Argument> args,
                                             std::vector<ir::TensorSpec> specs) {
  ir::Graph& graph = module_.main();
  ir::Node node;
  node.op = module_.op(op);
  node.args = std::move(args);
  node.debug_handle = static_cast<uint32_t>(graph.nodes.size()) + 1;
  for (ir::TensorSpec& spec : specs) {
    ir::Value value;
    value.name = "n" + std::to_string(graph.nodes.size()) + "_" + std::to_string(node.outputs.size());
    value.spec = std::move(spec);
    node.outputs.push_back(graph.add_value(std::move(value)));
  }
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().outputs;
}

std::vector<ir::ValueId> NetworkBuilder::nodes(const char* op, std::vector<ir::Argument> args) {
  if (failure_) {
    Result<infer::Specs> specs = infer::infer(module_, module_.main(), module_.op(op), args);
    if (specs) return add(op, std::move(args), std::move(*specs));
    failure_ = tl::make_unexpected(with_context(specs.error(), op));
  }
  return add(op, std::move(args), std::vector<ir::TensorSpec>(8));  // take() returns the failure
}

ir::ValueId NetworkBuilder::node(const char* op, std::vector<ir::Argument> args) {
  return nodes(op, std::move(args))[0];
}

std::vector<ir::ValueId> NetworkBuilder::nodes_of(const char* op, std::vector<ir::Argument> args,
                                                  const std::vector<Type>& results) {
  std::vector<ir::TensorSpec> specs;
  for (const auto& [dtype, sizes] : results)
    specs.push_back({dtype, sizes, ir::contiguous_strides(module_.symbols, sizes)});
  return add(op, std::move(args), std::move(specs));
}

ir::ValueId NetworkBuilder::node_of(const char* op, std::vector<ir::Argument> args, ir::Dtype dtype,
                                    const Dims& sizes) {
  return nodes_of(op, std::move(args), {{dtype, sizes}})[0];
}

void NetworkBuilder::output(ir::ValueId value) {
  module_.main().outputs.push_back({ValueRef{value}, ir::OutputKind::kUser, ""});
}

Result<ir::Module> NetworkBuilder::take() {
  ETB_TRY(failure_);
  // Exported programs have parameters first.
  std::vector<ir::Input>& inputs = module_.main().inputs;
  std::stable_partition(inputs.begin(), inputs.end(),
                        [](const ir::Input& input) { return input.kind != ir::InputKind::kUser; });
  return std::move(module_);
}

ir::ValueId linear(NetworkBuilder& net, ir::ValueId x, int64_t in, int64_t out, bool has_bias) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  const ir::ValueId w = net.weight({out, in}, bound);
  const ir::Argument bias = has_bias ? ir::Argument(ValueRef{net.weight({out}, bound)}) : ir::Nothing{};
  return net.node("aten.linear.default", {ValueRef{x}, ValueRef{w}, bias});
}

ir::ValueId convolution(NetworkBuilder& net, ir::ValueId x, const ConvolutionShape& c) {
  const double bound = 1 / std::sqrt(static_cast<double>(c.in / c.groups * c.kernel * c.kernel));
  const ir::ValueId w = net.weight({c.out, c.in / c.groups, c.kernel, c.kernel}, bound);
  const ir::ValueId b = net.weight({c.out}, bound);
  return net.node("aten.convolution.default",
                  {ValueRef{x}, ValueRef{w}, ValueRef{b}, repeated(c.stride, 2), repeated(c.padding, 2),
                   repeated(c.dilation, 2), false, repeated(0, 2), ir::Dim(c.groups)});
}

ir::ValueId batch_norm(NetworkBuilder& net, ir::ValueId x, int64_t channels) {
  const ir::ValueId w = net.weight({channels}, 0.5, 1), b = net.weight({channels}, 0.5),
                    mean = net.weight({channels}, 0.5), variance = net.weight({channels}, 0.5, 1);
  return net.nodes("aten._native_batch_norm_legit_no_training.default",
                   {ValueRef{x}, ValueRef{w}, ValueRef{b}, ValueRef{mean}, ValueRef{variance}, 0.1, 1e-5})[0];
}

ir::ValueId layer_norm(NetworkBuilder& net, ir::ValueId x, int64_t size) {
  const ir::ValueId w = net.weight({size}, 0.5, 1), b = net.weight({size}, 0.5);
  return net.nodes("aten.native_layer_norm.default",
                   {ValueRef{x}, Dims{size}, ValueRef{w}, ValueRef{b}, 1e-5})[0];
}

ir::ValueId unary(NetworkBuilder& net, const char* op, ir::ValueId x) { return net.node(op, {ValueRef{x}}); }
ir::ValueId add(NetworkBuilder& net, ir::ValueId a, ir::ValueId b) {
  return net.node("aten.add.Tensor", {ValueRef{a}, ValueRef{b}, ir::Dim(1)});
}
ir::ValueId mul(NetworkBuilder& net, ir::ValueId a, ir::ValueId b) {
  return net.node("aten.mul.Tensor", {ValueRef{a}, ValueRef{b}});
}
ir::ValueId softmax(NetworkBuilder& net, ir::ValueId x, int64_t dim) {
  return net.node("aten._softmax.default", {ValueRef{x}, ir::Dim(dim), false});
}
ir::ValueId view(NetworkBuilder& net, ir::ValueId x, const Dims& sizes) {
  return net.node("aten.view.default", {ValueRef{x}, sizes});
}
ir::ValueId permute(NetworkBuilder& net, ir::ValueId x, const std::vector<int64_t>& dims) {
  return net.node("aten.permute.default", {ValueRef{x}, Dims(dims.begin(), dims.end())});
}
ir::ValueId cat(NetworkBuilder& net, const std::vector<ir::ValueId>& values, int64_t dim) {
  return net.node("aten.cat.default", {ir::ValueList{values}, ir::Dim(dim)});
}
ir::ValueId slice(NetworkBuilder& net, ir::ValueId x, int64_t dim, int64_t begin, int64_t end) {
  return net.node("aten.slice.Tensor", {ValueRef{x}, ir::Dim(dim), ir::Dim(begin), ir::Dim(end), ir::Dim(1)});
}

}  // namespace etb::conformance
