// SPDX-License-Identifier: Apache-2.0
// Fuzzes any bytes as a program or data file: rejected, or read through all accessors.
#include <vector>

#include "api/format/data_view.hpp"
#include "api/format/program_view.hpp"

namespace {

using namespace etb::format;

volatile uint64_t sink;

void touch(std::string_view text) { sink = sink + (text.empty() ? 0 : static_cast<uint8_t>(text.back())); }
template <class T>
void touch(std::span<const T> items) {
  if (!items.empty())
    sink = sink + static_cast<uint64_t>(static_cast<unsigned char>(items.size())) + (items.back() == T{});
}

void walk(const ValueView& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      break;
    case ValueKind::kInt:
      sink = sink + static_cast<uint64_t>(value.as_int());
      break;
    case ValueKind::kBool:
      sink = sink + value.as_bool();
      break;
    case ValueKind::kDouble:
      sink = sink + (value.as_double() > 0);
      break;
    case ValueKind::kString:
      touch(value.as_string());
      break;
    case ValueKind::kIntList:
      touch(value.int_list());
      break;
    case ValueKind::kDoubleList:
      touch(value.double_list());
      break;
    case ValueKind::kBoolList:
      touch(value.bool_list());
      break;
    case ValueKind::kTensorList:
    case ValueKind::kOptionalTensorList:
      touch(value.tensor_list());
      break;
    case ValueKind::kTensor: {
      const auto tensor = value.as_tensor();
      touch(tensor.sizes);
      touch(tensor.dim_order);
      touch(tensor.name);
      break;
    }
  }
}

void walk(const MethodView& method) {
  touch(method.name());
  for (uint32_t i = 0; i < method.value_count(); ++i) walk(method.value(i));
  for (uint32_t i = 0; i < method.operator_count(); ++i) touch(method.op(i).overload);
  for (uint32_t i = 0; i < method.delegate_count(); ++i) {
    const auto delegate = method.delegate(i);
    touch(delegate.id());
    for (uint32_t s = 0; s < delegate.compile_spec_count(); ++s) touch(delegate.compile_spec(s).value);
  }
  for (uint32_t c = 0; c < method.chain_count(); ++c) {
    for (uint32_t i = 0; i < method.chain(c).instruction_count(); ++i)
      touch(method.chain(c).instruction(i).args);
  }
  for (uint32_t i = 0; i < method.arena_sizes().size(); ++i) sink = sink + method.is_arena_on_cpu(i);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Copies the exact size to malloc's boundary: readers need 16 bytes, and AddressSanitizer then detects an
  // access one byte too far.
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> file(first, first + size);
  etb_error error = ETB_ERROR_INIT;
  ProgramView program;
  if (read_program(file, &program, &error) == ETB_OK) {
    for (uint32_t i = 0; i < program.method_count(); ++i) walk(program.method(i));
    for (uint32_t i = 0; i < program.named_data_count(); ++i) touch(program.named_data_key(i));
  }
  DataView view;
  if (read_data(file, &view, &error) == ETB_OK) {
    for (uint32_t i = 0; i < view.count(); ++i) touch(view.record(i).key);
  }
  return 0;
}
