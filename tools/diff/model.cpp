// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/model.hpp"

#include "partitioner_sdk/import/import.hpp"
#include "partitioner_sdk/import/input_bounds.hpp"
#include "partitioner_sdk/ir/text.hpp"
#include "partitioner_sdk/passes/passes.hpp"
#include "tools/diff/part.hpp"
#include "tools/diff/run_part.hpp"
#include "tools/portable_target.hpp"

namespace etb::diff {

Result<Model> Model::open(const std::string& archive, const ModelOptions& options) {
  pt2::ImportOptions import{options.model};
  if (options.extensions != nullptr) import.custom_ops = options.extensions->custom_ops();
  Model out;
  out.kernel_libraries_ = options.kernel_libraries;
  ETB_ASSIGN(out.module_, pt2::import_archive(archive, import));
  ETB_ASSIGN(const auto assumptions, pt2::bound_inputs(out.module_, options.bounds));
  out.module_.name = "forward";
  passes::PipelineOptions pipeline = tools::portable_pipeline();
  pipeline.decompose.preserved = options.preserved_ops;
  if (options.extensions != nullptr) pipeline.rules = options.extensions->rules();
  if (options.keeps_quantized_constants) pipeline.quantized_constants = passes::QuantizedConstants::kKeep;
  ETB_TRY(passes::to_edge(out.module_, pipeline));
  (void)pt2::bound_data_sizes(out.module_);
  ETB_TRY(passes::simplify(out.module_, pipeline));
  ETB_TRY(passes::make_row_major(out.module_));
  out.names_ = ir::value_names(out.module_.main());
  return out;
}

Status Model::run(const SetInputs& set_inputs) {
  Part whole = extract_whole(module_);
  CompileTarget target;
  target.folds_constants = false;
  target.kernel_libraries = kernel_libraries_;
  ETB_ASSIGN(const auto method, CompiledMethod::make(std::move(whole.module), target));
  ETB_ASSIGN(const host::MethodMeta meta, method->meta());
  ETB_ASSIGN(inputs_, set_inputs(meta));
  const std::vector<host::EValue>& inputs = inputs_;
  ETB_ASSIGN(std::vector<TensorData> results, method->run(std::span<const host::EValue>(inputs)));
  values_.assign(module_.main().values.size(), std::nullopt);
  for (size_t i = 0; i < whole.operands.size() && i < inputs.size(); ++i)
    if (inputs[i].is_tensor()) values_[whole.operands[i]] = copy_of(inputs[i]);
  for (size_t i = 0; i < whole.results.size(); ++i) values_[whole.results[i]] = std::move(results[i]);
  ETB_TRY(keep_state());
  std::vector<std::vector<int64_t>> sizes;
  for (const std::optional<TensorData>& value : values_)
    sizes.push_back(value ? value->shape.sizes : std::vector<int64_t>());
  fixed_ = clone_module(module_);
  fix_sizes(*fixed_, sizes);
  return {};
}

// State has its initial value, and so have constants.
Status Model::keep_state() {
  for (const ir::Input& input : module_.main().inputs) {
    if (input.constant == ir::kNone || values_[input.value]) continue;
    const ir::Constant& constant = module_.constants[input.constant];
    if (input.kind != ir::InputKind::kBuffer) continue;
    TensorData& value = values_[input.value].emplace();
    value.shape = {static_cast<etb_dtype>(constant.dtype), constant.sizes, {}};
    value.bytes = constant.dense_bytes();
  }
  return {};
}

const TensorData* Model::find_value(ir::ValueId id) const {
  return id < values_.size() && values_[id] ? &*values_[id] : nullptr;
}

std::string Model::node_name(uint32_t node) const {
  const std::vector<ir::ValueId>& outputs = module_.main().nodes[node].outputs;
  return outputs.empty() ? "node " + std::to_string(node) : names_[outputs[0]];
}

}  // namespace etb::diff
