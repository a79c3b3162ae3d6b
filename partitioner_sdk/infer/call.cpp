#include <algorithm>

#include "api/ops/sizes/axis.hpp"
#include "api/ops/sizes/broadcast.hpp"
#include "partitioner_sdk/infer/formulas.hpp"
#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

using ir::Dim;
using ir::Dims;
using ir::TensorSpec;

const TensorSpec* Call::find_tensor(size_t index) const {
  const auto* ref = index < args_.size() ? ir::get_if<ir::ValueRef>(args_[index]) : nullptr;
  if (ref == nullptr || graph_.values[ref->id].kind != ir::ValueKind::kTensor) return nullptr;
  return &graph_.values[ref->id].spec;
}

const TensorSpec& Call::tensor(size_t index) const {
  static const TensorSpec kNoTensor;
  const TensorSpec* found = find_tensor(index);
  if (found == nullptr) fail("argument " + std::to_string(index) + " is no tensor");
  return found == nullptr ? kNoTensor : *found;
}

std::vector<const TensorSpec*> Call::tensors(size_t index) const {
  std::vector<const TensorSpec*> out;
  const auto* list = index < args_.size() ? ir::get_if<ir::ValueList>(args_[index]) : nullptr;
  if (list == nullptr) {
    fail("argument " + std::to_string(index) + " is no list of tensors");
    return out;
  }
  for (const ir::ValueId id : list->ids)
    out.push_back(id == ir::kNoValue ? nullptr : &graph_.values[id].spec);
  return out;
}

Dim Call::dim(size_t index) const {
  const Dim* value = index < args_.size() ? ir::get_if<Dim>(args_[index]) : nullptr;
  if (value == nullptr) fail("argument " + std::to_string(index) + " is no int");
  return value == nullptr ? Dim(0) : *value;
}

int64_t Call::integer(size_t index) const {
  const Dim value = dim(index);
  if (!value.is_static()) fail("argument " + std::to_string(index) + " is known only at run time");
  return value.is_static() ? value.value() : 0;
}

Dims Call::dims(size_t index) const {
  if (!has(index)) return {};
  if (const Dims* list = ir::get_if<Dims>(args_[index])) return *list;
  return {dim(index)};
}

bool Call::flag(size_t index) const {
  const bool* value = index < args_.size() ? ir::get_if<bool>(args_[index]) : nullptr;
  return value != nullptr && *value;
}

std::optional<ir::Dtype> Call::dtype(size_t index) const {
  const auto* value = index < args_.size() ? ir::get_if<ir::Dtype>(args_[index]) : nullptr;
  if (value == nullptr) return std::nullopt;
  return *value;
}

std::optional<ir::MemoryFormat> Call::memory_format(size_t index) const {
  const auto* value = index < args_.size() ? ir::get_if<ir::MemoryFormat>(args_[index]) : nullptr;
  if (value == nullptr) return std::nullopt;
  return *value;
}

size_t Call::axis(int64_t wanted, size_t rank) const {
  const std::optional<size_t> axis = ops::wrap_axis(wanted, rank);
  if (!axis) fail("dimension " + std::to_string(wanted) + " of a tensor of rank " + std::to_string(rank));
  return axis.value_or(0);
}

std::vector<bool> Call::axes(size_t index, size_t rank) const {
  const Dims list = dims(index);
  std::vector<bool> out(std::max<size_t>(rank, 1), list.empty());
  for (const Dim wanted : list) {
    if (!wanted.is_static()) fail("symbolic dimension");
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
                " do not broadcast");
    }
    out[out.size() - 1 - i] = size.value_or(x);
  }
  return out;
}

namespace {

// torch/csrc result_type: tensors of one dimension or more count most, then 0-d tensors, then numbers.
std::optional<ir::Dtype> combine(std::optional<ir::Dtype> higher, std::optional<ir::Dtype> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (ops::is_floating(*higher)) return higher;
  if (ops::is_bool(*higher) || ops::is_floating(*lower)) return ops::promote(*higher, *lower);
  return higher;
}

}  // namespace

std::optional<ir::Dtype> promote_arguments(const Call& call, std::span<const size_t> indices) {
  std::optional<ir::Dtype> by_class[3];  // tensors, 0-d tensors, numbers
  for (const size_t index : indices) {
    if (index >= call.argument_count() || !call.has(index)) continue;
    ir::Dtype dtype = ir::Dtype::INT64;
    size_t rank_class = 2;
    if (const TensorSpec* tensor = call.find_tensor(index)) {
      dtype = tensor->dtype;
      rank_class = tensor->rank() == 0 ? 1 : 0;
    } else if (ir::get_if<double>(call.argument(index)) != nullptr ||
               ir::get_if<ir::ValueRef>(call.argument(index)) != nullptr) {
      dtype = ir::Dtype::FLOAT32;
    } else if (ir::get_if<bool>(call.argument(index)) != nullptr) {
      dtype = ir::Dtype::BOOL;
    }
    std::optional<ir::Dtype>& slot = by_class[rank_class];
    slot = slot ? ops::promote(*slot, dtype) : dtype;
    if (!slot) return std::nullopt;
  }
  return combine(by_class[0], combine(by_class[1], by_class[2]));
}

}  // namespace etb::infer
