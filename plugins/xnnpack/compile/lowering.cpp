// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/lowering.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace etb::xnnpack {

namespace {

// Returns the permutation for the dim order of a tensor in memory.
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

etb_dtype to_dtype(XnnDatatype datatype) {
  return datatype == XnnDatatype::kFloat16 ? ETB_DTYPE_FLOAT16 : ETB_DTYPE_FLOAT32;
}

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
    made->sizes.push_back(spec.sizes[spec.dim_order[i]]);  // the storage order of the bytes
  made->image_key = found.key;
  made->read = [region = region_, key = made->image_key, data = static_cast<const std::byte*>(found.data),
                nbytes = found.nbytes]() -> Result<Bytes> {
    if (data != nullptr) return Bytes({data, static_cast<size_t>(nbytes)}, nullptr);
    if (region == nullptr) return make_error(Code::INTERNAL, "a claim reads constant '" + key + "'");
    ETB_ASSIGN(Payload payload, region->read_constant(key.c_str()));
    const auto bytes = payload.bytes();
    if (bytes.size() < nbytes)
      return make_error(Code::INVALID_DATA, "constant '" + key + "' of " + std::to_string(bytes.size()) +
                                                " bytes, expected " + std::to_string(nbytes));
    return Bytes(bytes.first(static_cast<size_t>(nbytes)), std::make_shared<Payload>(std::move(payload)));
  };
  return made;
}

// Adds a value without a lowered producer: an input or constant of the graph, or for a claim any value.
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
      found = converted(found, ETB_DTYPE_FLOAT32);  // scalars that the exporter lifted
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

bool Lowering::is_made_of_constants(uint32_t value) const {
  if (value < graph_.input_count()) return image_constant(value) != nullptr;
  const Node node = graph_.node(facts_.producers[value]);
  if (!has_trait(node.op_name(), kFolds)) return false;
  for (const Value& operand : node.operands())
    if (!is_made_of_constants(operand.id())) return false;
  return true;
}

// A claim lowers one node, so constant operands are folded here on demand.
void Lowering::fold(uint32_t value) {
  const Node* const asked = node_;
  const Node node = graph_.node(facts_.producers[value]);
  (void)lower(node);  // on failure, the value counts as known only at run time
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
                   (is_new ? 0 : 1);  // an aliasing node does not count as a reader
  const auto dtype = static_cast<etb_dtype>(spec(value).dtype);
  const XnnDatatype datatype = draft_.value(form.id).datatype;
  const bool has_integers = datatype == XnnDatatype::kQint8 || datatype == XnnDatatype::kQcint8;
  (has_integers && dtype != ETB_DTYPE_INT8 ? integers_ : forms_)[value] = std::move(form);
}

Result<uint32_t> Lowering::add_result(uint32_t index, const Permutation& perm) {
  const uint32_t value = result(index);
  const etb_graph_spec made = spec(value);
  if (made.rank != perm.size())
    return refuse("rank", "result of rank ", made.rank, ", this op makes one of ", perm.size());
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

uint32_t Lowering::add_floats(std::vector<int64_t> sizes, std::vector<float> values, uint32_t like) {
  const etb_dtype dtype = dtype_of(like);
  return draft_.add_constant(make_floats(std::move(sizes), std::move(values), dtype), *datatype_of(dtype));
}

// ---- Nodes

namespace {

// Checks the sizes of an operand or result, for every op. XNNPACK has no empty tensors, and later arithmetic
// on sizes relies on it.
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

// Undoes the definitions of a failed attempt on integers. Values from `first_new` on are new and dropped with
// their nodes.
void Lowering::forget_results(size_t first_new) {
  for (const Value& made : node_->results()) {
    const auto found = integers_.find(made.id());
    if (found == integers_.end()) continue;
    const uint32_t id = found->second.id;
    if (id >= first_new) {
      id_use_counts_.erase(id);
    } else {
      id_use_counts_[id] -= static_cast<int64_t>(use_count(made.id())) - 1;
    }
    integers_.erase(found);
  }
}

Status Lowering::lower(const Node& node) {
  const Op* op = find_op(node.op_name());
  if (op == nullptr) return refuse("op", node.op_name(), ": not in the op table");
  node_ = &node;
  draft_.set_debug_handle(node.debug_handle());
  for (const Value& made : node.results()) {
    if (!made.is_tensor()) return refuse("op", "'", made.name(), "': result is no tensor");
    if (use_count(made.id()) != 0 || node.output_count() == 1) ETB_TRY(check_sizes(made));
  }
  for (const Value& operand : node.operands()) {
    if (operand.is_tensor()) ETB_TRY(check_sizes(operand));
  }
  if (node.output_count() == 0) return refuse("op", "no result");
  // Ops of one rank read sizes of the result before they create it.
  if (op->min_rank == op->max_rank && rank(result()) != op->min_rank)
    return refuse("rank", "result of rank ", rank(result()), ", expected ", op->min_rank);
  is_quantised_ = choose_quantised(node, op->quantised);
  const size_t value_count = draft_.value_count();
  if (!is_quantised_ || !op->lower(*this)) {
    if (is_quantised_) forget_results(value_count);
    is_quantised_ = false;  // on floats if XNNPACK has no integer version
    ETB_TRY(op->lower(*this));
  }
  // Nodes fused into another node share its events.
  for (const Value& made : node.results()) {
    for (const auto* forms : {&forms_, &integers_}) {
      const auto found = forms->find(made.id());
      if (found == forms->end()) continue;
      if (found->second.perm.size() != made.spec().rank)
        return refuse("rank", "result of rank ", made.spec().rank, ", this op makes one of ",
                      found->second.perm.size());
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

}  // namespace etb::xnnpack
