// SPDX-License-Identifier: Apache-2.0
// Decision: the plugin that a name resolves to, and all candidates with the reasons for the choice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/plugin_entry.hpp"

namespace etb::host {

// Kinds of match in the order of attempts. The first kind that matches any plugin ends the search.
enum class MatchKind { kNone, kId, kProvided, kAlias };
const char* to_text(MatchKind kind);

// A plugin's answer for a payload (etb_verdict), as input of the policy.
struct PayloadVerdict {
  etb_verdict_kind kind = ETB_VERDICT_UNKNOWN;
  std::string text;
};
const char* to_text_of_verdict(etb_verdict_kind kind);

struct ResolveOptions {
  std::string pin;  // id or alias of the plugin that the application prefers, used when it is a candidate
  bool allow_aliases = true;                // off for ids from a program: aliases are for users
  uint32_t profiles = 0;                    // ETB_PROFILE_* that the plugin must have
  std::optional<uint32_t> payload_version;  // format of the payload, when the program contains it
  // Asks the plugin about the payload; may load the plugin. An error refuses the candidate.
  std::function<Result<PayloadVerdict>(const PluginEntry& entry)> judge_payload;
};

struct Candidate {
  size_t entry_index = 0;  // among the registry's plugins
  std::string id;
  std::string version;
  Tier tier = Tier::kApplication;
  std::string place;
  std::string pinned_by;  // "application", "overlay", ""
  int32_t priority = 0;
  CertificateState certificate = CertificateState::kNone;
  std::optional<PayloadVerdict> verdict;
  std::optional<Error> refusal;  // reason why it cannot be used
};

struct Decision {
  std::string name;
  MatchKind matched_by = MatchKind::kNone;
  std::vector<Candidate> candidates;  // best first; refused ones last, in search order
  std::string rule;  // rule that ranked the first before the second: "tier order"; "" without a winner
  std::vector<std::string> nearest;  // similar names, when nothing matched
  std::vector<std::string> places;   // every place searched, with its result

  // Returns the best candidate, or NULL when all were refused.
  const Candidate* winner() const;
};

// Finds the candidates and sorts them. The registry fills `places`.
Decision decide(const std::vector<PluginEntry>& entries, std::string_view name,
                const ResolveOptions& options);

// Returns the error for a decision without a winner, with the nearest names and every place searched.
Error to_error(const Decision& decision);

std::string to_json(const Decision& decision);

}  // namespace etb::host
