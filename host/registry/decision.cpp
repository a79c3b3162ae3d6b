// SPDX-License-Identifier: Apache-2.0
#include "host/registry/decision.hpp"

#include <algorithm>

#include "host/registry/nearest_names.hpp"
#include "host/registry/reason.hpp"
#include "host/registry/semantic_version.hpp"

namespace etb::host {
namespace {

// A rule of the policy. The first rule under which two candidates differ decides. `compare` returns < 0 when
// a is better, > 0 when b is.
struct Rule {
  const char* name;
  int (*compare)(const Candidate& a, const Candidate& b);
};

template <class T>
int smaller_first(T a, T b) {
  return a < b ? -1 : b < a ? 1 : 0;
}
template <class T>
int larger_first(T a, T b) {
  return smaller_first(b, a);
}

int rank_of(const std::optional<PayloadVerdict>& verdict) {
  switch (verdict ? verdict->kind : ETB_VERDICT_UNKNOWN) {
    case ETB_VERDICT_OPTIMAL:
      return 0;
    case ETB_VERDICT_PREFER_RECOMPILE:
      return 1;
    default:
      return 2;
  }
}

constexpr Rule kRules[] = {
    {"application pin",
     [](const Candidate& a, const Candidate& b) {
       return larger_first(a.pinned_by == "application", b.pinned_by == "application");
     }},
    {"overlay pin",
     [](const Candidate& a, const Candidate& b) {
       return larger_first(a.pinned_by == "overlay", b.pinned_by == "overlay");
     }},
    {"tier order", [](const Candidate& a, const Candidate& b) { return smaller_first(a.tier, b.tier); }},
    {"payload verdict",
     [](const Candidate& a, const Candidate& b) {
       return smaller_first(rank_of(a.verdict), rank_of(b.verdict));
     }},
    {"certificate held",
     [](const Candidate& a, const Candidate& b) {
       return larger_first(a.certificate == CertificateState::kHeld,
                           b.certificate == CertificateState::kHeld);
     }},
    {"priority", [](const Candidate& a, const Candidate& b) { return larger_first(a.priority, b.priority); }},
    {"higher version",
     [](const Candidate& a, const Candidate& b) { return compare_semantic_versions(b.version, a.version); }},
    {"id bytewise",
     [](const Candidate& a, const Candidate& b) { return smaller_first(a.id.compare(b.id), 0); }},
};

// Returns the first rule under which a and b differ, or NULL when none does.
const Rule* deciding_rule(const Candidate& a, const Candidate& b) {
  for (const Rule& rule : kRules)
    if (rule.compare(a, b) != 0) return &rule;
  return nullptr;
}

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.refusal.has_value() != b.refusal.has_value()) return b.refusal.has_value();
  if (a.refusal) return false;
  const Rule* rule = deciding_rule(a, b);
  return rule != nullptr && rule->compare(a, b) < 0;
}

bool matches(const PluginEntry& entry, std::string_view name, MatchKind kind) {
  const bool is_layer = (entry.profiles() & ETB_PROFILE_LAYER) != 0;
  switch (kind) {
    case MatchKind::kId:
      return entry.id == name;
    case MatchKind::kProvided:
      return !is_layer && entry.find_provided(name) != nullptr;
    case MatchKind::kAlias:
      return !is_layer && entry.has_alias(name);
    case MatchKind::kNone:
      return false;
  }
  return false;
}

std::string pinned_by(const PluginEntry& entry, std::string_view name, const ResolveOptions& options) {
  const bool is_pinned = entry.id == options.pin || entry.has_alias(options.pin);
  if (!options.pin.empty() && is_pinned) return "application";
  const bool is_in_overlay = std::find(entry.pins.begin(), entry.pins.end(), name) != entry.pins.end();
  return is_in_overlay ? "overlay" : "";
}

Status verify_profiles(const PluginEntry& entry, uint32_t wanted) {
  if ((entry.profiles() & wanted) == wanted) return {};
  return make_error(Code::NOT_SUPPORTED, "has profiles " + std::to_string(entry.profiles()) + ", asked for " +
                                             std::to_string(wanted));
}

Status verify_payload_version(const PluginEntry& entry, std::string_view name,
                              std::optional<uint32_t> version) {
  const ProvidedId* provided = entry.find_provided(name);
  if (!version || provided == nullptr || !provided->payload_versions) return {};
  const auto [first, last] = *provided->payload_versions;
  if (*version >= first && *version <= last) return {};
  return refuse(Reason::kPayload, "payload version " + std::to_string(*version) + ", the plugin reads " +
                                      std::to_string(first) + " to " + std::to_string(last));
}

Status judge(const PluginEntry& entry, const ResolveOptions& options, Candidate& out) {
  if (!options.judge_payload) return {};
  ETB_ASSIGN(out.verdict, options.judge_payload(entry));
  if (out.verdict->kind == ETB_VERDICT_UNSUPPORTED)
    return refuse(Reason::kPayload, "cannot run this payload: " + out.verdict->text);
  return {};
}

Status examine(const PluginEntry& entry, std::string_view name, const ResolveOptions& options,
               Candidate& out) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  ETB_TRY(verify_profiles(entry, options.profiles));
  ETB_TRY(verify_payload_version(entry, name, options.payload_version));
  return judge(entry, options, out);
}

Candidate make_candidate(const PluginEntry& entry, size_t index, std::string_view name,
                         const ResolveOptions& options) {
  Candidate out;
  out.entry_index = index;
  out.id = entry.id;
  out.version = entry.version();
  out.tier = entry.tier;
  out.place = place_of(entry);
  out.pinned_by = pinned_by(entry, name, options);
  out.priority = entry.priority;
  out.certificate = entry.certificate;
  if (Status status = examine(entry, name, options, out); !status) out.refusal = std::move(status).error();
  return out;
}

std::vector<std::string> all_names(const std::vector<PluginEntry>& entries, bool allow_aliases) {
  std::vector<std::string> names;
  for (const PluginEntry& entry : entries) {
    if (!entry.id.empty()) names.push_back(entry.id);
    if (!entry.manifest) continue;
    for (const ProvidedId& provided : entry.manifest->provides) names.push_back(provided.id);
    if (allow_aliases)
      names.insert(names.end(), entry.manifest->aliases.begin(), entry.manifest->aliases.end());
  }
  return names;
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : separator) + text;
  return out;
}

}  // namespace

const char* to_text(MatchKind kind) {
  switch (kind) {
    case MatchKind::kNone:
      return "none";
    case MatchKind::kId:
      return "id";
    case MatchKind::kProvided:
      return "provides";
    case MatchKind::kAlias:
      return "alias";
  }
  return "unknown";
}

const char* to_text_of_verdict(etb_verdict_kind kind) {
  switch (kind) {
    case ETB_VERDICT_OPTIMAL:
      return "optimal";
    case ETB_VERDICT_PREFER_RECOMPILE:
      return "prefer-recompile";
    case ETB_VERDICT_UNSUPPORTED:
      return "unsupported";
    default:
      return "unknown";
  }
}

const Candidate* Decision::winner() const {
  return candidates.empty() || candidates.front().refusal ? nullptr : &candidates.front();
}

Decision decide(const std::vector<PluginEntry>& entries, std::string_view name,
                const ResolveOptions& options) {
  Decision out;
  out.name = name;
  for (const MatchKind kind : {MatchKind::kId, MatchKind::kProvided, MatchKind::kAlias}) {
    if (kind == MatchKind::kAlias && !options.allow_aliases) break;
    for (size_t i = 0; i < entries.size(); ++i)
      if (matches(entries[i], name, kind))
        out.candidates.push_back(make_candidate(entries[i], i, name, options));
    if (out.candidates.empty()) continue;
    out.matched_by = kind;
    break;
  }
  std::stable_sort(out.candidates.begin(), out.candidates.end(), is_better);
  if (out.winner() != nullptr) {
    const bool is_alone = out.candidates.size() < 2 || out.candidates[1].refusal;
    const Rule* rule = is_alone ? nullptr : deciding_rule(out.candidates[0], out.candidates[1]);
    out.rule = is_alone ? "only candidate" : rule != nullptr ? rule->name : "search order";
  }
  if (out.candidates.empty()) out.nearest = nearest_names(name, all_names(entries, options.allow_aliases));
  return out;
}

Error to_error(const Decision& decision) {
  if (decision.candidates.empty()) {
    Error error{Code::NOT_FOUND, "no plugin or backend is called '" + decision.name + "'",
                std::string(kNameNotFound), 0};
    if (!decision.nearest.empty()) error.message += "; nearest: " + joined(decision.nearest, ", ");
    error.message += "; searched: " + (decision.places.empty() ? "nothing" : joined(decision.places, "; "));
    return error;
  }
  // All candidates were refused. The error has the code of the first in search order and the reasons of all.
  const Error& first = *decision.candidates.front().refusal;
  Error error{first.code, "no plugin for '" + decision.name + "' can be used", first.reason, 0};
  for (const Candidate& candidate : decision.candidates)
    error.message += "; " +
                     (candidate.id.empty() ? candidate.place : candidate.id + " (" + candidate.place + ")") +
                     ": " + candidate.refusal->message;
  return error;
}

}  // namespace etb::host
