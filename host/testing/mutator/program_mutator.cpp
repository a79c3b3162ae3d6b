// SPDX-License-Identifier: Apache-2.0
#include "host/testing/mutator/program_mutator.hpp"

#include <algorithm>
#include <variant>

#include "host/kernels/portable.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

using format::MethodSpec;
using format::ProgramSpec;
using format::TensorSpec;

namespace {

constexpr uint8_t kDelegateCall = 2, kMove = 3, kJumpFalse = 4, kFree = 5;
constexpr size_t kMaxInstructions = 24;

// Core ops on tensors, and some on numbers.
constexpr std::pair<const char*, const char*> kCoreOps[] = {{"executorch_prim::et_view", "default"},
                                                            {"executorch_prim::et_view", "default"},
                                                            {"executorch_prim::et_copy_index", "tensor"},
                                                            {"aten::sym_size", "int"},
                                                            {"aten::_local_scalar_dense", ""},
                                                            {"executorch_prim::add", "Scalar"},
                                                            {"executorch_prim::floordiv", "Scalar"}};

std::vector<int32_t> indices_of_tensors(const MethodSpec& method) {
  std::vector<int32_t> indices;
  for (size_t i = 0; i < method.values.size(); ++i) {
    if (std::holds_alternative<TensorSpec>(method.values[i])) indices.push_back(static_cast<int32_t>(i));
  }
  return indices;
}

}  // namespace

ProgramMutator::ProgramMutator(uint32_t seed) : generator_(seed) {
  if (add_portable_kernels(registry_) != ETB_OK) return;
  registry_.for_each([&](const Kernel& kernel) { kernels_.push_back(&kernel); });
  // Weights the core ops to a tenth of the portable kernels.
  for (size_t i = 0; i < kernels_.size() / 70; ++i) {
    for (const auto& [name, overload] : kCoreOps) kernels_.push_back(find_prim_op(name, overload));
  }
}

void ProgramMutator::mutate(ProgramSpec& program) {
  using Edit = void (ProgramMutator::*)(ProgramSpec&, MethodSpec&);
  constexpr Edit kEdits[] = {
      &ProgramMutator::append_call,    &ProgramMutator::append_call,     &ProgramMutator::append_call,
      &ProgramMutator::share_place,    &ProgramMutator::share_place,     &ProgramMutator::move_place,
      &ProgramMutator::change_size,    &ProgramMutator::change_rank,     &ProgramMutator::change_tensor,
      &ProgramMutator::change_storage, &ProgramMutator::change_number,   &ProgramMutator::change_number,
      &ProgramMutator::change_list,    &ProgramMutator::change_argument, &ProgramMutator::change_order,
      &ProgramMutator::insert_control, &ProgramMutator::insert_delegate, &ProgramMutator::change_signature,
      &ProgramMutator::change_bytes};
  if (program.methods.empty()) program.methods.emplace_back();
  (this->*generator_.pick(kEdits))(program, generator_.pick(program.methods));
}

TensorSpec* ProgramMutator::pick_tensor(MethodSpec& method) {
  std::vector<int32_t> tensors = indices_of_tensors(method);
  return tensors.empty()
             ? nullptr
             : &std::get<TensorSpec>(method.values[static_cast<size_t>(generator_.pick(tensors))]);
}

void ProgramMutator::append_call(ProgramSpec& program, MethodSpec& method) {
  if (method.instructions.size() > kMaxInstructions) method.instructions.erase(method.instructions.begin());
  generator_.append_call(program, method, *generator_.pick(kernels_));
}

// Moves a tensor to the memory of another, or to a few bytes after its start.
void ProgramMutator::share_place(ProgramSpec&, MethodSpec& method) {
  TensorSpec* const to = pick_tensor(method);
  const TensorSpec* const from = pick_tensor(method);
  if (to == nullptr || from->memory_id == 0) return;
  to->memory_id = from->memory_id;
  to->memory_offset = from->memory_offset + (generator_.one_in(2) ? 0 : 8 * generator_.below(4));
}

void ProgramMutator::move_place(ProgramSpec&, MethodSpec& method) {
  TensorSpec* const tensor = pick_tensor(method);
  if (tensor == nullptr) return;
  switch (generator_.below(3)) {
    case 0:
      tensor->memory_offset = generator_.below(64) * (generator_.one_in(2) ? 16 : 8);
      break;
    case 1:
      tensor->memory_id = generator_.below(method.arena_sizes.size() + 1);
      break;
    default:
      generator_.pick(method.arena_sizes) = generator_.below(4096);
  }
}

void ProgramMutator::change_size(ProgramSpec&, MethodSpec& method) {
  constexpr int32_t kSizes[] = {0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 63, 64, 65, 1000, 65536, 2147483647};
  TensorSpec* const tensor = pick_tensor(method);
  if (tensor == nullptr || tensor->sizes.empty()) return;
  const int32_t from = generator_.pick(tensor->sizes), to = generator_.pick(kSizes);
  if (generator_.one_in(2)) {
    generator_.pick(tensor->sizes) = to;
    return;
  }
  // Changes one number everywhere, so that sizes which matched still do.
  for (int32_t index : indices_of_tensors(method)) {
    auto& sizes = std::get<TensorSpec>(method.values[static_cast<size_t>(index)]).sizes;
    std::replace(sizes.begin(), sizes.end(), from, to);
  }
}

void ProgramMutator::change_rank(ProgramSpec&, MethodSpec& method) {
  TensorSpec* const tensor = pick_tensor(method);
  if (tensor == nullptr) return;
  if (generator_.one_in(2) && !tensor->sizes.empty()) {
    tensor->sizes.erase(tensor->sizes.begin() + generator_.below(tensor->sizes.size()));
  } else if (tensor->sizes.size() < 16) {
    tensor->sizes.insert(tensor->sizes.begin() + generator_.below(tensor->sizes.size() + 1),
                         generator_.one_in(2) ? 1 : 2);
  }
  tensor->dim_order.clear();
}

void ProgramMutator::change_tensor(ProgramSpec&, MethodSpec& method) {
  TensorSpec* const tensor = pick_tensor(method);
  if (tensor == nullptr) return;
  switch (generator_.below(3)) {
    case 0:
      tensor->dtype = generator_.any_dtype();
      break;
    case 1:
      tensor->dynamism = static_cast<int8_t>(generator_.below(2));
      break;
    default:
      if (tensor->dim_order.size() > 1)
        std::swap(tensor->dim_order.front(), generator_.pick(tensor->dim_order));
  }
}

void ProgramMutator::change_storage(ProgramSpec& program, MethodSpec& method) {
  TensorSpec* const tensor = pick_tensor(method);
  if (tensor == nullptr) return;
  switch (generator_.below(3)) {
    case 0:
      tensor->memory_id = 0;  // memory of the caller
      tensor->data_index = 0;
      break;
    case 1:
      tensor->memory_id = 0;  // a constant
      tensor->data_index = generator_.below(program.constant_offsets.size());
      break;
    default:
      tensor->memory_id = 1;
      tensor->data_index = generator_.below(program.mutable_offsets.size());
  }
}

void ProgramMutator::change_number(ProgramSpec&, MethodSpec& method) {
  if (method.values.empty()) return;
  auto& value = generator_.pick(method.values);
  if (auto* number = std::get_if<int64_t>(&value)) *number = generator_.any_int();
  if (auto* truth = std::get_if<bool>(&value)) *truth = !*truth;
  if (auto* real = std::get_if<double>(&value))
    *real = generator_.one_in(3) ? -*real : 0.25 * generator_.below(9);
}

void ProgramMutator::change_list(ProgramSpec&, MethodSpec& method) {
  if (method.values.empty()) return;
  const std::vector<int32_t> tensors = indices_of_tensors(method);
  auto& value = generator_.pick(method.values);
  if (auto* list = std::get_if<format::IntListSpec>(&value); list != nullptr && !list->items.empty()) {
    if (generator_.one_in(2))
      list->items.push_back(generator_.pick(list->items));
    else
      list->items.erase(list->items.begin() + generator_.below(list->items.size()));
  }
  if (tensors.empty()) return;
  if (auto* list = std::get_if<format::TensorListSpec>(&value)) {
    if (generator_.one_in(2) || list->items.empty())
      list->items.push_back(generator_.pick(tensors));
    else
      generator_.pick(list->items) = generator_.pick(tensors);
  }
  if (auto* list = std::get_if<format::OptionalTensorListSpec>(&value)) {
    if (generator_.one_in(2) || list->items.empty())
      list->items.push_back(generator_.pick(tensors));
    else
      generator_.pick(list->items) = generator_.one_in(3) ? -1 : generator_.pick(tensors);
  }
}

// Replaces an argument, most often by another value of the same kind.
void ProgramMutator::change_argument(ProgramSpec&, MethodSpec& method) {
  if (method.instructions.empty() || method.values.empty()) return;
  auto& args = generator_.pick(method.instructions).args;
  if (args.empty()) return;
  int32_t& arg = generator_.pick(args);
  for (int i = 0; i < 8; ++i) {
    const int32_t other = pick_value(method);
    const bool is_same_kind =
        method.values[static_cast<size_t>(other)].index() == method.values[static_cast<size_t>(arg)].index();
    if (is_same_kind || i == 7) {
      arg = other;
      return;
    }
  }
}

void ProgramMutator::change_order(ProgramSpec&, MethodSpec& method) {
  auto& all = method.instructions;
  if (all.empty()) return;
  switch (generator_.below(3)) {
    case 0:
      std::swap(generator_.pick(all), generator_.pick(all));
      break;
    case 1:
      all.erase(all.begin() + generator_.below(all.size()));
      break;
    default:
      if (all.size() < kMaxInstructions) all.push_back(generator_.pick(all));
  }
}

void ProgramMutator::insert_control(ProgramSpec&, MethodSpec& method) {
  if (method.values.empty() || method.instructions.size() > kMaxInstructions) return;
  format::InstructionSpec instruction;
  std::vector<int32_t> tensors = indices_of_tensors(method);
  const bool has_tensors = !tensors.empty();
  switch (generator_.below(3)) {
    case 0:
      instruction.kind = kMove;
      instruction.a = has_tensors && !generator_.one_in(4) ? generator_.pick(tensors) : pick_value(method);
      instruction.b = has_tensors && !generator_.one_in(4) ? generator_.pick(tensors) : pick_value(method);
      break;
    case 1:
      if (!has_tensors) return;
      instruction.kind = kFree;
      instruction.a = generator_.pick(tensors);
      break;
    default:
      instruction.kind = kJumpFalse;
      instruction.a = pick_value(method);
      instruction.b = static_cast<int32_t>(generator_.below(method.instructions.size() + 1));
      if (!std::holds_alternative<bool>(method.values[static_cast<size_t>(instruction.a)])) {
        method.values.emplace_back(generator_.one_in(2));
        instruction.a = static_cast<int32_t>(method.values.size()) - 1;
      }
  }
  method.instructions.insert(method.instructions.begin() + generator_.below(method.instructions.size() + 1),
                             std::move(instruction));
}

void ProgramMutator::insert_delegate(ProgramSpec& program, MethodSpec& method) {
  std::vector<int32_t> tensors = indices_of_tensors(method);
  if (tensors.empty() || method.instructions.size() > kMaxInstructions) return;
  if (method.delegates.empty()) {
    if (program.inline_payloads.empty()) program.inline_payloads.emplace_back("payload");
    method.delegates.push_back({"Any", 0, 0, {}});
  }
  format::InstructionSpec call;
  call.kind = kDelegateCall;
  call.a = static_cast<int32_t>(generator_.below(method.delegates.size()));
  for (uint32_t i = 1 + generator_.below(3); i > 0; --i) call.args.push_back(generator_.pick(tensors));
  method.instructions.push_back(std::move(call));
}

void ProgramMutator::change_signature(ProgramSpec&, MethodSpec& method) {
  if (method.values.empty()) return;
  std::vector<int32_t>& list = generator_.one_in(3) ? method.outputs : method.inputs;
  if (generator_.one_in(2) || list.empty()) {
    if (list.size() < 8) list.push_back(pick_value(method));
  } else {
    list.erase(list.begin() + generator_.below(list.size()));
  }
}

void ProgramMutator::change_bytes(ProgramSpec& program, MethodSpec&) {
  if (program.segments.empty()) return;
  std::string& segment = generator_.pick(program.segments);
  if (segment.empty()) return;
  constexpr uint8_t kBytes[] = {0, 1, 1, 2, 4, 8, 0x7F, 0x80, 0xFF};
  for (uint32_t i = 1 + generator_.below(8); i > 0; --i)
    generator_.pick(segment) = static_cast<char>(generator_.pick(kBytes));
}

}  // namespace etb::host
