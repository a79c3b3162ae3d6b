// SPDX-License-Identifier: Apache-2.0
// KernelArguments: reads a kernel's arguments for the views "ops/<op>.hpp" (api/ops/argument_reader.hpp), and rows of kernel
// tables made from a view.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "api/ops/argument_reader.hpp"
#include "host/runtime/kernel_registry.hpp"

namespace etb::host {

// One pointer, passed in a register. check_arguments has compared tags with the view's letters before a kernel runs. Ints come
// from the program unchecked, as do dtypes, dims and indices.
class KernelArguments {
 public:
  constexpr explicit KernelArguments(EValue** values) noexcept : values_(values) {}

  // The argument at View::Index::name, for kernels that take several types in one place.
  const EValue& value_at(uint32_t index) const noexcept { return *values_[index]; }

  const Tensor& read_tensor(uint32_t index) const noexcept { return values_[index]->tensor(); }
  Tensor& read_written_tensor(uint32_t index) const noexcept { return values_[index]->tensor(); }
  // Null when it is none.
  Tensor* find_written_tensor(uint32_t index) const noexcept {
    return has(index) ? &values_[index]->tensor() : nullptr;
  }
  const Tensor* read_optional_tensor(uint32_t index) const noexcept { return find_written_tensor(index); }
  std::span<EValue* const> read_tensor_list(uint32_t index) const noexcept {
    return values_[index]->values();
  }
  std::span<EValue* const> read_list_of_optional_tensors(uint32_t index) const noexcept {
    return values_[index]->values();
  }
  std::span<EValue* const> read_written_tensor_list(uint32_t index) const noexcept {
    return values_[index]->values();
  }
  // A number: int, double or bool.
  const EValue& read_scalar(uint32_t index) const noexcept { return *values_[index]; }
  const EValue* read_optional_scalar(uint32_t index) const noexcept {
    return has(index) ? values_[index] : nullptr;
  }
  int64_t read_int(uint32_t index) const noexcept { return values_[index]->to_int(); }
  std::optional<int64_t> read_optional_int(uint32_t index) const noexcept {
    return has(index) ? std::optional(values_[index]->to_int()) : std::nullopt;
  }
  double read_float(uint32_t index) const noexcept { return values_[index]->to_double(); }
  std::optional<double> read_optional_float(uint32_t index) const noexcept {
    return has(index) ? std::optional(values_[index]->to_double()) : std::nullopt;
  }
  bool read_bool(uint32_t index) const noexcept { return values_[index]->to_bool(); }
  std::optional<bool> read_optional_bool(uint32_t index) const noexcept {
    return has(index) ? std::optional(values_[index]->to_bool()) : std::nullopt;
  }
  std::string_view read_string(uint32_t index) const noexcept { return values_[index]->string(); }
  std::optional<std::string_view> read_optional_string(uint32_t index) const noexcept {
    return has(index) ? std::optional(values_[index]->string()) : std::nullopt;
  }
  IntList read_int_list(uint32_t index, uint32_t) const noexcept { return values_[index]->ints(); }
  std::optional<IntList> read_optional_int_list(uint32_t index, uint32_t) const noexcept {
    return has(index) ? std::optional(values_[index]->ints()) : std::nullopt;
  }
  std::optional<std::span<const double>> read_optional_float_list(uint32_t index) const noexcept {
    return has(index) ? std::optional(values_[index]->doubles()) : std::nullopt;
  }
  std::span<const uint8_t> read_bool_list(uint32_t index) const noexcept { return values_[index]->bools(); }
  // Codes of ExecuTorch.
  int64_t read_dtype(uint32_t index) const noexcept { return read_int(index); }
  std::optional<int64_t> read_optional_dtype(uint32_t index) const noexcept {
    return read_optional_int(index);
  }
  std::optional<int64_t> read_optional_memory_format(uint32_t index) const noexcept {
    return read_optional_int(index);
  }

 private:
  bool has(uint32_t index) const noexcept { return !values_[index]->is_none(); }

  EValue** values_;
};
static_assert(ops::ArgumentReader<KernelArguments> && sizeof(KernelArguments) == sizeof(void*));

// Type of a kernel function's second parameter.
template <class Arguments>
Arguments arguments_of(etb_status (*)(KernelContext&, Arguments));

// A kernel function in the form that a row of a kernel table stores.
template <auto kFunction>
etb_status run_kernel(KernelContext& context, EValue** values) {
  return kFunction(context, decltype(arguments_of(kFunction))(values));
}

// True if a kernel function for `Arguments` may carry out `Op`: both views have the same argument names and types. A class whose
// kLetters is null reads every type.
template <class Op, class Arguments>
constexpr bool takes_arguments_of() {
  const bool has_names = std::string_view(Op::kArgumentNames) == Arguments::kArgumentNames;
  if constexpr (Arguments::kLetters == nullptr) {
    return has_names;
  } else {
    return has_names && std::string_view(Op::kLetters) == Arguments::kLetters;
  }
}

enum class Overlap : uint8_t {
  kNone,  // no tensor shares memory with a written one
  kExact,  // a tensor that is read may be exactly a written one: each element is read before the one at its place is
           // written, and never again
};

// The row for an op: kernel_row<ops::mm_out, mm_out>(), where mm_out takes ops::mm_out<KernelArguments>.
template <template <class> class View, auto kFunction>
constexpr Kernel kernel_row(Overlap overlap = Overlap::kNone) {
  using Op = View<KernelArguments>;
  static_assert(takes_arguments_of<Op, decltype(arguments_of(kFunction))>());
  Kernel row(Op::kProgramName, Op::kLetters, run_kernel<kFunction>);
  if (overlap == Overlap::kExact) row.operands.allow_equal();
  return row;
}

}  // namespace etb::host
