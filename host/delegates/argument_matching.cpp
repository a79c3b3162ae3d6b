// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/argument_matching.hpp"

#include <algorithm>
#include <string>

namespace etb::host {

namespace {

bool is_integer(etb_dtype dtype) { return dtype == ETB_DTYPE_INT32 || dtype == ETB_DTYPE_INT64; }

bool is_float(etb_dtype dtype) {
  return dtype == ETB_DTYPE_FLOAT16 || dtype == ETB_DTYPE_FLOAT32 || dtype == ETB_DTYPE_FLOAT64;
}

bool fits(const StatedInput& input, const EValue& argument) {
  if (argument.is_int()) return input.dtype == ETB_DTYPE_INT64 && input.sizes.empty();
  if (!argument.is_tensor()) return false;
  const Tensor& tensor = argument.tensor();
  const auto dtype = static_cast<etb_dtype>(tensor.dtype());
  const bool is_same_kind = dtype == input.dtype || (is_integer(dtype) && is_integer(input.dtype)) ||
                            (is_float(dtype) && is_float(input.dtype));
  return is_same_kind && std::ranges::equal(tensor.sizes(), input.sizes);
}

// The first choice in the order of both, or nothing.
std::vector<uint32_t> first_choice(std::span<const StatedInput> inputs, std::span<EValue* const> arguments) {
  std::vector<uint32_t> chosen;
  for (uint32_t i = 0; i < arguments.size() && chosen.size() < inputs.size(); ++i)
    if (fits(inputs[chosen.size()], *arguments[i])) chosen.push_back(i);
  return chosen.size() == inputs.size() ? chosen : std::vector<uint32_t>();
}

std::vector<uint32_t> last_choice(std::span<const StatedInput> inputs, std::span<EValue* const> arguments) {
  std::vector<uint32_t> chosen;
  for (size_t i = arguments.size(); i-- > 0 && chosen.size() < inputs.size();)
    if (fits(inputs[inputs.size() - 1 - chosen.size()], *arguments[i]))
      chosen.push_back(static_cast<uint32_t>(i));
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

Result<std::vector<uint32_t>> match_arguments(std::span<const StatedInput> inputs, size_t output_count,
                                              std::span<EValue* const> arguments) {
  const auto failed = [&](const char* why) {
    return make_error(Code::INCOMPATIBLE, "the program passes " + std::to_string(arguments.size()) +
                                              " arguments, the plugin expects " +
                                              std::to_string(inputs.size()) + " inputs and " +
                                              std::to_string(output_count) + " outputs" + why);
  };
  const bool is_stated =
      std::all_of(inputs.begin(), inputs.end(), [](const StatedInput& input) { return input.is_stated; });
  if (arguments.size() < inputs.size() + output_count || inputs.empty() || !is_stated) return failed("");
  const auto passed = arguments.first(arguments.size() - output_count);
  std::vector<uint32_t> chosen = first_choice(inputs, passed);
  if (chosen.empty()) return failed(", and no choice of arguments has the types of the payload's inputs");
  if (chosen != last_choice(inputs, passed))
    return failed(", and several choices of arguments have the types of the payload's inputs");
  for (size_t i = passed.size(); i < arguments.size(); ++i) chosen.push_back(static_cast<uint32_t>(i));
  return chosen;
}

}  // namespace etb::host
