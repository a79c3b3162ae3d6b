// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/archive_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "partitioner_sdk/import/import.hpp"
#include "tools/diff/quantisation.hpp"

namespace etb::diff {
namespace {

using Users = std::vector<std::vector<uint32_t>>;  // by value

Users users_of(const ir::Graph& graph) {
  Users out(graph.values.size());
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    for (const ir::Argument& argument : graph.nodes[i].args)
      ir::for_each_value(argument, [&](ir::ValueId id) {
        if (out[id].empty() || out[id].back() != i) out[id].push_back(i);
      });
  return out;
}

bool is_of_quantisation(const std::string& op) {
  return op.starts_with("quantized_decomposed.") || op.starts_with("torchao.");
}

// Keys that a node has in both archives.
std::string place_of(const Model& model, uint32_t node) {
  const uint32_t source = model.module().main().nodes[node].source;
  if (source == ir::kNone) return "";
  const ir::Source& at = model.module().sources[source];
  return fmt::format("{}\n{}\n{}", model.op_of(node), at.module_path, at.line);
}
std::string named_op_of(const Model& model, uint32_t node) {
  return model.op_of(node) + "\n" + model.node_name(node);
}
std::string plain_op_of(const Model& model, uint32_t node) { return model.op_of(node); }

// Nodes of the model by nodes of the archive.
class Pairs {
 public:
  Pairs(const Model& archive, const Model& model)
      : archive_(archive),
        model_(model),
        of_archive_(archive.node_count(), ir::kNone),
        is_taken_(model.node_count(), false) {
    match(place_of);
    match(named_op_of);
    match(plain_op_of);
  }
  uint32_t find(uint32_t node_of_archive) const { return of_archive_[node_of_archive]; }

 private:
  using KeyOf = std::string (*)(const Model&, uint32_t);
  using Groups = std::map<std::string, std::vector<uint32_t>>;

  // Nodes with a key are matched in their order if both have equally many.
  void match(KeyOf key_of) {
    Groups theirs, ours;
    for (uint32_t i = 0; i < of_archive_.size(); ++i)
      if (of_archive_[i] == ir::kNone) theirs[key_of(archive_, i)].push_back(i);
    for (uint32_t i = 0; i < is_taken_.size(); ++i)
      if (!is_taken_[i] && !is_of_quantisation(model_.op_of(i))) ours[key_of(model_, i)].push_back(i);
    for (const auto& [key, nodes] : theirs) {
      const auto found = key.empty() ? ours.end() : ours.find(key);
      if (found == ours.end() || found->second.size() != nodes.size()) continue;
      for (size_t i = 0; i < nodes.size(); ++i) {
        of_archive_[nodes[i]] = found->second[i];
        is_taken_[found->second[i]] = true;
      }
    }
  }

  const Model& archive_;
  const Model& model_;
  std::vector<uint32_t> of_archive_;
  std::vector<bool> is_taken_;
};

class Assignment {
 public:
  Assignment(const Model& archive, const Model& model)
      : archive_(archive),
        model_(model),
        pairs_(archive, model),
        archive_users_(users_of(archive.module().main())),
        model_users_(users_of(model.module().main())) {}

  std::map<ir::ValueId, TensorData> run() {
    add_inputs();
    for (uint32_t i = 0; i < archive_.node_count(); ++i)
      if (pairs_.find(i) != ir::kNone) add_node(i, pairs_.find(i));
    add_outputs();
    return std::move(values_);
  }

 private:
  // Inputs are those of the model, but the real numbers of their codes are not.
  void add_inputs() {
    for (const ir::Input& input : model_.module().main().inputs)
      if (input.kind == ir::InputKind::kUser && model_.find_value(input.value) != nullptr)
        add_real_numbers(input.value, *model_.find_value(input.value));
  }

  void add_node(uint32_t theirs, uint32_t ours) {
    const auto& results = archive_.module().main().nodes[theirs].outputs;
    const auto& values = model_.module().main().nodes[ours].outputs;
    for (size_t i = 0; i < results.size() && i < values.size(); ++i) add_result(results[i], values[i]);
  }

  void add_result(ir::ValueId theirs, ir::ValueId ours) {
    const TensorData* const value = archive_.find_value(after_normalisation(theirs));
    const TensorData* const known = model_.find_value(ours);
    if (value != nullptr && known != nullptr && has_same_shape(*value, *known)) add(ours, *value);
  }

  // PT2E quantises a convolution with the normalisation in its weights.
  ir::ValueId after_normalisation(ir::ValueId theirs) const {
    if (archive_users_[theirs].size() != 1) return theirs;
    const uint32_t user = archive_users_[theirs][0];
    const bool is_merged =
        pairs_.find(user) == ir::kNone && archive_.op_of(user).find("batch_norm") != std::string::npos;
    return is_merged ? archive_.module().main().nodes[user].outputs[0] : theirs;
  }

  static bool has_same_shape(const TensorData& a, const TensorData& b) {
    return a.shape.dtype == b.shape.dtype && a.shape.sizes == b.shape.sizes;
  }

  void add_outputs() {
    const auto& theirs = archive_.module().main().outputs;
    const auto& ours = model_.module().main().outputs;
    if (theirs.size() != ours.size()) return;
    for (size_t i = 0; i < ours.size(); ++i) {
      const auto* const value = ir::get_if<ir::ValueRef>(ours[i].value);
      const auto* const other = ir::get_if<ir::ValueRef>(theirs[i].value);
      if (value == nullptr || other == nullptr || values_.count(value->id) != 0) continue;
      const TensorData* const found = archive_.find_value(other->id);
      const TensorData* const known = model_.find_value(value->id);
      if (found != nullptr && known != nullptr && has_same_shape(*found, *known)) add(value->id, *found);
    }
  }

  void add(ir::ValueId ours, const TensorData& value) {
    values_[ours] = value;
    add_real_numbers(ours, value);
  }

  // Adds it for the results of its quantisations and their inverses.
  void add_real_numbers(ir::ValueId ours, const TensorData& value) {
    const auto& nodes = model_.module().main().nodes;
    for (const uint32_t user : model_users_[ours]) {
      if (!is_quantisation(model_.op_of(user)) || !reads_first(nodes[user], ours)) continue;
      for (const uint32_t inverse : model_users_[nodes[user].outputs[0]])
        if (is_dequantisation(model_.op_of(inverse)) && reads_first(nodes[inverse], nodes[user].outputs[0]))
          values_[nodes[inverse].outputs[0]] = value;
    }
  }
  static bool reads_first(const ir::Node& node, ir::ValueId id) {
    const auto* const value = ir::get_if<ir::ValueRef>(node.args[0]);
    return value != nullptr && value->id == id;
  }

  const Model& archive_;
  const Model& model_;
  Pairs pairs_;
  Users archive_users_, model_users_;
  std::map<ir::ValueId, TensorData> values_;
};

Result<bool> is_quantised(const std::string& archive) {
  ETB_ASSIGN(const ir::Module module, pt2::import_archive(archive));
  const auto& nodes = module.main().nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const ir::Node& node) { return is_of_quantisation(module.op(node).name); });
}

}  // namespace

Result<bool> is_quantised_and_other_is_not(const std::string& archive, const std::string& other) {
  ETB_ASSIGN(const bool first, is_quantised(archive));
  if (!first) return false;
  ETB_ASSIGN(const bool second, is_quantised(other));
  return !second;
}

Result<std::map<ir::ValueId, TensorData>> read_archive_values(const Model& model, const std::string& archive,
                                                              const ModelOptions& options) {
  ETB_ASSIGN(Model other, Model::open(archive, options));
  const Status ran = other.run([&](const host::MethodMeta& meta) -> Result<std::vector<host::EValue>> {
    if (meta.input_count() != model.inputs().size())
      return make_error(Code::INVALID_DATA, fmt::format("{} inputs, the model has {}", meta.input_count(),
                                                        model.inputs().size()));
    return model.inputs();
  });
  if (!ran) return tl::make_unexpected(with_context(ran.error(), "'" + archive + "'"));
  std::map<ir::ValueId, TensorData> values = Assignment(other, model).run();
  if (values.empty())
    return make_error(Code::INVALID_DATA, "'" + archive + "': no node belongs to a node of the model");
  return values;
}

}  // namespace etb::diff
