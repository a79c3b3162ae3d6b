// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/quantisation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace etb::diff {
namespace {

constexpr uint32_t kFirstHandle = 0x80000000;  // beyond those of archives

// Position of the scale among the arguments of a quantisation or its inverse.
size_t scale_position(std::string_view op) { return op.starts_with("torchao.") ? 2 : 1; }

double largest_element(const TensorData& tensor) {
  double out = 0;
  for (int64_t i = 0; i < tensor.shape.numel(); ++i)
    out = std::max(out, std::abs(conformance::load_element(tensor.shape.dtype, tensor.bytes.data(), i)));
  return out;
}

class Remover {
 public:
  Remover(ir::Module& module, const std::function<const TensorData*(ir::ValueId)>& find_value,
          RemovalScope scope)
      : module_(module), find_value_(find_value), scope_(scope) {
    for (const ir::Input& input : module.main().inputs)
      if (input.constant != ir::kNone) constants_[input.value] = input.constant;
  }

  std::vector<RemovedRounding> run() {
    for (ir::Node& node : module_.main().nodes) {
      const std::string op = module_.op(node).name;
      if (is_quantisation(op)) {
        const auto* const source = ir::get_if<ir::ValueRef>(node.args[0]);
        const std::optional<double> scale = scale_of(node.args[scale_position(op)]);
        if (source != nullptr && scale) quantised_[node.outputs[0]] = {source->id, *scale};
        continue;
      }
      const auto* const codes = is_dequantisation(op) ? ir::get_if<ir::ValueRef>(node.args[0]) : nullptr;
      const auto found = codes == nullptr ? quantised_.end() : quantised_.find(codes->id);
      if (found != quantised_.end()) replace(node, found->second);
      if (codes != nullptr && scope_ == RemovalScope::kWithWeights && constants_.count(codes->id) != 0)
        add_error_of_weights(node, op);
    }
    return std::move(removed_);
  }

 private:
  struct Quantised {
    ir::ValueId source = ir::kNoValue;
    double scale = 0;
  };

  void replace(ir::Node& node, const Quantised& quantised) {
    const auto& values = module_.main().values;
    if (values[quantised.source].spec.dtype != values[node.outputs[0]].spec.dtype) return;
    node.op = module_.op("aten.alias_copy.default");
    node.args = {ir::ValueRef{quantised.source}};
    add_error(node, quantised.scale / 2);
  }

  void add_error_of_weights(ir::Node& node, const std::string& op) {
    if (const std::optional<double> scale = scale_of(node.args[scale_position(op)]))
      add_error(node, *scale / 2);
  }

  void add_error(ir::Node& node, double half_step) {
    node.debug_handle = kFirstHandle + static_cast<uint32_t>(removed_.size());
    removed_.push_back({node.debug_handle, half_step});
  }

  // The largest, if there are several.
  std::optional<double> scale_of(const ir::Argument& argument) const {
    if (const auto* const number = ir::get_if<double>(argument)) return std::abs(*number);
    const auto* const value = ir::get_if<ir::ValueRef>(argument);
    if (value == nullptr) return std::nullopt;
    if (const TensorData* const known = find_value_(value->id)) return largest_element(*known);
    const auto constant = constants_.find(value->id);
    if (constant == constants_.end()) return std::nullopt;
    const ir::Constant& found = module_.constants[constant->second];
    return largest_element({{static_cast<etb_dtype>(found.dtype), found.sizes, {}}, found.dense_bytes()});
  }

  ir::Module& module_;
  const std::function<const TensorData*(ir::ValueId)>& find_value_;
  RemovalScope scope_;
  std::map<ir::ValueId, uint32_t> constants_;
  std::map<ir::ValueId, Quantised> quantised_;  // by the value of the codes
  std::vector<RemovedRounding> removed_;
};

}  // namespace

bool is_quantisation(std::string_view op) {
  return op.starts_with("quantized_decomposed.quantize_per_") || op.starts_with("torchao.quantize_affine");
}

bool is_dequantisation(std::string_view op) {
  return op.starts_with("quantized_decomposed.dequantize_per_") ||
         op.starts_with("torchao.dequantize_affine");
}

std::vector<RemovedRounding> remove_quantisation(
    ir::Module& module, const std::function<const TensorData*(ir::ValueId)>& find_value, RemovalScope scope) {
  return Remover(module, find_value, scope).run();
}

}  // namespace etb::diff
