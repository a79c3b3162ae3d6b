// SPDX-License-Identifier: Apache-2.0
#include "tools/bundle/error_model.hpp"

#include <cstring>

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/input_bounds.hpp"
#include "tools/evaluate_constants.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {

namespace {

using conformance::TensorData;

TensorData to_data(Array array) {
  if (!array.dim_order.empty() && array.dim_order != row_major(array.sizes.size()))
    array = reorder(array, {});
  return {{static_cast<etb_dtype>(array.dtype), std::move(array.sizes), {}}, std::move(array.bytes)};
}

TensorData to_data(const format::BundledTensor& tensor) {
  return to_data(Array{static_cast<host::Dtype>(tensor.dtype),
                       {tensor.sizes.begin(), tensor.sizes.end()},
                       {tensor.dim_order.begin(), tensor.dim_order.end()},
                       {tensor.data.begin(), tensor.data.end()}});
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

}  // namespace

Result<GraphErrorModel> GraphErrorModel::open(const std::string& archive) {
  ETB_ASSIGN(ir::Module module, pt2::import_archive(archive, {}));
  if (auto bounded = pt2::bound_inputs(module, {}); !bounded) return tl::make_unexpected(bounded.error());
  GraphErrorModel model;
  model.contract_.accumulator = accumulator_of(module);
  module.name = "forward";
  ETB_ASSIGN(model.graph_, conformance::make_network_graph(std::move(module), evaluate_constants));
  return model;
}

Result<std::vector<conformance::ExpectedTensor>> GraphErrorModel::expect(const format::BundledCaseView& item,
                                                                         const std::string& seed) const {
  std::vector<TensorData> inputs;
  for (uint32_t i = 0; i < item.input_count(); ++i) {
    if (item.input(i).kind() != format::BundledKind::kTensor)
      return make_error(Code::NOT_SUPPORTED, "input " + std::to_string(i) + " is a " +
                                                 format::to_text(item.input(i).kind()) +
                                                 ", and the reference runs graphs of tensors only");
    inputs.push_back(to_data(item.input(i).as_tensor()));
  }
  return conformance::expect_results(graph_.image.span(), graph_.reader(), inputs, contract_, seed);
}

std::string describe_difference(const conformance::ExpectedTensor& expected, const host::EValue& found) {
  if (!found.is_tensor()) return std::string("a ") + host::to_text(found.tag()) + ", expected a tensor";
  return conformance::describe_difference(expected, to_data(to_row_major(found.tensor())));
}

std::string describe_difference(const conformance::ExpectedTensor& expected,
                                const format::BundledValueView& found) {
  if (found.kind() != format::BundledKind::kTensor)
    return std::string("a ") + format::to_text(found.kind()) + ", expected a tensor";
  return conformance::describe_difference(expected, to_data(found.as_tensor()));
}

}  // namespace etb::tools
