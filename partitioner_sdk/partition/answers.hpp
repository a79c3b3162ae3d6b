// SPDX-License-Identifier: Apache-2.0
// A plugin's answers about the nodes of a method, and their validation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "etb/cpp/result.hpp"

namespace etb::partition {

// One etb_claim.
struct ClaimItem {
  std::vector<uint32_t> nodes;
  uint32_t flags = 0;
  uint32_t group = 0;
  double cost_ns = 0;
  friend bool operator==(const ClaimItem&, const ClaimItem&) = default;
};

// One etb_reject.
struct RejectItem {
  std::vector<uint32_t> nodes;
  std::string reason;
  std::string text;
  friend bool operator==(const RejectItem&, const RejectItem&) = default;
};

struct Answers {
  std::vector<ClaimItem> claims;
  std::vector<RejectItem> rejects;
  friend bool operator==(const Answers&, const Answers&) = default;
};

// The answer about one node.
struct NodeAnswer {
  bool is_claimed = false;
  uint32_t item = 0;  // index into Answers::claims or Answers::rejects
};

// Returns one answer per node. Errors name the node: unknown, answered twice, not answered (ABI-AOT-01), or
// with an item that breaks the rules of aot.h.
[[nodiscard]] Result<std::vector<NodeAnswer>> verify_answers(const Answers& answers, size_t node_count);

}  // namespace etb::partition
