// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_selection.hpp"

#include <algorithm>
#include <string_view>

#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

// An input as the payload states it.
struct InputSpec {
  bool is_stated = false;
  etb_dtype dtype = ETB_DTYPE_FLOAT32;
  std::vector<int64_t> sizes;
};

// Types that plugins convert into each other.
int kind_of(etb_dtype dtype) {
  switch (dtype) {
    case ETB_DTYPE_FLOAT16:
    case ETB_DTYPE_FLOAT32:
    case ETB_DTYPE_FLOAT64:
      return -1;
    case ETB_DTYPE_INT32:
    case ETB_DTYPE_INT64:
      return -2;
    default:
      return static_cast<int>(dtype);
  }
}

// Tensors have their largest sizes, as those of the payload are. A payload may have smaller bounds than the program.
bool fits(const EValue& value, const InputSpec& spec) {
  if (value.is_int()) return spec.dtype == ETB_DTYPE_INT64 && spec.sizes.empty();
  if (!value.is_tensor() || !is_abi_dtype(value.tensor().dtype())) return false;
  const Tensor& tensor = value.tensor();
  if (kind_of(static_cast<etb_dtype>(tensor.dtype())) != kind_of(spec.dtype)) return false;
  const bool is_static = tensor.dynamism() == Dynamism::kStatic;
  return std::equal(
      tensor.sizes().begin(), tensor.sizes().end(), spec.sizes.begin(), spec.sizes.end(),
      [&](int64_t size, int64_t bound) { return size == bound || (!is_static && size > bound); });
}

Result<std::vector<InputSpec>> read_specs(const Delegate& delegate, uint32_t input_count) {
  std::vector<InputSpec> specs(input_count);
  ETB_TRY(delegate.query_io([&](const etb_io_req& req) {
    if ((req.role & ETB_ROLE_INPUT) == 0 || req.index >= input_count) return;
    if (!ETB_HAS_FIELD(etb_io_req, &req, spec) || req.spec == nullptr || req.spec->rank > ETB_MAX_RANK)
      return;
    specs[req.index] = {true, req.spec->dtype, {req.spec->sizes, req.spec->sizes + req.spec->rank}};
  }));
  return specs;
}

// For each input, the least index of an argument with which all inputs up to it fit; or, from the back, the largest.
std::vector<uint32_t> first_fit(std::span<EValue* const> arguments, std::span<const InputSpec> specs) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < arguments.size() && found.size() < specs.size(); ++i)
    if (fits(*arguments[i], specs[found.size()])) found.push_back(i);
  return found;
}

std::vector<uint32_t> last_fit(std::span<EValue* const> arguments, std::span<const InputSpec> specs) {
  std::vector<uint32_t> found;
  for (size_t i = arguments.size(); i > 0 && found.size() < specs.size(); --i)
    if (fits(*arguments[i - 1], specs[specs.size() - 1 - found.size()]))
      found.push_back(static_cast<uint32_t>(i - 1));
  std::reverse(found.begin(), found.end());
  return found;
}

}  // namespace

// An input may be each argument from the first to the last fit that has its type and sizes.
Result<std::vector<uint32_t>> select_arguments(const Delegate& delegate, uint32_t input_count,
                                               uint32_t output_count, std::span<EValue* const> arguments,
                                               const std::function<bool(const EValue&)>& is_undefined) {
  const auto rejected = [&](const std::string& why) {
    return make_error(Code::INCOMPATIBLE, "the program passes " + std::to_string(arguments.size()) +
                                              " arguments, the plugin expects " +
                                              std::to_string(input_count) + " inputs and " +
                                              std::to_string(output_count) + " outputs" + why);
  };
  if (arguments.size() < size_t{input_count} + output_count) return rejected("");
  const auto passed = arguments.first(arguments.size() - output_count);
  ETB_ASSIGN(const std::vector<InputSpec> specs, read_specs(delegate, input_count));
  for (const InputSpec& spec : specs)
    if (!spec.is_stated) return rejected("");
  std::vector<uint32_t> selection = first_fit(passed, specs);
  if (selection.size() < specs.size())
    return rejected(": no argument has the type and sizes of input " + std::to_string(selection.size()));
  const std::vector<uint32_t> last = last_fit(passed, specs);
  for (uint32_t i = 0; i < input_count; ++i) {
    std::vector<uint32_t> defined;
    for (uint32_t candidate = selection[i]; candidate <= last[i]; ++candidate)
      if (fits(*passed[candidate], specs[i]) && !is_undefined(*passed[candidate]))
        defined.push_back(candidate);
    if (defined.size() > 1)
      return rejected(": input " + std::to_string(i) + " may be argument " + std::to_string(defined[0]) +
                      " or " + std::to_string(defined[1]) + ", which have the same type and sizes");
    if (!defined.empty()) selection[i] = defined[0];
  }
  for (size_t i = passed.size(); i < arguments.size(); ++i) selection.push_back(static_cast<uint32_t>(i));
  return selection;
}

bool has_undefined_elements(const DelegateRequest& request, const EValue& argument) {
  bool is_made = false;
  for (uint32_t i = 0; i < request.first_call; ++i) {
    const Instruction& instruction = request.instructions[i];
    // Later instructions may come before these in a loop.
    if (instruction.kind == format::InstructionKind::kJumpFalse) return false;
    if (instruction.kind == format::InstructionKind::kMove && instruction.value == &argument) return false;
    const bool is_call = instruction.kind == format::InstructionKind::kKernel ||
                         instruction.kind == format::InstructionKind::kDelegate;
    const EValue* const* const begin = instruction.arguments;
    if (!is_call ||
        std::find(begin, begin + instruction.argument_count, &argument) == begin + instruction.argument_count)
      continue;
    if (instruction.kind != format::InstructionKind::kKernel) return false;
    const std::string_view name(instruction.kernel->name);
    if (!name.starts_with("aten::empty.") && !name.starts_with("aten::empty_permuted.")) return false;
    is_made = true;
  }
  return is_made;
}

// ---- SelectedArguments

SelectedArguments::SelectedArguments(MethodDelegate& delegate, std::vector<uint32_t> selection,
                                     uint32_t call_count)
    : delegate_(delegate),
      selection_(std::move(selection)),
      selected_(selection_.size()),
      call_count_(call_count) {
  const DelegateOperands inner = delegate_.operands();
  const auto output_count = static_cast<uint32_t>(selection_.size()) - inner.input_count;
  input_count_ = call_count - output_count;
  for (const uint32_t shared : inner.shared_inputs)
    shared_inputs_.push_back(shared == 0 ? 0 : selection_[shared - 1] + 1);
}

etb_status SelectedArguments::execute(const DelegateRun& run) noexcept {
  if (run.arguments.size() != call_count_)
    return fail(run.error, ETB_INVALID_PROGRAM, "delegate call with %zu arguments, its first call has %zu",
                run.arguments.size(), call_count_);
  for (size_t i = 0; i < selection_.size(); ++i) selected_[i] = run.arguments[selection_[i]];
  return delegate_.execute({selected_, run.limits, run.events, run.error});
}

etb_status SelectedArguments::reserve(std::span<EValue* const> arguments) noexcept {
  for (size_t i = 0; i < selection_.size(); ++i) selected_[i] = arguments[selection_[i]];
  return delegate_.reserve(selected_);
}

DelegateOperands SelectedArguments::operands() const noexcept { return {input_count_, shared_inputs_}; }

void SelectedArguments::destroy() noexcept {
  delegate_.destroy();
  delete this;
}

}  // namespace etb::host
