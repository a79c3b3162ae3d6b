// SPDX-License-Identifier: Apache-2.0
#include "host/layers/replay/from_trace.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "api/format/tensor_span.hpp"

namespace etb::host::replay {
namespace {

constexpr uint64_t kMaxTensorNbytes = uint64_t{8} << 30;
constexpr uint64_t kMaxPadding = uint64_t{1} << 20, kMaxAlignment = 4096;
constexpr int kUnwritten = 0xa5;  // fills outputs before a run

etb_option to_option(const format::TraceOption& from) {
  etb_option option{};
  option.struct_size = sizeof(option);
  option.key = from.key.c_str();
  option.type = from.type;
  option.i64 = from.i64;
  option.f64 = from.f64;
  if (from.type == ETB_OPTION_TEXT) option.text = from.text.c_str();
  option.bytes = {from.bytes.data(), from.bytes.size()};
  return option;
}

MemoryNeed need_of(std::span<const MemoryNeed> needs, size_t index) {
  MemoryNeed need = index < needs.size() ? needs[index] : MemoryNeed{};
  need.alignment = std::clamp<uint64_t>(need.alignment, 64, kMaxAlignment);
  if ((need.alignment & (need.alignment - 1)) != 0) need.alignment = kMaxAlignment;
  need.padding_bytes = std::clamp<uint64_t>(need.padding_bytes, 64, kMaxPadding);
  return need;
}

Result<uint64_t> span_of(const format::TraceTensor& tensor, std::span<const int64_t> sizes) {
  const auto nbytes = format::tensor_span_nbytes(tensor.dtype, sizes, tensor.strides);
  if (nbytes && *nbytes <= kMaxTensorNbytes) return *nbytes;
  return make_error(Code::INVALID_DATA, "dtype " + std::to_string(tensor.dtype) +
                                            ", sizes and strides of no tensor, or of more than " +
                                            std::to_string(kMaxTensorNbytes) + " bytes");
}

Error in_tensor(Error error, const char* what, size_t index) {
  return with_context(std::move(error), std::string(what) + " " + std::to_string(index));
}

}  // namespace

OptionList::OptionList(const std::vector<format::TraceOption>& options) {
  for (const format::TraceOption& from : options) {
    etb_option option = to_option(from);
    if (from.type == ETB_OPTION_LIST) {
      std::vector<etb_option>& items = items_.emplace_back();
      for (const format::TraceOption& item : from.items) items.push_back(to_option(item));
      option.items = items.data();
      option.item_count = static_cast<uint32_t>(items.size());
    }
    options_.push_back(option);
  }
}

SpecList::SpecList(const std::vector<format::TraceSpec>& specs) {
  for (const format::TraceSpec& spec : specs)
    specs_.push_back({sizeof(etb_compile_spec), 0, spec.key.c_str(), {spec.value.data(), spec.value.size()}});
}

Target::Target(const std::vector<format::TraceTarget>& target) {
  if (target.empty()) return;
  const format::TraceTarget& from = target.front();
  options_ = std::make_unique<OptionList>(from.attributes);
  target_.struct_size = sizeof(target_);
  target_.kind = from.kind.c_str();
  target_.name = from.name.c_str();
  std::copy(from.fingerprint.begin(), from.fingerprint.end(), target_.fingerprint);
  target_.attributes = options_->span().data();
  target_.attribute_count = options_->span().size();
}

AlignedBytes::AlignedBytes(size_t nbytes, size_t padding, size_t alignment)
    : data_(static_cast<std::byte*>(::operator new (nbytes + padding, std::align_val_t{alignment})),
            Free{std::align_val_t{alignment}}) {
  std::memset(data_.get(), kUnwritten, nbytes);
  std::memset(data_.get() + nbytes, 0, padding);
}

// Adds everything but the memory.
Status TensorList::add(const format::TraceTensor& from) {
  if (!from.buffer_kind.empty())
    return make_error(Code::NOT_SUPPORTED,
                      "memory of kind '" + from.buffer_kind + "', whose bytes are not recorded");
  if (!from.dim_order.empty() && !format::is_permutation(from.dim_order))
    return make_error(Code::INVALID_DATA, "its dim order names a dimension twice");
  sizes_.push_back(from.sizes);
  sizes_.back().resize(ETB_MAX_RANK);
  etb_tensor& to = tensors_.emplace_back();
  to = {};
  to.struct_size = sizeof(to);
  to.dtype = from.dtype;
  to.rank = from.rank;
  to.role = from.role;
  to.sizes = sizes_.back().data();
  if (!from.strides.empty()) to.strides = from.strides.data();
  if (!from.dim_order.empty()) to.dim_order = from.dim_order.data();
  if (!from.upper_sizes.empty()) to.upper_sizes = from.upper_sizes.data();
  return {};
}

Result<TensorList> TensorList::make_inputs(const std::vector<format::TraceTensor>& tensors,
                                           const format::CallTrace& trace, std::span<const MemoryNeed> needs,
                                           bool with_data) {
  TensorList out;
  const auto add_one = [&](size_t i) -> Status {
    const format::TraceTensor& from = tensors[i];
    ETB_TRY(out.add(from));
    ETB_ASSIGN(const uint64_t nbytes, span_of(from, from.sizes));
    if (!with_data) return {};
    const std::span<const std::byte> bytes = trace.blob(from.data);
    if (from.data == 0 && nbytes != 0) return make_error(Code::NOT_SUPPORTED, "its bytes were not recorded");
    if (bytes.size() != nbytes)
      return make_error(
          Code::INVALID_DATA,
          std::to_string(bytes.size()) + " bytes recorded, sizes and strides need " + std::to_string(nbytes));
    const MemoryNeed need = need_of(needs, i);
    const AlignedBytes& memory = out.memory_.emplace_back(bytes.size(), need.padding_bytes, need.alignment);
    std::copy(bytes.begin(), bytes.end(), memory.data());
    out.tensors_.back().data = memory.data();
    out.tensors_.back().capacity_bytes = bytes.size() + need.padding_bytes;
    return {};
  };
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Status status = add_one(i); !status)
      return tl::make_unexpected(in_tensor(std::move(status).error(), "input", i));
  return out;
}

Result<TensorList> TensorList::make_outputs(const std::vector<format::TraceTensor>& tensors,
                                            const TensorList& inputs, std::span<const MemoryNeed> needs) {
  TensorList out;
  const auto add_one = [&](size_t i) -> Status {
    const format::TraceTensor& from = tensors[i];
    ETB_TRY(out.add(from));
    ETB_ASSIGN(uint64_t nbytes, span_of(from, from.sizes));
    if (!from.upper_sizes.empty()) {
      ETB_ASSIGN(const uint64_t most, span_of(from, from.upper_sizes));
      nbytes = std::max(nbytes, most);
    }
    etb_tensor& to = out.tensors_.back();
    if (from.shared_input != 0 && from.shared_input <= inputs.tensors_.size()) {
      const etb_tensor& shared = inputs.tensors_[from.shared_input - 1];
      if (shared.capacity_bytes >= nbytes) {
        to.data = shared.data;
        to.capacity_bytes = shared.capacity_bytes;
        return {};
      }
    }
    const MemoryNeed need = need_of(needs, i);
    to.data = out.memory_.emplace_back(nbytes, need.padding_bytes, need.alignment).data();
    to.capacity_bytes = nbytes + need.padding_bytes;
    return {};
  };
  for (size_t i = 0; i < tensors.size(); ++i)
    if (Status status = add_one(i); !status)
      return tl::make_unexpected(in_tensor(std::move(status).error(), "output", i));
  return out;
}

}  // namespace etb::host::replay
