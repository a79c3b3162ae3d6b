// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/ops/sizes/axis.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

const ir::Argument& AnyArgument::get() const {
  static const ir::Argument kNone = ir::Nothing{};
  return index_ < state_->args.size() ? state_->args[index_] : kNone;
}

void AnyArgument::fail_kind(const char* found) const {
  const ops::Schema* schema = state_->module.op(state_->op).schema;
  const std::string name = schema != nullptr && index_ < schema->argument_count()
                               ? "'" + std::string(schema->argument(static_cast<uint32_t>(index_)).name) + "'"
                               : std::to_string(index_);
  state_->fail("argument " + name + " is " + found);
}

int64_t AnyArgument::known(Dim dim) const {
  if (!dim.is_static()) fail_kind("known only at run time, expected a constant");
  return dim.is_static() ? dim.value() : 0;
}

const TensorSpec* AnyArgument::find_tensor() const {
  const auto* ref = ir::get_if<ir::ValueRef>(get());
  if (ref == nullptr || state_->graph.values[ref->id].kind != ir::ValueKind::kTensor) return nullptr;
  return &state_->graph.values[ref->id].spec;
}

const TensorSpec& TensorArgument::spec() const {
  static const TensorSpec kNoTensor;
  const TensorSpec* found = find_tensor();
  if (found == nullptr) fail_kind("not a tensor");
  return found == nullptr ? kNoTensor : *found;
}

ir::ValueId TensorArgument::id() const {
  const auto* ref = ir::get_if<ir::ValueRef>(get());
  if (ref == nullptr) fail_kind("not a tensor");
  return ref == nullptr ? 0 : ref->id;
}

std::vector<ir::ValueId> TensorListArgument::ids() const {
  const auto* list = ir::get_if<ir::ValueList>(get());
  if (list == nullptr) fail_kind("not a list of tensors");
  return list == nullptr ? std::vector<ir::ValueId>{} : list->ids;
}

std::vector<const TensorSpec*> TensorListArgument::specs() const {
  std::vector<const TensorSpec*> out;
  for (const ir::ValueId id : ids())
    out.push_back(id == ir::kNoValue ? nullptr : &state_->graph.values[id].spec);
  return out;
}

Dim AnyArgument::read_dim() const {
  const Dim* value = ir::get_if<Dim>(get());
  if (value == nullptr) fail_kind("not an int");
  return value == nullptr ? Dim(0) : *value;
}

int64_t IntArgument::integer() const { return known(dim()); }

Dims IntListArgument::dims() const {
  if (!has_value()) return {};
  if (const Dims* list = ir::get_if<Dims>(get())) return *list;
  const Dim* value = ir::get_if<Dim>(get());
  if (value == nullptr) fail_kind("not a list of ints");
  return {value == nullptr ? Dim(0) : *value};
}

double NumberArgument::number() const {
  if (const double* value = ir::get_if<double>(get())) return *value;
  const Dim* value = ir::get_if<Dim>(get());
  if (value == nullptr) fail_kind("neither a float nor an int");
  return value == nullptr ? 0 : static_cast<double>(known(*value));
}

BoolArgument::operator bool() const {
  const bool* value = ir::get_if<bool>(get());
  return value != nullptr && *value;
}

std::optional<ir::Dtype> DtypeArgument::value() const {
  const auto* value = ir::get_if<ir::Dtype>(get());
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<ir::MemoryFormat> MemoryFormatArgument::format() const {
  const auto* value = ir::get_if<ir::MemoryFormat>(get());
  return value == nullptr ? std::nullopt : std::optional(*value);
}

const std::string* StringArgument::find_text() const { return ir::get_if<std::string>(get()); }

const ir::FloatList* FloatListArgument::find_list() const { return ir::get_if<ir::FloatList>(get()); }

bool BoolListArgument::at(size_t index) const {
  const auto* list = ir::get_if<ir::BoolList>(get());
  return list != nullptr && index < list->size() && (*list)[index];
}

size_t Call::axis(int64_t wanted, size_t rank) const {
  const std::optional<size_t> axis = ops::wrap_axis(wanted, rank);
  if (!axis)
    fail("dimension " + std::to_string(wanted) + " is out of range for a tensor of rank " +
         std::to_string(rank));
  return axis.value_or(0);
}

std::vector<bool> Call::axes(const Dims& list, size_t rank) const {
  std::vector<bool> out(std::max<size_t>(rank, 1), list.empty());
  for (const Dim wanted : list) {
    if (!wanted.is_static()) fail("a dimension index is known only at run time, expected a constant");
    out[axis(wanted.value(), rank)] = true;
  }
  out.resize(rank);
  return out;
}

Dims broadcast(const Call& call, const Dims& a, const Dims& b) {
  const Formulas formulas(call.symbols());
  Dims out(std::max(a.size(), b.size()), Dim(1));
  for (size_t i = 0; i < out.size(); ++i) {
    const Dim x = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim y = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    const std::optional<Dim> size = ops::broadcast_size(formulas, x, y);
    if (!size) {
      call.fail("sizes " + std::to_string(x.value()) + " and " + std::to_string(y.value()) +
                " do not broadcast, expected equal sizes or 1");
    }
    out[out.size() - 1 - i] = size.value_or(x);
  }
  return out;
}

namespace {

// Returns the complex dtype with parts of this one; complex64 for bfloat16 and dtypes that are not floating.
ir::Dtype complex_like(ir::Dtype dtype) {
  const ir::Dtype made = ops::complex_of(dtype);
  return ops::is_complex(made) ? made : ir::Dtype::COMPLEX64;
}

// torch/csrc result_type: tensors of one dimension or more count most, then 0-d tensors, then numbers.
std::optional<ir::Dtype> combine(std::optional<ir::Dtype> higher, std::optional<ir::Dtype> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (ops::is_complex(*higher)) return higher;
  if (ops::is_complex(*lower)) return ops::is_floating(*higher) ? complex_like(*higher) : lower;
  if (ops::is_floating(*higher)) return higher;
  if (ops::is_bool(*higher) || ops::is_floating(*lower)) return ops::promote(*higher, *lower);
  return higher;
}

}  // namespace

std::optional<ir::Dtype> promote_dtypes(ir::Dtype a, ir::Dtype b) {
  if (a == b || (!ops::is_complex(a) && !ops::is_complex(b))) return ops::promote(a, b);
  const bool is_a = ops::is_complex(a), is_b = ops::is_complex(b);
  const ir::Dtype other = is_a ? b : a;
  // An integer does not change the parts.
  if (is_a != is_b && !ops::is_floating(other)) return is_a ? a : b;
  const auto parts = ops::promote(ops::real_part(a), ops::real_part(b));
  return parts ? std::optional(complex_like(*parts)) : std::nullopt;
}

std::optional<ir::Dtype> promote_arguments(std::span<const AnyArgument> arguments) {
  std::optional<ir::Dtype> by_class[3];  // tensors, 0-d tensors, numbers
  for (const AnyArgument& argument : arguments) {
    if (!argument.has_value()) continue;
    ir::Dtype dtype = ir::Dtype::INT64;
    size_t rank_class = 2;
    if (const TensorSpec* tensor = argument.find_tensor()) {
      dtype = tensor->dtype;
      rank_class = tensor->rank() == 0 ? 1 : 0;
    } else if (ir::get_if<double>(argument) != nullptr || ir::get_if<ir::ValueRef>(argument) != nullptr) {
      dtype = ir::Dtype::FLOAT32;
    } else if (ir::get_if<ir::Complex>(argument) != nullptr) {
      dtype = ir::Dtype::COMPLEX64;
    } else if (ir::get_if<bool>(argument) != nullptr) {
      dtype = ir::Dtype::BOOL;
    }
    std::optional<ir::Dtype>& slot = by_class[rank_class];
    slot = slot ? promote_dtypes(*slot, dtype) : dtype;
    if (!slot) return std::nullopt;
  }
  return combine(by_class[0], combine(by_class[1], by_class[2]));
}

}  // namespace etb::infer
