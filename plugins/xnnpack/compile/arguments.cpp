// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of the current node.
#include <algorithm>

#include "plugins/xnnpack/compile/lowering.hpp"

namespace etb::xnnpack {

std::optional<graph::Argument> Lowering::find(const char* name) const {
  auto found = node_->find_arg(name);
  if (found && found->is_none()) return std::nullopt;
  return found;
}

bool Lowering::has(const char* name) const { return find(name).has_value(); }

Result<uint32_t> Lowering::value(const char* name) const {
  const auto arg = find(name);
  if (!arg || !arg->value()) return refuse("attribute", name, ": no tensor");
  return *arg->value();
}

Result<std::vector<uint32_t>> Lowering::values(const char* name) const {
  const auto arg = find(name);
  std::vector<uint32_t> out;
  if (arg) {
    for (const uint32_t id : arg->values()) out.push_back(id);
  }
  if (out.empty() || std::count(out.begin(), out.end(), graph::kNone) != 0)
    return refuse("attribute", name, ": no list of tensors");
  return out;
}

Result<int64_t> Lowering::integer(const char* name, int64_t otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto number = arg->as_int()) return *number;
  return refuse(arg->value() ? "dynamic" : "attribute", name, ": known only at run time, expected a number");
}

Result<double> Lowering::number(const char* name, double otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto number = arg->as_int()) return static_cast<double>(*number);
  if (const auto number = arg->as_float()) return *number;
  if (const auto truth = arg->as_bool()) return *truth ? 1 : 0;
  return refuse(arg->value() ? "dynamic" : "attribute", name, ": known only at run time, expected a number");
}

Result<bool> Lowering::flag(const char* name, bool otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto truth = arg->as_bool()) return *truth;
  return refuse("attribute", name, ": no bool");
}

Result<std::vector<int64_t>> Lowering::integers(const char* name, std::vector<int64_t> otherwise) const {
  const auto arg = find(name);
  if (!arg) return otherwise;
  if (const auto one = arg->as_int()) return std::vector<int64_t>{*one};
  for (const uint32_t id : arg->values())
    if (id != graph::kNone) return refuse("dynamic", name, ": known only at run time, expected numbers");
  std::vector<int64_t> out;
  for (const int64_t item : arg->ints()) out.push_back(item);
  return out;
}

std::vector<double> Lowering::numbers(const char* name) const {
  std::vector<double> out;
  if (const auto arg = find(name)) {
    for (const double item : arg->floats()) out.push_back(item);
  }
  return out;
}

Result<uint32_t> Lowering::dim(const char* name, int64_t otherwise, size_t rank) const {
  ETB_ASSIGN(int64_t dim, integer(name, otherwise));
  if (dim < 0) dim += static_cast<int64_t>(rank);
  if (dim < 0 || static_cast<size_t>(dim) >= rank)
    return refuse("attribute", name, ": ", dim, ", rank is ", rank);
  return static_cast<uint32_t>(dim);
}

std::string_view Lowering::text(const char* name) const {
  const auto arg = find(name);
  return arg ? arg->as_string() : "";
}

}  // namespace etb::xnnpack
