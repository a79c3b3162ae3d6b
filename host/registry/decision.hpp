// Which plugin a name means, and everything that led there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/registry/plugin_entry.hpp"

namespace etb::host {

// In the order of the attempts; the first that matches anything ends the search.
enum class MatchKind { kNone, kId, kProvided, kAlias };
const char* to_text(MatchKind kind);

// What a plugin says of a payload (etb_verdict), as the policy sees it.
struct PayloadVerdict {
  etb_verdict_kind kind = ETB_VERDICT_UNKNOWN;
  std::string text;
};
const char* to_text_of_verdict(etb_verdict_kind kind);

struct ResolveOptions {
  std::string pin;            // plugin id that the application wants for this name, when it is a candidate
  bool allow_aliases = true;  // off for ids that come from a program: aliases are for people
  uint32_t profiles = 0;      // ETB_PROFILE_* that the plugin must have
  std::optional<uint32_t> payload_version;  // format of the payload at hand, when it says
  // Asks the plugin about the payload at hand; may load it. An error refuses the candidate.
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
  std::optional<Error> refusal;  // why it is out of the question
};

struct Decision {
  std::string name;
  MatchKind matched_by = MatchKind::kNone;
  std::vector<Candidate> candidates;  // best first; those refused come last, in search order
  std::string rule;  // what put the first before the second: "tier order"; "" without a winner
  std::vector<std::string> nearest;  // names like the one asked for, when nothing matched
  std::vector<std::string> places;   // every place searched and what was there

  // NULL when nothing may be used.
  const Candidate* winner() const;
};

// Finds the candidates and orders them. `places` is filled in by the registry.
Decision decide(const std::vector<PluginEntry>& entries, std::string_view name,
                const ResolveOptions& options);

// Why there is no winner, with nearest names and every place searched.
Error to_error(const Decision& decision);

std::string to_json(const Decision& decision);

}  // namespace etb::host
