// SPDX-License-Identifier: Apache-2.0
// The dtypes of results, by the rules of schemas.txt.
#include <algorithm>
#include <optional>

#include "partitioner_sdk/infer/infer.hpp"

namespace etb::infer {

namespace {

using ir::Dtype;
using ir::TensorSpec;
using ops::ArgumentSet;
using ops::DtypeRule;

// Returns the argument of that name; none if the op has no such argument.
std::optional<AnyArgument> find_argument(const Call& call, std::string_view name) {
  const int position = call.op().schema->find_argument(name);
  if (position < 0) return std::nullopt;
  const AnyArgument argument = call.argument(static_cast<size_t>(position));
  return argument.has_value() ? std::optional(argument) : std::nullopt;
}

// Returns the dtype of the first operand that is a tensor.
Dtype dtype_of_first(const Call& call, ArgumentSet operands) {
  for (size_t i = 0; i < ArgumentSet::kCount; ++i)
    if (operands.has(i)) return call.read_tensor(i).spec().dtype;
  return Dtype::FLOAT32;
}

// Promotes the tensors of a list.
std::optional<Dtype> promote_list(const TensorListArgument& list) {
  std::optional<Dtype> out;
  for (const TensorSpec* item : list.specs()) {
    if (item == nullptr) continue;
    out = out ? promote_dtypes(*out, item->dtype) : item->dtype;
    if (!out) return std::nullopt;
  }
  return out;
}

Dtype promoted_dtype(const Call& call, ArgumentSet operands) {
  std::vector<AnyArgument> arguments;
  std::optional<Dtype> promoted;
  for (size_t i = 0; i < call.arguments().size() && i < ArgumentSet::kCount; ++i) {
    if (!operands.has(i)) continue;
    if (ir::get_if<ir::ValueList>(call.argument(i)) != nullptr)
      promoted = promote_list(call.read_tensor_list(i));
    else
      arguments.push_back(call.argument(i));
  }
  if (!arguments.empty()) promoted = promote_arguments(arguments);
  if (!promoted) call.fail("PyTorch does not promote the dtypes of these operands");
  return promoted.value_or(Dtype::FLOAT32);
}

Dtype float_dtype(const Call& call, ArgumentSet operands) {
  const Dtype promoted = promoted_dtype(call, operands);
  return ops::is_floating(promoted) || ops::is_complex(promoted) ? promoted : Dtype::FLOAT32;
}

// Returns the dtype that torch.full gives numbers: that of the widest kind.
Dtype dtype_of_numbers(const Call& call, ArgumentSet operands) {
  Dtype out = Dtype::BOOL;
  for (size_t i = 0; i < call.arguments().size() && i < ArgumentSet::kCount; ++i) {
    if (!operands.has(i)) continue;
    const ir::Argument& number = call.argument(i);
    if (ir::get_if<bool>(number) != nullptr) continue;
    if (ir::get_if<ir::Complex>(number) != nullptr) return Dtype::COMPLEX64;
    if (ir::get_if<ir::Dim>(number) == nullptr) return Dtype::FLOAT32;
    out = Dtype::INT64;
  }
  return out;
}

Dtype result_dtype(const Call& call, DtypeRule rule, ArgumentSet operands) {
  const auto given_or = [&](auto other) {
    const auto argument = find_argument(call, "dtype");
    const Dtype* given = argument ? ir::get_if<Dtype>(argument->get()) : nullptr;
    return given != nullptr ? *given : other();
  };
  switch (rule) {
    case DtypeRule::kLike:
      return dtype_of_first(call, operands);
    case DtypeRule::kPromoted:
      return promoted_dtype(call, operands);
    case DtypeRule::kFloat:
      return float_dtype(call, operands);
    case DtypeRule::kDivision:
      return find_argument(call, "rounding_mode") ? promoted_dtype(call, operands)
                                                  : float_dtype(call, operands);
    case DtypeRule::kHalfToFloat: {
      const auto argument = find_argument(call, "half_to_float");
      const bool* is_set = argument ? ir::get_if<bool>(argument->get()) : nullptr;
      return is_set != nullptr && *is_set ? Dtype::FLOAT32 : dtype_of_first(call, operands);
    }
    case DtypeRule::kGiven:
      return given_or([&] { return dtype_of_first(call, operands); });
    case DtypeRule::kSum:
      return given_or([&] {
        const Dtype first = dtype_of_first(call, operands);
        return ops::is_floating(first) || ops::is_complex(first) ? first : Dtype::INT64;
      });
    case DtypeRule::kValue:
      return given_or([&] { return dtype_of_numbers(call, operands); });
    case DtypeRule::kCreated:
      return given_or([] { return Dtype::FLOAT32; });
    case DtypeRule::kReal:
      return ops::real_part(dtype_of_first(call, operands));
    case DtypeRule::kComplex:
      return ops::complex_of(dtype_of_first(call, operands));
    case DtypeRule::kBool:
      return Dtype::BOOL;
    case DtypeRule::kInt32:
      return Dtype::INT32;
    case DtypeRule::kInt64:
      return Dtype::INT64;
  }
  return Dtype::FLOAT32;
}

}  // namespace

void set_dtypes(const Call& call, const ops::ResultRule& rule, Specs& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    const ops::DtypeSource& source = rule.dtypes[std::min(i, ops::ResultRule::kDtypeCount - 1)];
    results[i].dtype = result_dtype(call, source.rule, source.operands);
  }
}

}  // namespace etb::infer
