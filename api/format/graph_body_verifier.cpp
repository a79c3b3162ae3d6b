// SPDX-License-Identifier: Apache-2.0
// Verifies graphs: values, nodes and their arguments, inputs, outputs, and references between graphs.
#include <optional>

#include "api/format/graph_rules.hpp"
#include "api/format/tensor_layout.hpp"

namespace etb::graph {
namespace {

// Verifies one graph. Marks names and nodes with a stamp instead of collecting them, so that the time is
// linear in the graph's size.
class BodyVerifier {
 public:
  BodyVerifier(ImageFacts& facts, std::vector<uint32_t>& graph_depths)
      : facts_(facts),
        image_(facts.image),
        graph_depths_(graph_depths),
        value_name_stamps_(count(image_.strings())),
        arg_name_stamps_(count(image_.strings())) {}

  Status verify(uint32_t index, uint32_t first_node_id);

 private:
  // The fields of an argument that belong to its kind.
  struct Fields {
    bool as_int, as_float, value, values, ints, floats;
  };
  static Fields fields_of(fb::ArgumentKind kind);

  Status verify_inputs();
  Status verify_input(uint32_t index);
  Status verify_value(uint32_t index);
  Status verify_value_quant(const fb::Value& value);
  Status verify_group_quant(const fb::Quantization& quant, const fb::TensorSpec& spec);
  Status verify_alias(uint32_t index, uint32_t first_output);
  Status verify_node(uint32_t index);
  Status verify_node_outputs(const fb::Node& node);
  Status verify_result_lengths(const fb::Node& node);
  Status verify_argument(const fb::Argument& arg);
  Status verify_argument_fields(const fb::Argument& arg);
  Status verify_argument_code(const fb::Argument& arg);
  Status verify_graph_reference(int64_t index);
  Status verify_sym_ints(const fb::Argument& arg);
  Status verify_use(uint32_t value, std::optional<fb::ValueKind> kind, const char* field);
  Status verify_outputs();
  Status verify_update(uint32_t output_index, uint32_t input_index);

  const fb::Value& value(uint32_t index) const { return *graph_->values()->Get(index); }
  std::string name_of(const fb::Value& value) const { return printable(facts_.text(value.name())); }

  ImageFacts& facts_;
  const fb::Image& image_;
  std::vector<uint32_t>& graph_depths_;  // 0: not referred to yet
  std::vector<uint32_t> value_name_stamps_;
  std::vector<uint64_t> arg_name_stamps_;
  uint64_t node_stamp_ = 0;

  const fb::Graph* graph_ = nullptr;
  uint32_t graph_index_ = 0;
  uint32_t defined_count_ = 0;        // values defined so far
  std::vector<bool> is_overwritten_;  // by value
};

Status BodyVerifier::verify(uint32_t index, uint32_t first_node_id) {
  graph_ = image_.graphs()->Get(index);
  graph_index_ = index;
  defined_count_ = 0;
  is_overwritten_.assign(count(graph_->values()), false);
  if (graph_depths_[index] == 0) return refuse("nothing refers to it");
  if (graph_depths_[index] > ETB_GRAPH_MAX_DEPTH) return refuse("nested deeper than {}", ETB_GRAPH_MAX_DEPTH);
  if (graph_->first_node_id() != first_node_id) {
    return refuse("first_node_id is {}, expected {}", graph_->first_node_id(), first_node_id);
  }
  ETB_TRY(verify_inputs());
  for (uint32_t i = 0; i < count(graph_->nodes()); ++i) {
    if (Status status = verify_node(i); !status) {
      const uint32_t op = graph_->nodes()->Get(i)->op();
      const bool has_op = op < count(image_.ops());
      return at(std::move(status), "node {} ({})", i,
                has_op ? facts_.text(image_.ops()->Get(op)->name()) : std::string_view("?"));
    }
  }
  if (defined_count_ != count(graph_->values())) {
    return refuse("{} values, inputs and nodes define {}", count(graph_->values()), defined_count_);
  }
  return verify_outputs();
}

Status BodyVerifier::verify_inputs() {
  const uint32_t input_count = count(graph_->inputs());
  if (input_count > count(graph_->values())) {
    return refuse("{} inputs, {} values", input_count, count(graph_->values()));
  }
  for (; defined_count_ < input_count; ++defined_count_) {
    ETB_TRY(at(verify_input(defined_count_), "input {}", defined_count_));
  }
  return {};
}

Status BodyVerifier::verify_input(uint32_t index) {
  const fb::Input& input = *graph_->inputs()->Get(index);
  if (input.kind() > fb::InputKind::CONSTANT)
    return refuse("kind {} is unknown", static_cast<int>(input.kind()));
  ETB_TRY(facts_.check_string(input.target(), "target"));
  ETB_TRY(verify_value(index));
  const fb::Value& defined = value(index);
  if (defined.kind() == fb::ValueKind::NONE) return refuse("value '{}' is none", name_of(defined));
  if (defined.alias() != fb::AliasKind::NONE) return refuse("value '{}' is an alias", name_of(defined));
  if (input.kind() == fb::InputKind::USER) {
    if (input.constant()) return refuse("constant without use");
    return input.target() == 0 ? Status() : refuse("target without use");
  }
  if (graph_index_ != 0) return refuse("a subgraph has inputs of kind user only");
  if (defined.kind() != fb::ValueKind::TENSOR) return refuse("value '{}' is no tensor", name_of(defined));
  if (!input.constant()) return input.kind() == fb::InputKind::BUFFER ? Status() : refuse("has no constant");
  if (*input.constant() >= count(image_.constants())) {
    return refuse("constant: {} of {}", *input.constant(), count(image_.constants()));
  }
  const uint32_t spec = image_.constants()->Get(*input.constant())->spec();
  if (defined.spec() == spec) return {};
  return refuse("spec of '{}' is {}, that of constant {} is {}", name_of(defined), defined.spec(),
                *input.constant(), spec);
}

Status BodyVerifier::verify_value(uint32_t index) {
  const fb::Value& value = *graph_->values()->Get(index);
  ETB_TRY(at(facts_.check_string(value.name(), "name"), "value {}", index));
  if (value.name() == 0) return refuse("value {}: name is empty", index);
  if (value_name_stamps_[value.name()] == graph_index_ + 1) {
    return refuse("value {}: name '{}' occurs twice", index, name_of(value));
  }
  value_name_stamps_[value.name()] = graph_index_ + 1;
  const auto where = [&](Status status) {
    return at(std::move(status), "value {} '{}'", index, name_of(value));
  };
  if (value.kind() > fb::ValueKind::SYM_BOOL) {
    return where(refuse("kind {} is unknown", static_cast<int>(value.kind())));
  }
  const bool is_tensor = value.kind() == fb::ValueKind::TENSOR;
  const bool is_int = value.kind() == fb::ValueKind::SYM_INT;
  if (is_tensor ? value.spec() >= count(image_.specs()) : value.spec() != 0) {
    return where(refuse("spec: {} of {}", value.spec(), is_tensor ? count(image_.specs()) : 0));
  }
  if (value.quant() && !is_tensor) return where(refuse("quant without use"));
  if (value.quant()) return where(verify_value_quant(value));
  if (!is_int && (value.expr() || value.min() != INT64_MIN || value.max() != INT64_MAX)) {
    return where(refuse("expr, min or max without use"));
  }
  if (value.expr() && *value.expr() >= count(image_.exprs())) {
    return where(refuse("expr: {} of {}", *value.expr(), count(image_.exprs())));
  }
  if (value.min() > value.max()) return where(refuse("range {} to {} is empty", value.min(), value.max()));
  return {};
}

Status BodyVerifier::verify_value_quant(const fb::Value& value) {
  if (value.expr() || value.min() != INT64_MIN || value.max() != INT64_MAX) {
    return refuse("expr, min or max without use");
  }
  if (*value.quant() >= count(image_.quants())) {
    return refuse("quant: {} of {}", *value.quant(), count(image_.quants()));
  }
  const fb::Quantization& quant = *image_.quants()->Get(*value.quant());
  const fb::TensorSpec& spec = *image_.specs()->Get(value.spec());
  const bool per_channel = quant.scheme() == fb::QuantScheme::PER_CHANNEL;
  if (!per_channel && quant.scheme() != fb::QuantScheme::PER_GROUP) return {};
  if (!per_channel) return verify_group_quant(quant, spec);
  if (quant.axis() >= count(spec.sizes())) {
    return refuse("quant axis {} of a tensor of rank {}", quant.axis(), count(spec.sizes()));
  }
  const int64_t channel_count = spec.sizes()->Get(quant.axis());
  for (const auto& constant : {quant.scales(), quant.zero_points()}) {
    if (!constant) continue;
    const int64_t numel = facts_.spec_numels[image_.constants()->Get(*constant)->spec()];
    if (numel != channel_count) {
      return refuse("constant {} has {} elements for {} channels", *constant, numel, channel_count);
    }
  }
  return {};
}

Status BodyVerifier::verify_group_quant(const fb::Quantization& quant, const fb::TensorSpec& spec) {
  const uint32_t rank = count(spec.sizes());
  if (count(quant.block_sizes()) != rank) {
    return refuse("quant has {} block_sizes, the tensor rank {}", count(quant.block_sizes()), rank);
  }
  int64_t block_count = 1;  // at most the numel, which fits
  for (uint32_t dim = 0; dim < rank; ++dim) {
    const int64_t size = spec.sizes()->Get(dim);
    const int64_t block = quant.block_sizes()->Get(dim);
    if (size < 0 || size % block != 0) {
      return refuse("quant block of {} does not divide size {} of dimension {}", block, size, dim);
    }
    block_count *= size / block;
  }
  for (const auto& constant : {quant.scales(), quant.zero_points()}) {
    if (!constant) continue;
    const int64_t numel = facts_.spec_numels[image_.constants()->Get(*constant)->spec()];
    if (numel != block_count) {
      return refuse("constant {} has {} elements for {} blocks", *constant, numel, block_count);
    }
  }
  return {};
}

Status BodyVerifier::verify_node(uint32_t index) {
  const fb::Node& node = *graph_->nodes()->Get(index);
  ++node_stamp_;
  if (node.op() >= count(image_.ops())) return refuse("op: {} of {}", node.op(), count(image_.ops()));
  for (uint32_t i = 0; i < count(node.args()); ++i) {
    const fb::Argument& arg = *node.args()->Get(i);
    ETB_TRY(at(facts_.check_string(arg.name(), "name"), "argument {}", i));
    if (Status status = verify_argument(arg); !status) {
      return at(std::move(status), "argument {} '{}'", i, printable(facts_.text(arg.name())));
    }
  }
  if (node.source() && *node.source() >= count(image_.sources())) {
    return refuse("source: {} of {}", *node.source(), count(image_.sources()));
  }
  return verify_node_outputs(node);
}

Status BodyVerifier::verify_node_outputs(const fb::Node& node) {
  if (node.first_output() != defined_count_) {
    return refuse("first_output is {}, expected {}", node.first_output(), defined_count_);
  }
  if (node.output_count() > count(graph_->values()) - defined_count_) {
    return refuse("output_count {}, {} values are left", node.output_count(),
                  count(graph_->values()) - defined_count_);
  }
  ETB_TRY(verify_result_lengths(node));
  for (uint32_t i = 0; i < node.output_count(); ++i) {
    ETB_TRY(verify_value(node.first_output() + i));
    ETB_TRY(verify_alias(node.first_output() + i, node.first_output()));
  }
  defined_count_ += node.output_count();
  return {};
}

Status BodyVerifier::verify_result_lengths(const fb::Node& node) {
  if (node.result_lengths() == nullptr) return {};
  ETB_TRY(facts_.visit(node.result_lengths(), "result_lengths"));
  int64_t total = 0;
  for (const int32_t length : *node.result_lengths()) {
    if (length < -1) return refuse("result_lengths has {}", length);
    total += length == -1 ? 1 : length;
  }
  if (total == node.output_count()) return {};
  return refuse("result_lengths add up to {}, output_count is {}", total, node.output_count());
}

Status BodyVerifier::verify_alias(uint32_t index, uint32_t first_output) {
  const fb::Value& alias = value(index);
  const auto where = [&](Status status) {
    return at(std::move(status), "value {} '{}'", index, name_of(alias));
  };
  if (alias.alias() > fb::AliasKind::UPDATE) {
    return where(refuse("alias {} is unknown", static_cast<int>(alias.alias())));
  }
  if (alias.alias() == fb::AliasKind::NONE) {
    return alias.alias_of() == 0 ? Status() : where(refuse("alias_of without use"));
  }
  if (alias.kind() != fb::ValueKind::TENSOR) return where(refuse("an alias is a tensor"));
  if (alias.alias_of() >= first_output) {
    return where(refuse("alias_of: value {}, expected one before {}", alias.alias_of(), first_output));
  }
  if (Status status = verify_use(alias.alias_of(), fb::ValueKind::TENSOR, "alias_of"); !status)
    return where(status);
  if (alias.alias() == fb::AliasKind::UPDATE) is_overwritten_[alias.alias_of()] = true;
  return {};
}

BodyVerifier::Fields BodyVerifier::fields_of(fb::ArgumentKind kind) {
  Fields fields = {};
  switch (kind) {
    case fb::ArgumentKind::NONE:
      break;
    case fb::ArgumentKind::VALUE:
      fields.value = true;
      break;
    case fb::ArgumentKind::VALUES:
      fields.values = true;
      break;
    case fb::ArgumentKind::FLOAT:
      fields.as_float = true;
      break;
    case fb::ArgumentKind::INTS:
    case fb::ArgumentKind::BOOLS:
    case fb::ArgumentKind::STRINGS:
      fields.ints = true;
      break;
    case fb::ArgumentKind::FLOATS:
    case fb::ArgumentKind::COMPLEX:
      fields.floats = true;
      break;
    case fb::ArgumentKind::SYM_INTS:
      fields.values = fields.ints = true;
      break;
    default:
      fields.as_int = true;
      break;
  }
  return fields;
}

Status BodyVerifier::verify_argument_fields(const fb::Argument& arg) {
  if (arg.kind() > fb::ArgumentKind::GRAPH) return refuse("kind {} is unknown", static_cast<int>(arg.kind()));
  if (arg.name() != 0) {
    if (arg_name_stamps_[arg.name()] == node_stamp_) return refuse("name occurs twice");
    arg_name_stamps_[arg.name()] = node_stamp_;
  }
  const Fields fields = fields_of(arg.kind());
  if ((!fields.as_int && arg.int_() != 0) || (!fields.as_float && arg.float_() != 0) ||
      (!fields.value && arg.value() != 0) || (!fields.values && arg.values() != nullptr) ||
      (!fields.ints && arg.ints() != nullptr) || (!fields.floats && arg.floats() != nullptr)) {
    return refuse("has a field that kind {} does not have", static_cast<int>(arg.kind()));
  }
  ETB_TRY(facts_.visit(arg.values(), "values"));
  ETB_TRY(facts_.visit(arg.ints(), "ints"));
  return facts_.visit(arg.floats(), "floats");
}

Status BodyVerifier::verify_argument(const fb::Argument& arg) {
  ETB_TRY(verify_argument_fields(arg));
  switch (arg.kind()) {
    case fb::ArgumentKind::VALUE:
      return verify_use(arg.value(), std::nullopt, "value");
    case fb::ArgumentKind::VALUES:
      for (uint32_t i = 0; i < count(arg.values()); ++i) {
        const uint32_t used = arg.values()->Get(i);
        if (used != ETB_GRAPH_NONE) ETB_TRY(verify_use(used, fb::ValueKind::TENSOR, "values"));
      }
      return {};
    case fb::ArgumentKind::BOOLS:
      for (uint32_t i = 0; i < count(arg.ints()); ++i) {
        if (arg.ints()->Get(i) != 0 && arg.ints()->Get(i) != 1)
          return refuse("ints[{}] is {}", i, arg.ints()->Get(i));
      }
      return {};
    case fb::ArgumentKind::STRINGS:
      for (uint32_t i = 0; i < count(arg.ints()); ++i) {
        const int64_t text = arg.ints()->Get(i);
        if (text < 0 || text >= count(image_.strings())) {
          return refuse("ints[{}]: string {} of {}", i, text, count(image_.strings()));
        }
      }
      return {};
    case fb::ArgumentKind::SYM_INTS:
      return verify_sym_ints(arg);
    case fb::ArgumentKind::COMPLEX:
      return count(arg.floats()) == 2 ? Status() : refuse("complex has {} floats", count(arg.floats()));
    default:
      return verify_argument_code(arg);
  }
}

// Checks kinds whose `int` is an index or a code.
Status BodyVerifier::verify_argument_code(const fb::Argument& arg) {
  const int64_t code = arg.int_();
  int64_t limit = 0;
  switch (arg.kind()) {
    case fb::ArgumentKind::BOOL:
      limit = 2;
      break;
    case fb::ArgumentKind::STRING:
    case fb::ArgumentKind::DEVICE:
      limit = count(image_.strings());
      break;
    case fb::ArgumentKind::LAYOUT:
      limit = ETB_GRAPH_LAYOUT_JAGGED + 1;
      break;
    case fb::ArgumentKind::MEMORY_FORMAT:
      limit = ETB_GRAPH_MEMORY_FORMAT_CHANNELS_LAST_3D + 1;
      break;
    case fb::ArgumentKind::DTYPE:
      if (code >= 0 && code <= UINT8_MAX && format::is_abi_dtype(static_cast<uint8_t>(code))) return {};
      return refuse("dtype {} is unknown", code);
    case fb::ArgumentKind::GRAPH:
      return verify_graph_reference(code);
    default:
      return {};
  }
  if (code >= 0 && code < limit) return {};
  return refuse("int: {} of {}", code, limit);
}

// A graph refers only to later graphs. So there is no cycle, and each depth is known when it is needed.
Status BodyVerifier::verify_graph_reference(int64_t index) {
  if (index <= graph_index_ || index >= count(image_.graphs())) {
    return refuse("graph {} of {}, expected a later one than {}", index, count(image_.graphs()),
                  graph_index_);
  }
  uint32_t& depth = graph_depths_[static_cast<size_t>(index)];
  depth = std::max(depth, graph_depths_[graph_index_] + 1);
  return {};
}

Status BodyVerifier::verify_sym_ints(const fb::Argument& arg) {
  if (count(arg.values()) != count(arg.ints())) {
    return refuse("{} values beside {} ints", count(arg.values()), count(arg.ints()));
  }
  bool has_value = false;
  for (uint32_t i = 0; i < count(arg.values()); ++i) {
    const uint32_t used = arg.values()->Get(i);
    if (used == ETB_GRAPH_NONE) continue;
    has_value = true;
    ETB_TRY(verify_use(used, fb::ValueKind::SYM_INT, "values"));
    if (arg.ints()->Get(i) != 0) return refuse("ints[{}] is {} beside a value", i, arg.ints()->Get(i));
  }
  return has_value ? Status() : refuse("no value among them, expected kind ints");
}

Status BodyVerifier::verify_use(uint32_t index, std::optional<fb::ValueKind> kind, const char* field) {
  if (index >= defined_count_) return refuse("{}: value {} is not defined before", field, index);
  const fb::Value& used = value(index);
  if (used.kind() == fb::ValueKind::NONE) return refuse("{}: value '{}' is none", field, name_of(used));
  if (kind && used.kind() != *kind) return refuse("{}: value '{}' has another kind", field, name_of(used));
  if (is_overwritten_[index]) return refuse("{}: value '{}' was overwritten", field, name_of(used));
  return {};
}

Status BodyVerifier::verify_outputs() {
  for (uint32_t i = 0; i < count(graph_->outputs()); ++i) {
    const fb::Output& output = *graph_->outputs()->Get(i);
    ETB_TRY(at(verify_use(output.value(), std::nullopt, "value"), "output {}", i));
    if (output.updates()) ETB_TRY(at(verify_update(i, *output.updates()), "output {}", i));
  }
  for (uint32_t i = 0; i < count(graph_->inputs()); ++i) {
    const auto updated_by = graph_->inputs()->Get(i)->updated_by();
    if (!updated_by) continue;
    if (*updated_by >= count(graph_->outputs()) || graph_->outputs()->Get(*updated_by)->updates() != i) {
      return refuse("input {}: updated_by is {}, which does not update it", i, *updated_by);
    }
  }
  return {};
}

Status BodyVerifier::verify_update(uint32_t output_index, uint32_t input_index) {
  if (graph_index_ != 0) return refuse("a subgraph updates no input");
  if (input_index >= count(graph_->inputs())) {
    return refuse("updates: input {} of {}", input_index, count(graph_->inputs()));
  }
  const fb::Input& input = *graph_->inputs()->Get(input_index);
  if (input.kind() == fb::InputKind::CONSTANT) return refuse("updates: input {} is constant", input_index);
  if (input.updated_by() != output_index) return refuse("updates: input {} does not say so", input_index);
  const fb::Value& from = value(graph_->outputs()->Get(output_index)->value());
  const fb::Value& into = value(input_index);
  if (from.kind() != fb::ValueKind::TENSOR || into.kind() != fb::ValueKind::TENSOR) {
    return refuse("updates: '{}' or '{}' is no tensor", name_of(from), name_of(into));
  }
  const fb::TensorSpec& source = *image_.specs()->Get(from.spec());
  const fb::TensorSpec& target = *image_.specs()->Get(into.spec());
  bool fits = source.dtype() == target.dtype() && count(source.sizes()) == count(target.sizes());
  for (uint32_t dim = 0; fits && dim < count(source.sizes()); ++dim) {
    fits = source.sizes()->Get(dim) == target.sizes()->Get(dim);
  }
  return fits ? Status()
              : refuse("updates: '{}' and '{}' differ in dtype or sizes", name_of(from), name_of(into));
}

}  // namespace

Status verify_graphs(ImageFacts& facts) {
  const auto* graphs = facts.image.graphs();
  if (count(graphs) == 0) return refuse("has no graph");
  std::vector<bool> is_taken(count(facts.image.strings()));
  std::vector<uint32_t> depths(graphs->size());
  depths[0] = 1;
  BodyVerifier verifier(facts, depths);
  uint64_t first_node_id = 0;
  for (uint32_t i = 0; i < graphs->size(); ++i) {
    const uint32_t name = graphs->Get(i)->name();
    ETB_TRY(at(facts.check_string(name, "name"), "graph {}", i));
    if (name == 0 || is_taken[name]) {
      return refuse("graph {}: name '{}' is empty or occurs twice", i, printable(facts.text(name)));
    }
    is_taken[name] = true;
    if (Status status = verifier.verify(i, static_cast<uint32_t>(first_node_id)); !status) {
      return at(std::move(status), "graph {} '{}'", i, printable(facts.text(name)));
    }
    first_node_id += count(graphs->Get(i)->nodes());
  }
  return {};
}

}  // namespace etb::graph
