// SPDX-License-Identifier: Apache-2.0
// opt: lists of several options, and keys that are nearly those of the schema.
#include <fmt/format.h>

#include <cctype>
#include <set>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

const etb_option& hint() {
  static const etb_option option = make_option("x-vendor-hint", ETB_OPTION_I64);
  return option;
}
const etb_option& unknown() {
  static const etb_option option = make_option("no-plugin-has-this-option", ETB_OPTION_I64);
  return option;
}

// A list of options, and whether a function may take it.
struct List {
  std::vector<etb_option> options;
  bool is_good;
};

std::string text_of(const List& list) {
  std::string out;
  for (const etb_option& option : list.options) out += (out.empty() ? "" : ", ") + to_text(option);
  return out;
}

// Lists in which the last option decides, or the first. `subject` may be one of a host with longer structs.
void try_lists(CheckContext& context, Subject& subject, const ClaimedCase& item, const char* host) {
  const std::vector<OptionFacts> known = options_of(subject, context);
  for (const auto& [scope, function] : option_scopes(subject)) {
    std::vector<List> lists = {{{hint(), hint()}, true},
                               {{hint(), unknown()}, false},
                               {{unknown(), hint()}, false},
                               {{hint(), hint(), unknown()}, false}};
    for (const OptionFacts& facts : known) {
      if (!facts.has(scope) || facts.key == kLoseDevice) continue;
      for (const etb_option& good : ordinary_values(facts)) {
        lists.push_back({{hint(), good}, true});
        lists.push_back({{good, unknown()}, false});
        lists.push_back({{good, hint(), unknown()}, false});
      }
      for (const etb_option& excluded : excluded_values(facts)) lists.push_back({{hint(), excluded}, false});
    }
    for (const List& list : lists) {
      context.progress().restart();
      const bool is_taken = pass_options(context, subject, item, scope, list.options) == ETB_OK;
      if (is_taken != list.is_good)
        context.fail(fmt::format("{}{} {} the options {}", function, host, is_taken ? "accepts" : "rejects",
                                 text_of(list)));
      if (context.outcome().findings.size() > 3) return;
    }
  }
}

void lists_are_read_to_their_end(CheckContext& context) {
  for (const bool has_longer_structs : {false, true}) {
    SubjectOptions options = bare();
    options.has_longer_structs = has_longer_structs;
    const auto subject = context.open(options);
    if (!subject) return;
    const std::vector<ClaimedCase> items = context.find_claimed(*subject, 1);
    if (items.empty()) return context.skip("the plugin claims none of the sample cases");
    try_lists(context, *subject, items[0], has_longer_structs ? " of a host with longer structs" : "");
    if (!context.outcome().findings.empty()) return;
  }
}

// The ahead-of-time functions, too.
void lists_of_compilers(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 1))
    for (const List& list :
         {List{{hint(), hint()}, true}, List{{hint(), unknown()}, false}, List{{unknown(), hint()}, false}}) {
      CompileOptions options;
      options.aot.options = list.options;
      std::string text;
      etb_estimate estimated{};
      const graph::ImageBytes& image = item.built.image;
      const std::pair<const char*, etb_status> answers[] = {
          {"partition", partition(*subject, image, options.aot).status},
          {"dry_check", dry_check(*subject, image, text, options.aot)},
          {"estimate", estimate(*subject, image, estimated, options.aot)},
          {"compile", compile(*subject, image, options).status}};
      for (const auto& [function, status] : answers)
        if (status != ETB_NOT_IMPLEMENTED && (status == ETB_OK) != list.is_good)
          context.fail(fmt::format("{} {} the options {}", function, status == ETB_OK ? "accepts" : "rejects",
                                   text_of(list)));
    }
}

// Keys that a plugin takes for another one if it compares a part of them, or without regard to case.
std::vector<std::string> nearby_keys(const std::string& key) {
  std::vector<std::string> out = {key + "_high", key + "2", key + " ", " " + key, "my." + key, "x" + key};
  if (key.size() > 1) out.push_back(key.substr(0, key.size() - 1));
  if (key.size() > 1) out.push_back(key.substr(1));
  std::string upper = key;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper != key) out.push_back(upper);
  return out;
}

void nearby_keys_are_unknown(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<OptionFacts> known = options_of(*subject, context);
  if (known.empty()) return context.skip("the plugin has no options");
  std::set<std::string> keys;
  for (const OptionFacts& facts : known) keys.insert(facts.key);
  const auto scopes = option_scopes(*subject);
  for (const ClaimedCase& item : context.claimed(*subject, 1))
    for (const OptionFacts& facts : known)
      for (const std::string& key : nearby_keys(facts.key)) {
        if (keys.contains(key) || key.starts_with("x-")) continue;
        for (const auto& [scope, function] : scopes) {
          if (!facts.has(scope)) continue;
          etb_option option = make_option(key.c_str(), facts.type);
          if (const auto good = ordinary_values(facts); !good.empty())
            option = good[0], option.key = key.c_str();
          context.progress().restart();
          if (pass_options(context, *subject, item, scope, {option}) == ETB_OK)
            context.fail(fmt::format("{} accepts the key '{}', which is not '{}'", function, key, facts.key));
        }
        if (context.outcome().findings.size() > 3) return;
      }
}

// A long key may be cut in the text of the error, between two characters.
void long_keys_have_a_text(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 1))
    for (const char* letter : {"\u00e4", "\u6f22", "\U0001f600"})
      for (size_t shift = 0; shift < 4; ++shift) {
        std::string key(shift, 'k');
        while (key.size() < 700) key += letter;
        context.progress().at("create with a long key");
        const etb_option option = make_option(key.c_str(), ETB_OPTION_I64);
        const auto session = CaseSession::make(*subject, item.built, item.payload, {option});
        if (session) return context.fail("create accepts an unknown option of 700 bytes");
        if (session.error().message.empty() || !host::validate::is_utf8(session.error().message.c_str()))
          return context.fail(
              fmt::format("the text of an error about a key of 700 bytes, after {} of one byte, "
                          "is none, or ends within a character",
                          shift));
      }
}

constexpr Check kChecks[] = {
    {"opt.lists-are-read-to-their-end",
     "Of several options each is read: an unknown one is rejected behind others, also in a longer struct.",
     "ABI-OPT-01", lists_are_read_to_their_end},
    {"opt.lists-of-compilers", "So do the ahead-of-time functions.", "ABI-OPT-01", lists_of_compilers},
    {"opt.nearby-keys-are-unknown",
     "A key that begins or ends as a known one, or differs in case, is unknown.", "ABI-OPT-01",
     nearby_keys_are_unknown},
    {"opt.long-keys-have-a-text", "The error about a long unknown key has a text of whole characters.",
     "ABI-ERR-02", long_keys_have_a_text},
};

}  // namespace

std::span<const Check> option_list_checks() { return kChecks; }

}  // namespace etb::conformance
