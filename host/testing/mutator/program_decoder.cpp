// SPDX-License-Identifier: Apache-2.0
#include "host/testing/mutator/program_decoder.hpp"

#include <algorithm>

#include "api/format/program_view.hpp"

namespace etb::host {

namespace {

using format::MethodView;
using format::ProgramSpec;
using format::ProgramView;
using format::Storage;
using format::TensorRecord;
using format::TensorSpec;
using format::ValueKind;
using format::ValueSpec;
using format::ValueView;

TensorSpec decode_tensor(const TensorRecord& record) {
  TensorSpec spec;
  spec.dtype = static_cast<int8_t>(record.dtype);
  spec.sizes.assign(record.sizes.begin(), record.sizes.end());
  spec.dim_order.assign(record.dim_order.begin(), record.dim_order.end());
  spec.data_index = record.data_index;
  spec.memory_id = record.memory_id;
  spec.memory_offset = record.memory_offset;
  spec.dynamism = static_cast<int8_t>(record.dynamism);
  spec.name = record.name;
  spec.is_external = record.storage == Storage::kExternal || record.storage == Storage::kPlannedExternal;
  return spec;
}

template <class Spec, class Items>
ValueSpec decode_list(const Items& items) {
  Spec spec;
  spec.items.assign(items.begin(), items.end());
  return spec;
}

ValueSpec decode_value(const ValueView& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      break;
    case ValueKind::kInt:
      return value.as_int();
    case ValueKind::kBool:
      return value.as_bool();
    case ValueKind::kDouble:
      return value.as_double();
    case ValueKind::kString:
      return std::string(value.as_string());
    case ValueKind::kTensor:
      return decode_tensor(value.as_tensor());
    case ValueKind::kIntList:
      return decode_list<format::IntListSpec>(value.int_list());
    case ValueKind::kDoubleList:
      return decode_list<format::DoubleListSpec>(value.double_list());
    case ValueKind::kBoolList:
      return decode_list<format::BoolListSpec>(value.bool_list());
    case ValueKind::kTensorList:
      return decode_list<format::TensorListSpec>(value.tensor_list());
    case ValueKind::kOptionalTensorList:
      return decode_list<format::OptionalTensorListSpec>(value.tensor_list());
  }
  return std::monostate();
}

format::MethodSpec decode_method(const MethodView& view) {
  format::MethodSpec method;
  method.name = view.name();
  for (uint32_t i = 0; i < view.value_count(); ++i) method.values.push_back(decode_value(view.value(i)));
  method.inputs.assign(view.inputs().begin(), view.inputs().end());
  method.outputs.assign(view.outputs().begin(), view.outputs().end());
  const auto chain = view.chain(0);
  for (uint32_t i = 0; i < chain.instruction_count(); ++i) {
    const auto from = chain.instruction(i);
    method.instructions.push_back({static_cast<uint8_t>(from.kind),
                                   static_cast<int32_t>(from.a),
                                   static_cast<int32_t>(from.b),
                                   {from.args.begin(), from.args.end()}});
  }
  for (uint32_t i = 0; i < view.operator_count(); ++i) {
    method.operators.push_back({std::string(view.op(i).name), std::string(view.op(i).overload)});
  }
  for (uint32_t i = 0; i < view.delegate_count(); ++i) {
    const auto from = view.delegate(i);
    format::DelegateSpec delegate{
        std::string(from.id()), static_cast<int8_t>(from.is_inline() ? 0 : 1), from.payload_index(), {}};
    for (uint32_t k = 0; k < from.compile_spec_count(); ++k) {
      const auto bytes = from.compile_spec(k).value;
      delegate.compile_specs.emplace_back(
          from.compile_spec(k).key, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    method.delegates.push_back(std::move(delegate));
  }
  method.arena_sizes.assign(view.arena_sizes().begin(), view.arena_sizes().end());
  if (method.arena_sizes.empty()) method.arena_sizes = {0};
  return method;
}

class Decoder {
 public:
  Decoder(const ProgramView& view, std::span<const std::byte> file) : view_(view), file_(file) {}

  ProgramSpec run() {
    spec_.version = view_.version();
    for (uint32_t i = 0; i < view_.method_count(); ++i)
      spec_.methods.push_back(decode_method(view_.method(i)));
    for (uint32_t i = 0; i < view_.segment_count(); ++i) spec_.segments.push_back(bytes_of(view_.segment(i)));
    for (uint32_t i = 0; i < view_.named_data_count(); ++i)
      spec_.named_data.emplace_back(view_.named_data_key(i), view_.named_data_segment(i));
    decode_constants();
    decode_initial_values();
    decode_payloads();
    return std::move(spec_);
  }

 private:
  std::string bytes_of(format::SegmentRange range) const {
    const auto bytes =
        file_.subspan(std::min<size_t>(view_.extent().segment_base + range.offset, file_.size()));
    return {reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(range.nbytes, bytes.size())};
  }

  uint32_t segment_at(uint64_t offset) const {
    for (uint32_t i = 0; i < view_.segment_count(); ++i) {
      const auto range = view_.segment(i);
      if (offset >= range.offset && offset <= range.offset + range.nbytes) return i;
    }
    return 0;
  }

  void decode_constants() {
    spec_.constant_offsets.clear();
    for (uint32_t i = 0; i < view_.constant_count(); ++i) {
      if (view_.has_inline_constants()) {
        const auto bytes = view_.inline_constant(i);
        spec_.inline_constants.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      } else {
        spec_.constant_offsets.push_back(view_.constant_offset(i));
      }
    }
    if (!spec_.constant_offsets.empty()) {
      spec_.constant_segment = segment_at(view_.constant_segment().offset);
    }
  }

  // The view returns one initial value at a time. Their count follows from the highest index that a tensor
  // uses.
  void decode_initial_values() {
    uint32_t count = 0;
    for (uint32_t m = 0; m < view_.method_count(); ++m) {
      for (uint32_t i = 0; i < view_.method(m).value_count(); ++i) {
        const auto value = view_.method(m).value(i);
        if (value.kind() != ValueKind::kTensor) continue;
        const TensorRecord record = value.as_tensor();
        if (record.storage == Storage::kPlannedInitialized) count = std::max(count, record.data_index + 1);
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      const auto range = view_.mutable_data(i);
      spec_.mutable_segment = segment_at(range.offset);
      spec_.mutable_offsets.push_back(range.offset - view_.segment(spec_.mutable_segment).offset);
    }
  }

  void decode_payloads() {
    uint32_t count = 0;
    for (uint32_t m = 0; m < view_.method_count(); ++m) {
      for (uint32_t i = 0; i < view_.method(m).delegate_count(); ++i) {
        const auto delegate = view_.method(m).delegate(i);
        if (delegate.is_inline()) count = std::max(count, delegate.payload_index() + 1);
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      const auto bytes = view_.inline_payload(i);
      spec_.inline_payloads.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  }

  const ProgramView& view_;
  std::span<const std::byte> file_;
  ProgramSpec spec_;
};

}  // namespace

std::optional<format::ProgramSpec> decode_program(std::span<const std::byte> file) {
  ProgramView view;
  if (format::read_program(file, &view, nullptr) != ETB_OK) return std::nullopt;
  return Decoder(view, file).run();
}

}  // namespace etb::host
