#include "plugins/xnnpack/compile/lowering.hpp"

#include <algorithm>

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
    : use_counts(graph.value_count(), 0), producers(graph.value_count(), kXnnNoValue) {
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node node = graph.node(i);
    if (node.gives_numbers()) continue;  // sizes that XNNPACK takes from the tensors
    for (const Value& operand : node.operands()) ++use_counts[operand.id()];
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
         op.substr(0, 31) == "quantized_decomposed.dequantize";
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
  if (const auto known = forms_.find(value); known != forms_.end()) return known->second;
  if (region_ == nullptr && value >= graph_.input_count() && is_made_of_constants(value)) fold(value);
  if (const auto known = forms_.find(value); known != forms_.end()) return known->second;
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
  forms_[value] = std::move(form);
}

Result<uint32_t> Lowering::add_result(uint32_t index, const Permutation& perm) {
  const uint32_t value = result(index);
  const etb_graph_spec made = spec(value);
  ETB_ASSIGN(const XnnDatatype datatype, datatype_of(static_cast<etb_dtype>(made.dtype)));
  const uint32_t id = draft_.add_value(datatype, arrange(extents(value), perm));
  define(value, {id, perm});
  return id;
}

XnnNode* Lowering::only_producer(uint32_t value) {
  const auto found = forms_.find(value);
  if (found == forms_.end() || id_use_counts_[found->second.id] != 1) return nullptr;
  return draft_.producer(found->second.id);
}

etb_dtype Lowering::dtype_of(uint32_t id) const {
  return draft_.value(id).datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
}

uint32_t Lowering::add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like) {
  const etb_dtype dtype = dtype_of(like);
  return draft_.add_constant(make_floats(std::move(sizes), std::move(values), dtype), *datatype_of(dtype));
}

// ---- The graph as a whole

Status Lowering::lower(const Node& node) {
  const LowerFunction lower_op = find_lower(node.op_name());
  if (lower_op == nullptr) return refuse("op", node.op_name(), ": not in the op table");
  node_ = &node;
  draft_.set_debug_handle(node.debug_handle());
  for (const Value& made : node.results()) {
    if (!made.is_tensor()) return refuse("op", "'", made.name(), "': result is no tensor");
    const etb_graph_spec spec = made.spec();
    for (uint32_t i = 0; i < spec.rank; ++i) {
      if (spec.sizes[i] < 0 || spec.sizes[i] > INT32_MAX)
        return refuse("dynamic", "'", made.name(), "': dimension ", i, " without an upper bound");
    }
  }
  return lower_op(*this);
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

Claim claim_one(const Graph& graph, const GraphFacts& facts, const Node& node) {
  const OpRow* row = find_row(node.op_name());
  if (row == nullptr) return Claim::no("op", std::string(node.op_name()) + ": not in the op table");
  if (Claim claim = detail::check_row(node, *row); !claim.is_claimed) return claim;
  Lowering lowering(graph, facts, nullptr);
  if (const Status lowered = lowering.lower(node); !lowered) {
    const Error& error = lowered.error();
    static constexpr const char* kReasons[] = {"dtype", "rank",      "layout",  "dynamic",
                                               "quant", "attribute", "constant"};
    for (const char* reason : kReasons) {
      if (error.reason == reason)
        return Claim::no(error.reason == "constant" ? "org.etbackend.xnnpack.constant" : reason,
                         error.message);
    }
    return Claim::no("attribute", error.message);
  }
  return Claim::yes();
}

Result<Artifact> compile_region(const Region& region) {
  const GraphFacts facts(region.graph());
  Lowering lowering(region.graph(), facts, &region);
  ETB_TRY(lowering.add_inputs());
  for (uint32_t i = 0; i < region.graph().node_count(); ++i) {
    const Node node = region.graph().node(i);
    if (node.gives_numbers()) continue;
    if (Status lowered = lowering.lower(node); !lowered) {
      return tl::make_unexpected(
          with_context(std::move(lowered).error(),
                       "node " + std::to_string(node.id()) + " (" + std::string(node.op_name()) + ")"));
    }
  }
  ETB_TRY(lowering.add_outputs());
  return lowering.draft().finish();
}

}  // namespace etb::xnnpack
