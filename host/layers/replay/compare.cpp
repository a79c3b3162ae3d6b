// SPDX-License-Identifier: Apache-2.0
#include "host/layers/replay/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "host/layers/replay/report.hpp"

namespace etb::host::replay {
namespace {

using namespace etb::format;  // NOLINT(google-build-using-namespace): this file is about nothing else

// Answers by node: "claimed in group 1", "rejected: dtype". Groups are numbered by their first node, because a plugin
// may number them as it likes.
std::map<uint32_t, std::string> by_node(const std::vector<TraceClaim>& claims) {
  std::map<uint32_t, uint32_t> first_of_group;
  for (const TraceClaim& claim : claims)
    for (const uint32_t node : claim.node_ids) {
      if (claim.is_reject != 0 || claim.group == 0) continue;
      const auto [place, is_new] = first_of_group.emplace(claim.group, node);
      if (!is_new) place->second = std::min(place->second, node);
    }
  std::map<uint32_t, std::string> out;
  for (const TraceClaim& claim : claims)
    for (const uint32_t node : claim.node_ids) {
      std::string& text = out[node];
      if (!text.empty()) text += " and ";
      if (claim.is_reject != 0)
        text += "rejected: " + claim.reason;
      else if (claim.group == 0)
        text += fmt::format("claimed, flags {}", claim.flags);
      else
        text += fmt::format("claimed with node {}, flags {}", first_of_group[claim.group], claim.flags);
    }
  return out;
}

// Compares two maps of texts; names the first difference and counts the rest.
template <class Key>
std::string compare_maps(const std::map<Key, std::string>& recorded, const std::map<Key, std::string>& found,
                         const char* what) {
  std::string first;
  size_t count = 0;
  const auto note = [&](const Key& key, const std::string& was, const std::string& is) {
    if (count++ == 0) first = fmt::format("{} {}: recorded '{}', found '{}'", what, key, was, is);
  };
  for (const auto& [key, text] : recorded) {
    const auto other = found.find(key);
    if (other == found.end())
      note(key, text, "nothing");
    else if (other->second != text)
      note(key, text, other->second);
  }
  for (const auto& [key, text] : found)
    if (recorded.count(key) == 0) note(key, "nothing", text);
  if (count > 1) first += fmt::format(", and {} more", count - 1);
  return first;
}

std::string value_of(const TraceOption& option) {
  std::string items;
  for (const TraceOption& item : option.items) items += " " + value_of(item);
  return fmt::format("{} {} {} '{}' {} bytes{}", option.type, option.i64, option.f64, option.text,
                     fmt::join(option.bytes, "."), items);
}

}  // namespace

std::string compare_claims(const std::vector<TraceClaim>& recorded, const std::vector<TraceClaim>& found) {
  return compare_maps(by_node(recorded), by_node(found), "node");
}

std::string compare_ops(const std::vector<TraceOpRow>& recorded, const std::vector<TraceOpRow>& found) {
  const auto rows = [](const std::vector<TraceOpRow>& ops) {
    std::map<std::string, std::string> out;
    for (const TraceOpRow& row : ops)
      out[row.op] += fmt::format("[dtypes {}; rank {} to {}; layouts {}; flags {}; schemes {}]",
                                 fmt::join(row.dtypes, " "), row.min_rank, row.max_rank, row.layouts,
                                 row.flags, fmt::join(row.quant_schemes, " "));
    return out;
  };
  return compare_maps(rows(recorded), rows(found), "op");
}

std::string compare_schemas(const std::vector<TraceSchema>& recorded, const std::vector<TraceSchema>& found) {
  const auto rows = [](const std::vector<TraceSchema>& schemas) {
    std::map<std::string, std::string> out;
    for (const TraceSchema& schema : schemas)
      out[schema.key] = fmt::format(
          "type {}, scopes {}, mutable {}, default {}, {} to {}, choices {}", schema.type, schema.scopes,
          schema.mutable_when, schema.default_value.empty() ? "none" : value_of(schema.default_value.front()),
          schema.minimum, schema.maximum, fmt::join(schema.choices, " "));
    return out;
  };
  return compare_maps(rows(recorded), rows(found), "option");
}

std::string compare_options(const std::vector<TraceOption>& recorded, const std::vector<TraceOption>& found) {
  const auto rows = [](const std::vector<TraceOption>& options) {
    std::map<std::string, std::string> out;
    for (const TraceOption& option : options) out[option.key] = value_of(option);
    return out;
  };
  return compare_maps(rows(recorded), rows(found), "option");
}

std::string compare_io(const std::vector<TraceIoReq>& recorded, const std::vector<TraceIoReq>& found) {
  // Alignment and padding are the host's business: replay meets those of the plugin that it runs.
  const auto rows = [](const std::vector<TraceIoReq>& reqs) {
    std::map<std::string, std::string> out;
    for (const TraceIoReq& req : reqs) {
      std::string& text = out[fmt::format("{} {}",
                                          req.role == 1   ? "input"
                                          : req.role == 2 ? "output"
                                                          : "state",
                                          req.index)];
      text = "of unstated type";
      if (!req.spec.empty())
        text = fmt::format("dtype {} [{}]", req.spec.front().dtype, fmt::join(req.spec.front().sizes, ", "));
    }
    return out;
  };
  return compare_maps(rows(recorded), rows(found), "tensor");
}

std::string compare_bytes(std::span<const std::byte> recorded, std::span<const std::byte> found) {
  const auto [was, is] = std::mismatch(recorded.begin(), recorded.end(), found.begin(), found.end());
  if (was == recorded.end() && is == found.end()) return "";
  return fmt::format("recorded {} bytes, found {}, first difference at byte {}", recorded.size(),
                     found.size(), was - recorded.begin());
}

std::string compare_specs(const std::vector<TraceSpec>& recorded, const std::vector<TraceSpec>& found) {
  const auto rows = [](const std::vector<TraceSpec>& specs) {
    std::map<std::string, std::string> out;
    for (const TraceSpec& spec : specs) out[spec.key] = fmt::format("{:02x}", fmt::join(spec.value, ""));
    return out;
  };
  return compare_maps(rows(recorded), rows(found), "compile spec");
}

#define ETB_DIFFERENCE(name, text, description) text,
constexpr const char* kKinds[] = {
#include "host/layers/replay/difference_kinds.def"
};
#undef ETB_DIFFERENCE

const char* to_text(DifferenceKind kind) noexcept { return kKinds[static_cast<size_t>(kind)]; }

std::vector<std::string> difference_kinds() { return {std::begin(kKinds), std::end(kKinds)}; }

}  // namespace etb::host::replay
