// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/compile/node_arguments.hpp"

#include <algorithm>
#include <string>

#include "plugins/xnnpack/compile/reject.hpp"

namespace etb::xnnpack {

namespace {

// Rejects an argument that is no number in the graph: a value known only at run time, or another kind.
tl::unexpected<Error> reject_number(std::string_view name, const graph::Argument& found) {
  return reject(found.value() ? "dynamic" : "attribute", name, ": known only at run time, expected a number");
}

}  // namespace

std::string_view NodeArguments::Argument::name() const {
  std::string_view names = names_;
  for (uint32_t i = 0; i < index_; ++i) names.remove_prefix(names.find(' ') + 1);
  return names.substr(0, names.find(' '));
}

std::optional<graph::Argument> NodeArguments::Argument::find() const {
  auto found = node_->find_arg(std::string(name()).c_str());
  return found && found->is_none() ? std::nullopt : found;
}

Result<uint32_t> NodeArguments::Tensor::id() const {
  const auto found = find();
  if (!found || !found->value()) return reject("attribute", name(), ": no tensor");
  return *found->value();
}

Result<std::vector<uint32_t>> NodeArguments::TensorList::ids() const {
  std::vector<uint32_t> out;
  if (const auto found = find()) {
    for (const uint32_t id : found->values()) out.push_back(id);
  }
  if (out.empty() || std::count(out.begin(), out.end(), graph::kNone) != 0)
    return reject("attribute", name(), ": no list of tensors");
  return out;
}

Result<int64_t> NodeArguments::Number::integer_or(int64_t otherwise) const {
  const auto found = find();
  if (!found) return otherwise;
  if (const auto number = found->as_int()) return *number;
  return reject_number(name(), *found);
}

Result<double> NodeArguments::Number::number_or(double otherwise) const {
  const auto found = find();
  if (!found) return otherwise;
  if (const auto number = found->as_int()) return static_cast<double>(*number);
  if (const auto number = found->as_float()) return *number;
  if (const auto truth = found->as_bool()) return *truth ? 1 : 0;
  return reject_number(name(), *found);
}

Result<uint32_t> NodeArguments::Number::dim_or(int64_t otherwise, size_t rank) const {
  ETB_ASSIGN(int64_t dim, integer_or(otherwise));
  if (dim < 0) dim += static_cast<int64_t>(rank);
  if (dim < 0 || static_cast<size_t>(dim) >= rank)
    return reject("attribute", name(), ": ", dim, ", rank is ", rank);
  return static_cast<uint32_t>(dim);
}

Result<std::vector<int64_t>> NodeArguments::NumberList::integers() const {
  std::vector<int64_t> out;
  const auto found = find();
  if (!found) return out;
  if (const auto one = found->as_int()) return std::vector<int64_t>{*one};
  for (const uint32_t id : found->values())
    if (id != graph::kNone) return reject("dynamic", name(), ": known only at run time, expected numbers");
  for (const int64_t item : found->ints()) out.push_back(item);
  return out;
}

std::vector<double> NodeArguments::NumberList::floats() const {
  std::vector<double> out;
  if (const auto found = find()) {
    for (const double item : found->floats()) out.push_back(item);
  }
  return out;
}

Result<bool> NodeArguments::Flag::value_or(bool otherwise) const {
  const auto found = find();
  if (!found) return otherwise;
  if (const auto truth = found->as_bool()) return *truth;
  return reject("attribute", name(), ": no bool");
}

std::string_view NodeArguments::Word::text() const {
  const auto found = find();
  return found ? found->as_string() : "";
}

std::optional<etb_dtype> NodeArguments::Word::dtype() const {
  const auto found = find();
  return found ? found->as_dtype() : std::nullopt;
}

}  // namespace etb::xnnpack
