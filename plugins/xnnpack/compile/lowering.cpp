#include "plugins/xnnpack/compile/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace etb::xnnpack {

namespace {

constexpr uint32_t kMaxRank = 6;  // XNN_MAX_TENSOR_DIMS

std::string hex_of(const uint8_t* digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint32_t i = 0; i < ETB_GRAPH_DIGEST_NBYTES; ++i) {
    text += kDigits[digest[i] >> 4];
    text += kDigits[digest[i] & 15];
  }
  return text;
}

// The permutation that the dim order of a tensor in memory says.
Permutation perm_of(const etb_graph_spec& spec) {
  Permutation perm(spec.rank);
  for (uint32_t i = 0; i < spec.rank; ++i) perm[spec.dim_order[i]] = i;
  return perm;
}

etb_dtype to_dtype(XnnDatatype datatype) {
  return datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
}

// Scale and zero point of a quantize or dequantize node with numbers.
std::optional<QuantParams> read_params(const std::optional<Node>& node) {
  if (!node) return std::nullopt;
  const std::string_view op = node->op_name();
  if (op != "quantized_decomposed.quantize_per_tensor.default" &&
      op != "quantized_decomposed.dequantize_per_tensor.default")
    return std::nullopt;
  const auto scale = node->find_arg("scale"), zero_point = node->find_arg("zero_point"),
             dtype = node->find_arg("dtype");
  if (!scale || !scale->as_float() || !zero_point || !zero_point->as_int() || !dtype ||
      dtype->as_dtype() != ETB_DTYPE_INT8)
    return std::nullopt;
  return QuantParams{static_cast<float>(*scale->as_float()), static_cast<int32_t>(*zero_point->as_int())};
}

Draft::Extents arrange(const Draft::Extents& extents, const Permutation& perm) {
  Draft::Extents out{std::vector<uint32_t>(perm.size()), 0};
  for (size_t i = 0; i < perm.size(); ++i) {
    out.sizes[perm[i]] = extents.sizes[i];
    out.dynamic_dims |= (extents.dynamic_dims >> i & 1) << perm[i];
  }
  return out;
}

}  // namespace

Result<XnnDatatype> datatype_of(etb_dtype dtype) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT32:
      return XnnDatatype::kFloat32;
    case ETB_DTYPE_FLOAT16:
      return XnnDatatype::kFloat16;
    default:
      return Lowering::refuse("dtype", dtype_text(dtype), ", expected float32 or float16");
  }
}

GraphFacts::GraphFacts(const Graph& graph)
    : use_counts(graph.value_count(), 0),
      producers(graph.value_count(), kXnnNoValue),
      readers(graph.value_count(), kXnnNoValue) {
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.gives_numbers()) continue;  // sizes that XNNPACK takes from the tensors
    for (const Value& operand : node.operands()) {
      ++use_counts[operand.id()];
      readers[operand.id()] = i;
    }
    for (uint32_t o = 0; o < node.output_count(); ++o) producers[node.first_output() + o] = i;
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) ++use_counts[graph.output(i).id()];
}

// ---- Arguments

std::optional<graph::Argument> Lowering::find(const char* name) const {
  auto found = node_->find_arg(name);
  if (found && found->is_none()) return std::nullopt;
  return found;
}

bool Lowering::has(const char* name) const { return find(name).has_value(); }

Result<uint32_t> Lowering::value(const char* name) const {
  const auto arg = find(name);
  if (!arg || !arg->value()) return refuse("attribute", name, ": no tensor");
  return *arg->value();
}

Result<std::vector<uint32_t>> Lowering::values(const char* name) const {
  const auto arg = find(name);
  std::vector<uint32_t> out;
  if (arg) {
    for (const uint32_t id : arg->values()) out.push_back(id);
  }
  if (out.empty() || std::count(out.begin(), out.end(), graph::kNone) != 0)
    return refuse("attribute", name, ": no list of tensors");
  return out;
}

Result<int64_t> Lowering::integer(const char* name, int64_t otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto number = arg->as_int()) return *number;
  return refuse(arg->value() ? "dynamic" : "attribute", name, ": known only at run time, expected a number");
}

Result<double> Lowering::number(const char* name, double otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto number = arg->as_int()) return static_cast<double>(*number);
  if (const auto number = arg->as_float()) return *number;
  if (const auto truth = arg->as_bool()) return *truth ? 1 : 0;
  return refuse(arg->value() ? "dynamic" : "attribute", name, ": known only at run time, expected a number");
}

Result<bool> Lowering::flag(const char* name, bool otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto truth = arg->as_bool()) return *truth;
  return refuse("attribute", name, ": no bool");
}

Result<std::vector<int64_t>> Lowering::integers(const char* name, std::vector<int64_t> otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto one = arg->as_int()) return std::vector<int64_t>{*one};
  for (const uint32_t id : arg->values())
    if (id != graph::kNone) return refuse("dynamic", name, ": known only at run time, expected numbers");
  std::vector<int64_t> out;
  for (const int64_t item : arg->ints()) out.push_back(item);
  return out;
}

Result<uint32_t> Lowering::dim(const char* name, int64_t otherwise, size_t rank) const {
  ETB_ASSIGN(int64_t dim, integer(name, otherwise));
  if (dim < 0) dim += static_cast<int64_t>(rank);
  if (dim < 0 || static_cast<size_t>(dim) >= rank)
    return refuse("attribute", name, ": ", dim, ", rank is ", rank);
  return static_cast<uint32_t>(dim);
}

std::string_view Lowering::text(const char* name) const {
  const auto arg = find(name);
  return arg ? arg->as_string() : "";
}

// ---- Values

std::vector<int64_t> Lowering::sizes(uint32_t value) const {
  const etb_graph_spec found = spec(value);
  return {found.sizes, found.sizes + found.rank};
}

Draft::Extents Lowering::extents(uint32_t value) const {
  const etb_graph_spec found = spec(value);
  Draft::Extents out{{}, found.dynamic_dims};
  for (uint32_t i = 0; i < found.rank; ++i) out.sizes.push_back(static_cast<uint32_t>(found.sizes[i]));
  return out;
}

ConstantPtr Lowering::image_constant(uint32_t value) const {
  if (value >= graph_.input_count()) return nullptr;
  const etb_graph_input input = etb_graph_get_input(&graph_.view(), &graph_.c(), value);
  if (input.constant == graph::kNone || input.updated_by != graph::kNone) return nullptr;
  const etb_graph_constant found = etb_graph_get_constant(&graph_.view(), input.constant);
  const etb_graph_spec spec = etb_graph_get_spec(&graph_.view(), found.spec);
  auto made = std::make_shared<Constant>();
  made->dtype = static_cast<etb_dtype>(spec.dtype);
  for (uint32_t i = 0; i < spec.rank; ++i)
    made->sizes.push_back(spec.sizes[spec.dim_order[i]]);  // as the bytes lie
  made->image_key = found.key;
  made->digest = hex_of(found.digest);
  made->read = [region = region_, key = made->image_key, data = static_cast<const std::byte*>(found.data),
                nbytes = found.nbytes]() -> Result<Bytes> {
    if (data != nullptr) return Bytes(data, data + nbytes);
    if (region == nullptr) return make_error(Code::INTERNAL, "a claim reads constant '" + key + "'");
    ETB_ASSIGN(const Payload payload, region->read_constant(key.c_str()));
    const auto bytes = payload.bytes();
    if (bytes.size() < nbytes)
      return make_error(Code::INVALID_DATA, "constant '" + key + "' of " + std::to_string(bytes.size()) +
                                                " bytes, expected " + std::to_string(nbytes));
    return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(nbytes));
  };
  return made;
}

// A value that no lowered node made: an input or a constant of the graph; for a claim, anything.
Result<Form> Lowering::enter(uint32_t value) {
  const Value entered = graph_.value(value);
  if (!entered.is_tensor()) return refuse("dtype", "'", entered.name(), "': no tensor");
  const etb_graph_spec spec = entered.spec();
  if (spec.rank > kMaxRank)
    return refuse("rank", "'", entered.name(), "': rank ", spec.rank, ", expected at most ", kMaxRank);
  const Permutation perm = perm_of(spec);
  if (ConstantPtr found = image_constant(value)) {
    if (found->dtype != ETB_DTYPE_FLOAT32 && found->dtype != ETB_DTYPE_FLOAT16 &&
        found->dtype != ETB_DTYPE_INT8)
      found = converted(found, ETB_DTYPE_FLOAT32);  // numbers that the exporter lifted
    const auto datatype = datatype_of(found->dtype);
    return Form{draft_.add_constant(found, datatype.value_or(XnnDatatype::kQint8)), perm};
  }
  if (spec.dtype == ETB_DTYPE_INT8) {
    const auto params = read_params(reader(value));
    if (!params) return refuse("quant", "'", entered.name(), "': int8 that nobody dequantises");
    const uint32_t id = draft_.add_input(XnnDatatype::kQint8, arrange(extents(value), perm));
    set_params(id, *params);
    return Form{id, perm};
  }
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(spec.dtype)));
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.sizes[i] < 0 || spec.sizes[i] > INT32_MAX)
      return refuse("dynamic", "'", entered.name(), "': dimension ", i, " without an upper bound");
  }
  return Form{draft_.add_input(datatype, arrange(extents(value), perm)), perm};
}

// Ops that lowering does to a constant without a node.
bool is_folding(std::string_view op) {
  static constexpr std::string_view kFolding[] = {"aten.permute_copy.default",
                                                  "aten.t_copy.default",
                                                  "aten.transpose_copy.int",
                                                  "aten.view_copy.default",
                                                  "aten.unsqueeze_copy.default",
                                                  "aten.squeeze_copy.dims",
                                                  "aten.squeeze_copy.dim",
                                                  "aten.expand_copy.default",
                                                  "dim_order_ops._to_dim_order_copy.default",
                                                  "dim_order_ops._clone_dim_order.default"};
  return std::find(std::begin(kFolding), std::end(kFolding), op) != std::end(kFolding) ||
         op.substr(0, 31) == "quantized_decomposed.dequantize" || op == "torchao.dequantize_affine.default";
}

bool Lowering::is_made_of_constants(uint32_t value) const {
  if (value < graph_.input_count()) return image_constant(value) != nullptr;
  const Node node = graph_.node(facts_.producers[value]);
  if (!is_folding(node.op_name())) return false;
  for (const Value& operand : node.operands())
    if (!is_made_of_constants(operand.id())) return false;
  return true;
}

// A claim looks at one node; what constants are made into before it is looked at with it.
void Lowering::fold(uint32_t value) {
  const Node* const asked = node_;
  const Node node = graph_.node(facts_.producers[value]);
  (void)lower(node);  // when it fails, the value counts as one known at run time
  node_ = asked;
}

Result<Form> Lowering::form(uint32_t value) {
  if (is_quantised_) {
    if (const auto known = integers_.find(value); known != integers_.end()) return known->second;
  }
  if (const auto known = forms_.find(value); known != forms_.end()) return known->second;
  if (region_ == nullptr && value >= graph_.input_count() && is_made_of_constants(value)) fold(value);
  if (const auto known = forms_.find(value); known != forms_.end()) return known->second;
  if (integers_.count(value) != 0) return to_floats(value);
  if (dynamic_.count(value) != 0)
    return refuse("quant", "quantised at run time for an op that is no linear layer");
  ETB_ASSIGN(Form entered, enter(value));
  define(value, entered);
  return entered;
}

Result<uint32_t> Lowering::arranged(uint32_t value, const Permutation& perm) {
  ETB_ASSIGN(const Form now, form(value));
  Permutation order(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) order[perm[i]] = now.perm[i];
  return draft_.add_transpose(now.id, order);
}

bool Lowering::is_constant(uint32_t value) {
  const auto found = form(value);
  return found && draft_.constant(found->id);
}

Result<ConstantPtr> Lowering::constant(uint32_t value, const char* what) {
  ETB_ASSIGN(const uint32_t id, natural(value));
  if (!draft_.constant(id)) return refuse("constant", what, ": known only at run time, expected a constant");
  return draft_.constant(id);
}

void Lowering::define(uint32_t value, Form form) {
  const auto [known, is_new] = id_use_counts_.emplace(form.id, 0);
  known->second += static_cast<int64_t>(use_count(value)) -
                   (is_new ? 0 : 1);  // the node between two names of one thing reads nothing
  const auto dtype = static_cast<etb_dtype>(spec(value).dtype);
  const XnnDatatype datatype = draft_.value(form.id).datatype;
  const bool has_integers = datatype == XnnDatatype::kQint8 || datatype == XnnDatatype::kQcint8;
  (has_integers && dtype != ETB_DTYPE_INT8 ? integers_ : forms_)[value] = std::move(form);
}

Result<uint32_t> Lowering::add_result(uint32_t index, const Permutation& perm) {
  const uint32_t value = result(index);
  const etb_graph_spec made = spec(value);
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(made.dtype)));
  const uint32_t id =
      draft_.add_value(is_quantised_ ? XnnDatatype::kQint8 : datatype, arrange(extents(value), perm));
  adopt_result_params(id);
  define(value, {id, perm});
  return id;
}

XnnNode* Lowering::only_producer(uint32_t value) {
  const auto& forms = is_quantised_ ? integers_ : forms_;
  const auto found = forms.find(value);
  if (found == forms.end() || id_use_counts_[found->second.id] != 1) return nullptr;
  return draft_.producer(found->second.id);
}

etb_dtype Lowering::dtype_of(uint32_t id) const {
  return draft_.value(id).datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
}

uint32_t Lowering::add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like) {
  const etb_dtype dtype = dtype_of(like);
  return draft_.add_constant(make_floats(std::move(sizes), std::move(values), dtype), *datatype_of(dtype));
}

// ---- Quantisation

void Lowering::set_params(uint32_t id, QuantParams params) {
  XnnValue& value = draft_.value(id);
  value.quantisation = XnnQuantisation::kPerTensor;
  value.scale = params.scale;
  value.zero_point = params.zero_point;
}

std::optional<Node> Lowering::reader(uint32_t value) const {
  if (facts_.readers[value] == kXnnNoValue) return std::nullopt;
  return graph_.node(facts_.readers[value]);
}

std::optional<Form> Lowering::integers_of(uint32_t value) {
  if (region_ == nullptr && value >= graph_.input_count() && forms_.count(value) == 0 &&
      integers_.count(value) == 0 && is_made_of_constants(value))
    fold(value);
  const auto found = integers_.find(value);
  return found == integers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> Lowering::dynamic_source(uint32_t value) const {
  const auto found = dynamic_.find(value);
  return found == dynamic_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t Lowering::quantised_rows(uint32_t id) {
  const auto known = quantised_rows_.find(id);
  if (known != quantised_rows_.end()) return known->second;
  const uint32_t made = draft_.add_value(XnnDatatype::kQdint8, draft_.extents(id));
  draft_.value(made).quantisation = XnnQuantisation::kPerToken;
  draft_.value(made).nonbatch_dim_count = 1;
  draft_.add_node(XnnOperator::kConvert, {id}, {made});
  return quantised_rows_[id] = made;
}

// A float value that the draft has as integers, for an op that wants floats.
Result<Form> Lowering::to_floats(uint32_t value) {
  const Form form = integers_.at(value);
  if (const ConstantPtr& constant = draft_.constant(form.id)) {
    const XnnValue& integers = draft_.value(form.id);
    const bool is_by_group = integers.quantisation == XnnQuantisation::kPerChannelGroup;
    const std::vector<float> scales = is_by_group || integers.quantisation == XnnQuantisation::kPerChannel
                                          ? integers.scales
                                          : std::vector<float>{integers.scale};
    size_t inner = is_by_group ? integers.group_size : 1;
    for (size_t d = integers.channel_dim + 1; !is_by_group && d < integers.sizes.size(); ++d)
      inner *= integers.sizes[d];
    const int32_t zero_point = integers.zero_point;
    const ConstantPtr floats =
        computed({constant}, constant->sizes, ETB_DTYPE_FLOAT32, [=](const auto& from) {
          std::vector<float> out = from[0];
          for (size_t i = 0; i < out.size(); ++i)
            out[i] = (out[i] - static_cast<float>(zero_point)) * scales[i / inner % scales.size()];
          return out;
        });
    return forms_[value] = {draft_.add_constant(floats, XnnDatatype::kFloat32), form.perm};
  }
  const uint32_t id = draft_.add_value(XnnDatatype::kFloat32, draft_.extents(form.id));
  draft_.add_node(XnnOperator::kConvert, {form.id}, {id});
  return forms_[value] = {id, form.perm};
}

// The scale with which the one reader of a value quantises it, behind clamps that can be part of the node.
std::optional<QuantParams> Lowering::find_result_params(uint32_t value) const {
  while (facts_.use_counts[value] == 1) {
    const std::optional<Node> next = reader(value);
    if (!next) return std::nullopt;  // an output of the graph
    if (const auto params = read_params(next)) return params;
    const std::string_view op = next->op_name();
    if (op != "aten.relu.default" && op != "aten.hardtanh.default" && op != "aten.clamp.default" &&
        op != "aten.relu6.default")
      return std::nullopt;
    value = next->first_output();
  }
  return std::nullopt;
}

bool Lowering::choose_quantised(const Node& node) {
  const QuantKind kind = find_quant_kind(node.op_name());
  if (kind == QuantKind::kFloatOnly) return false;
  const bool is_addmm = node.op_name() == "aten.addmm.default";
  bool has_tensor = false;
  std::optional<QuantParams> first;
  for (const graph::Argument& arg : node.args()) {
    std::vector<uint32_t> ids;
    if (const auto id = arg.value()) ids.push_back(*id);
    for (const uint32_t id : arg.values()) ids.push_back(id);
    if (arg.name() == (is_addmm ? "self" : "bias")) continue;
    for (const uint32_t id : ids) {
      if (id == graph::kNone) return false;
      const auto form = integers_of(id);
      if (!form) return false;
      has_tensor = true;
      if (kind == QuantKind::kComputes) continue;
      const bool is_permute = node.op_name() == "aten.permute_copy.default" ||
                              node.op_name() == "aten.t_copy.default" ||
                              node.op_name() == "aten.transpose_copy.int";
      if (draft_.constant(form->id) && !is_permute) return false;
      if (first && !(*first == params_of(form->id))) return false;
      first = params_of(form->id);
    }
  }
  if (!has_tensor) return false;
  if (kind == QuantKind::kMoves) {
    result_params_ = *first;
    return true;
  }
  const auto params = find_result_params(node.first_output());
  if (params) result_params_ = *params;
  return params.has_value();
}

Result<uint32_t> Lowering::add_filter(const ConstantPtr& filter, uint32_t weight, uint32_t channel_dim,
                                      XnnDatatype datatype) {
  const auto integers = integers_of(weight);
  if (!is_quantised_ || !integers)
    return draft_.add_constant(converted(filter, to_dtype(datatype)), datatype);
  const XnnValue from = draft_.value(integers->id);
  const uint32_t id = draft_.add_constant(std::make_shared<Constant>(*filter), from.datatype);
  XnnValue& made = draft_.value(id);
  made.quantisation = from.quantisation;
  made.scale = from.scale;
  made.zero_point = from.zero_point;
  made.scales = from.scales;
  made.channel_dim = channel_dim;
  if (from.quantisation == XnnQuantisation::kPerTensor && from.zero_point != 0)
    return refuse("quant", "weight with zero point ", from.zero_point, ", expected 0");
  return id;
}

Result<uint32_t> Lowering::add_bias(const ConstantPtr& bias, uint32_t input, uint32_t filter) {
  if (!is_quantised_) {
    ETB_ASSIGN(const XnnDatatype datatype, datatype_of(bias->dtype));
    return draft_.add_constant(bias, datatype);
  }
  const XnnValue weights = draft_.value(filter);
  const bool is_per_channel = weights.quantisation == XnnQuantisation::kPerChannel;
  std::vector<float> steps = is_per_channel ? weights.scales : std::vector<float>{weights.scale};
  for (float& step : steps) step *= draft_.value(input).scale;
  auto made = std::make_shared<Constant>();
  made->dtype = ETB_DTYPE_INT32;
  made->sizes = bias->sizes;
  made->read = [bias, steps]() -> Result<Bytes> {
    ETB_ASSIGN(const std::vector<float> floats, read_floats(*bias));
    Bytes out(floats.size() * sizeof(int32_t));
    for (size_t i = 0; i < floats.size(); ++i) {
      const double count = std::nearbyint(double{floats[i]} / steps[i % steps.size()]);
      const auto rounded = static_cast<int32_t>(std::clamp(count, -2147483648.0, 2147483647.0));
      std::memcpy(out.data() + i * sizeof rounded, &rounded, sizeof rounded);
    }
    return out;
  };
  const uint32_t id =
      draft_.add_constant(made, is_per_channel ? XnnDatatype::kQcint32 : XnnDatatype::kQint32);
  XnnValue& value = draft_.value(id);
  value.quantisation = weights.quantisation;
  value.scale = steps[0];
  value.scales = is_per_channel ? steps : std::vector<float>();
  return id;
}

// ---- The graph as a whole

namespace {

// What every op asks of the tensors around it. XNNPACK has no tensors without elements, and arithmetic on sizes need not think of them.
Status check_sizes(const Value& value) {
  const etb_graph_spec spec = value.spec();
  for (uint32_t i = 0; i < spec.rank; ++i) {
    if (spec.sizes[i] < 0 || spec.sizes[i] > INT32_MAX)
      return Lowering::refuse("dynamic", "'", value.name(), "': dimension ", i, " without an upper bound");
    if (spec.sizes[i] == 0)
      return Lowering::refuse("empty", "'", value.name(), "': dimension ", i, " is 0, expected elements");
  }
  return {};
}

}  // namespace

Status Lowering::lower(const Node& node) {
  const LowerFunction lower_op = find_lower(node.op_name());
  if (lower_op == nullptr) return refuse("op", node.op_name(), ": not in the op table");
  node_ = &node;
  draft_.set_debug_handle(node.debug_handle());
  for (const Value& made : node.results()) {
    if (!made.is_tensor()) return refuse("op", "'", made.name(), "': result is no tensor");
    if (use_count(made.id()) != 0 || node.output_count() == 1) ETB_TRY(check_sizes(made));
  }
  for (const Value& operand : node.operands()) {
    if (operand.is_tensor()) ETB_TRY(check_sizes(operand));
  }
  is_quantised_ = choose_quantised(node);
  bool is_lowered = is_quantised_ && lower_op(*this).has_value();
  if (!is_lowered) {
    is_quantised_ = false;  // what XNNPACK does not do on integers, it does on floats in between
    ETB_TRY(lower_op(*this));
  }
  // What became part of another node has that node's events.
  for (const Value& made : node.results()) {
    for (const auto* forms : {&forms_, &integers_}) {
      if (const auto found = forms->find(made.id()); found != forms->end())
        draft_.add_source(found->second.id);
    }
  }
  return {};
}

Status Lowering::add_inputs() {
  for (uint32_t i = 0; i < graph_.input_count(); ++i) {
    if (!image_constant(i)) ETB_TRY(form(i));
  }
  return {};
}

Status Lowering::add_outputs() {
  for (uint32_t i = 0; i < graph_.output_count(); ++i) {
    const uint32_t value = graph_.output(i).id();
    ETB_ASSIGN(const uint32_t id, arranged(value, perm_of(spec(value))));
    draft_.add_output(id);
  }
  return {};
}

namespace {

Claim claim_one(const Graph& graph, const GraphFacts& facts, const Node& node) {
  const OpRow* row = find_row(node.op_name());
  if (row == nullptr) return Claim::no("op", std::string(node.op_name()) + ": not in the op table");
  if (Claim claim = detail::check_row(node, *row); !claim.is_claimed) return claim;
  Lowering lowering(graph, facts, nullptr);
  const Status lowered = lowering.lower(node);
  if (lowered) return Claim::yes();
  const Error& error = lowered.error();
  static constexpr const char* kReasons[] = {"dtype", "rank",      "layout", "dynamic",
                                             "quant", "attribute", "op"};
  for (const char* reason : kReasons) {
    if (error.reason == reason) return Claim::no(reason, error.message);
  }
  if (error.reason == "constant") return Claim::no("org.etbackend.xnnpack.constant", error.message);
  if (error.reason == "empty") return Claim::no("org.etbackend.xnnpack.empty", error.message);
  return Claim::no("attribute", error.message);
}

// A linear layer whose input is quantised at run time: nodes that are worth nothing apart.
struct DynamicChain {
  std::vector<uint32_t> nodes;  // positions
  bool is_whole = true;         // all that reads it is of it
};

bool is_linear(std::string_view op) {
  return op == "aten.linear.default" || op == "aten.addmm.default" || op == "aten.mm.default";
}

// Collects what reads the results of `position`, down to linear layers.
void follow(const Graph& graph, const std::vector<std::vector<uint32_t>>& readers, uint32_t position,
            DynamicChain& chain) {
  if (std::find(chain.nodes.begin(), chain.nodes.end(), position) != chain.nodes.end()) return;
  chain.nodes.push_back(position);
  const Node node = graph.node(position);
  if (is_linear(node.op_name())) return;
  for (const Value& made : node.results()) {
    for (const uint32_t reader : readers[made.id()]) {
      const std::string_view op = graph.node(reader).op_name();
      if (op == "quantized_decomposed.quantize_per_tensor.tensor" ||
          op == "quantized_decomposed.dequantize_per_tensor.tensor" ||
          op == "torchao.quantize_affine.default" || op == "torchao.dequantize_affine.default" ||
          is_linear(op)) {
        follow(graph, readers, reader, chain);
      } else {
        chain.is_whole = false;
      }
    }
  }
  for (uint32_t i = 0; i < graph.output_count(); ++i) {
    for (const Value& made : node.results())
      chain.is_whole = chain.is_whole && graph.output(i).id() != made.id();
  }
}

std::vector<DynamicChain> find_dynamic_chains(const Graph& graph) {
  std::vector<std::vector<uint32_t>> readers;
  std::vector<DynamicChain> chains;
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const std::string_view op = graph.node(i).op_name();
    if (op != "quantized_decomposed.choose_qparams.tensor" && op != "torchao.choose_qparams_affine.default")
      continue;
    if (readers.empty()) {
      readers.resize(graph.value_count());
      for (uint32_t n = 0; n < graph.node_count(); ++n) {
        for (const Value& operand : graph.node(n).operands()) readers[operand.id()].push_back(n);
      }
    }
    follow(graph, readers, i, chains.emplace_back());
  }
  return chains;
}

}  // namespace

Status claim_nodes(const Graph& graph, const PartitionSink& sink) {
  const GraphFacts facts(graph);
  std::vector<bool> is_answered(graph.node_count(), false);
  uint32_t group = 0;
  for (const DynamicChain& chain : find_dynamic_chains(graph)) {
    Lowering lowering(graph, facts, nullptr);
    std::vector<uint32_t> positions = chain.nodes, ids;
    std::sort(positions.begin(), positions.end());
    bool is_taken = chain.is_whole;
    for (const uint32_t position : positions) {
      is_taken = is_taken && !is_answered[position] && lowering.lower(graph.node(position)).has_value();
      ids.push_back(graph.node(position).id());
    }
    if (!is_taken) continue;
    Claim claim = Claim::yes();
    claim.flags = ETB_CLAIM_WHOLE_GROUP;
    ETB_TRY(sink.claim(ids, claim, ++group));
    for (const uint32_t position : positions) is_answered[position] = true;
  }
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    if (is_answered[i]) continue;
    const Node node = graph.node(i);
    const uint32_t id = node.id();
    const Claim claim = claim_one(graph, facts, node);
    ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
  }
  return {};
}

namespace {

// What a claim refuses by the op's row compilation refuses too.
Status check_and_lower(Lowering& lowering, const Node& node) {
  if (const OpRow* row = find_row(node.op_name())) {
    if (const Claim claim = detail::check_row(node, *row); !claim.is_claimed)
      return make_error(Code::NOT_SUPPORTED, std::string(claim.reason) + ": " + claim.text);
  }
  return lowering.lower(node);
}

}  // namespace

Result<Artifact> compile_region(const Region& region) {
  const GraphFacts facts(region.graph());
  Lowering lowering(region.graph(), facts, &region);
  ETB_TRY(lowering.add_inputs());
  for (uint32_t i = 0; i < region.graph().node_count(); ++i) {
    const Node node = region.graph().node(i);
    if (node.gives_numbers()) continue;
    if (Status lowered = check_and_lower(lowering, node); !lowered) {
      return tl::make_unexpected(
          with_context(std::move(lowered).error(),
                       "node " + std::to_string(node.id()) + " (" + std::string(node.op_name()) + ")"));
    }
  }
  ETB_TRY(lowering.add_outputs());
  return lowering.draft().finish();
}

}  // namespace etb::xnnpack
