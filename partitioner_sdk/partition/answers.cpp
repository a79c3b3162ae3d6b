// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/answers.hpp"

#include <cmath>
#include <map>
#include <optional>

#include "etb/aot.h"

namespace etb::partition {

namespace {

constexpr uint32_t kKnownFlags = ETB_CLAIM_WHOLE_GROUP | ETB_CLAIM_OWN_REGION;

tl::unexpected<Error> bad_answer(const std::string& text) { return make_error(Code::INVALID_DATA, text); }

class Sheet {
 public:
  explicit Sheet(size_t node_count) : answers_(node_count), is_answered_(node_count, false) {}

  Status note(const std::vector<uint32_t>& nodes, NodeAnswer answer) {
    const std::string verb = answer.is_claimed ? "claims" : "rejects";
    for (const uint32_t node : nodes) {
      if (node >= answers_.size())
        return bad_answer(verb + " node " + std::to_string(node) + ", the graph has nodes 0 to " +
                          std::to_string(answers_.size()) + " exclusive");
      if (is_answered_[node]) {
        const std::string before = answers_[node].is_claimed ? "claims" : "rejects";
        return bad_answer(verb + " node " + std::to_string(node) + ", which it " + before + " already");
      }
      is_answered_[node] = true;
      answers_[node] = answer;
    }
    return {};
  }

  Result<std::vector<NodeAnswer>> finish() {
    for (size_t node = 0; node < is_answered_.size(); ++node)
      if (!is_answered_[node]) return bad_answer("neither claims nor rejects node " + std::to_string(node));
    return std::move(answers_);
  }

 private:
  std::vector<NodeAnswer> answers_;
  std::vector<bool> is_answered_;
};

}  // namespace

Result<std::vector<NodeAnswer>> verify_answers(const Answers& answers, size_t node_count) {
  Sheet sheet(node_count);
  std::map<uint32_t, uint32_t> flags_of_group;
  for (uint32_t i = 0; i < answers.claims.size(); ++i) {
    const ClaimItem& claim = answers.claims[i];
    ETB_TRY(sheet.note(claim.nodes, {true, i}));
    if ((claim.flags & ~kKnownFlags) != 0)
      return bad_answer("a claim has unknown flags " + std::to_string(claim.flags));
    if (!(claim.cost_ns >= 0) || !std::isfinite(claim.cost_ns))
      return bad_answer("a claim costs " + std::to_string(claim.cost_ns) + " ns");
    if (claim.group == 0) continue;
    const auto [flags, is_new] = flags_of_group.emplace(claim.group, claim.flags);
    if (!is_new && flags->second != claim.flags)
      return bad_answer("claims of group " + std::to_string(claim.group) + " differ in their flags");
  }
  for (uint32_t i = 0; i < answers.rejects.size(); ++i) {
    ETB_TRY(sheet.note(answers.rejects[i].nodes, {false, i}));
    if (answers.rejects[i].reason.empty() && !answers.rejects[i].nodes.empty())
      return bad_answer("rejects node " + std::to_string(answers.rejects[i].nodes.front()) +
                        " without a reason");
  }
  return sheet.finish();
}

}  // namespace etb::partition
