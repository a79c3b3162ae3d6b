// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/compile/arguments.hpp"

#include <algorithm>

namespace etb::gpu {

namespace {

// Rejects an argument of another kind, often a value known only at run time.
tl::unexpected<Error> reject_kind(const char* name, const graph::Argument& found, const char* expected) {
  return reject(found.value() ? "dynamic" : "attribute", std::string(name) + ": expected " + expected);
}

}  // namespace

tl::unexpected<Error> reject(const char* reason, std::string text) {
  return tl::make_unexpected(Error{Code::NOT_SUPPORTED, std::move(text), reason, 0});
}

int32_t to_int32(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, INT32_MIN, INT32_MAX));
}

std::optional<graph::Argument> Arguments::find(const char* name) const {
  auto found = node_->find_arg(name);
  return found && found->is_none() ? std::nullopt : found;
}

Result<uint32_t> Arguments::tensor(const char* name) const {
  const auto found = find(name);
  if (!found || !found->value()) return reject("attribute", std::string(name) + ": no tensor");
  return *found->value();
}

Result<std::vector<uint32_t>> Arguments::tensors(const char* name) const {
  std::vector<uint32_t> out;
  if (const auto found = find(name))
    for (const uint32_t id : found->values()) out.push_back(id);
  if (out.empty() || std::count(out.begin(), out.end(), graph::kNone) != 0)
    return reject("attribute", std::string(name) + ": no list of tensors");
  return out;
}

Result<int64_t> Arguments::integer(const char* name, int64_t otherwise) const {
  const auto found = find(name);
  if (!found) return otherwise;
  if (const auto number = found->as_int()) return *number;
  return reject_kind(name, *found, "an integer");
}

Result<double> Arguments::number(const char* name, double otherwise) const {
  const auto found = find(name);
  if (!found) return otherwise;
  if (const auto number = found->as_int()) return static_cast<double>(*number);
  if (const auto number = found->as_float()) return *number;
  if (const auto truth = found->as_bool()) return *truth ? 1 : 0;
  return reject_kind(name, *found, "a number");
}

Result<bool> Arguments::flag(const char* name, bool otherwise) const {
  const auto found = find(name);
  if (!found) return otherwise;
  if (const auto truth = found->as_bool()) return *truth;
  return reject_kind(name, *found, "a bool");
}

Result<std::vector<int64_t>> Arguments::integers(const char* name) const {
  std::vector<int64_t> out;
  const auto found = find(name);
  if (!found) return out;
  if (const auto one = found->as_int()) return std::vector<int64_t>{*one};
  if (found->value())
    return reject("dynamic", std::string(name) + ": known only at run time, expected numbers");
  for (const uint32_t id : found->values())
    if (id != graph::kNone)
      return reject("dynamic", std::string(name) + ": known only at run time, expected numbers");
  for (const int64_t item : found->ints()) out.push_back(item);
  return out;
}

Result<std::vector<int64_t>> Arguments::pair(const char* name, std::vector<int64_t> otherwise) const {
  ETB_ASSIGN(std::vector<int64_t> found, integers(name));
  if (found.empty()) found = std::move(otherwise);
  if (found.size() == 1) found.push_back(found[0]);
  if (found.size() != 2 || found[0] < 0 || found[1] < 0)
    return reject("attribute", std::string(name) + ": expected two numbers");
  return found;
}

Result<uint32_t> Arguments::dim(const char* name, int64_t otherwise, uint32_t rank) const {
  ETB_ASSIGN(const int64_t found, integer(name, otherwise));
  const int64_t count = std::max(rank, 1u), counted = found < 0 ? found + count : found;
  if (counted < 0 || counted >= count)
    return reject("attribute",
                  std::string(name) + ": " + std::to_string(found) + ", rank is " + std::to_string(rank));
  return static_cast<uint32_t>(counted);
}

std::string_view Arguments::text(const char* name) const {
  const auto found = find(name);
  return found ? found->as_string() : "";
}

}  // namespace etb::gpu
