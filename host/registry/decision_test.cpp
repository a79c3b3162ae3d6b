// SPDX-License-Identifier: Apache-2.0
#include "host/registry/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "etb/plugin.h"

namespace etb::host {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

PluginEntry entry(std::string id, Tier tier = Tier::kAdmin, std::string version = "1.0.0") {
  PluginEntry out;
  out.id = id;
  out.tier = tier;
  out.manifest_path = "/" + id + ".json";
  out.manifest = Manifest{};
  out.manifest->id = std::move(id);
  out.manifest->version = std::move(version);
  out.manifest->profiles = ETB_PROFILE_RUNTIME;
  out.manifest->provides = {{"NpuBackend", std::pair<uint32_t, uint32_t>{2, 4}}};
  out.manifest->aliases = {"npu"};
  return out;
}

std::vector<std::string> order(const Decision& decision) {
  std::vector<std::string> ids;
  for (const Candidate& candidate : decision.candidates) ids.push_back(candidate.id);
  return ids;
}

TEST(Decision, MatchesIdThenProvidedIdThenAlias) {
  PluginEntry named = entry("com.example.a");
  named.manifest->provides = {
      {"com.example.b", std::nullopt}};  // a delegate id that looks like another plugin's id
  const std::vector<PluginEntry> entries{named, entry("com.example.b")};
  EXPECT_EQ(decide(entries, "com.example.b", {}).winner()->id, "com.example.b");
  EXPECT_EQ(decide(entries, "com.example.b", {}).matched_by, MatchKind::kId);
  EXPECT_EQ(decide(entries, "NpuBackend", {}).matched_by, MatchKind::kProvided);
  EXPECT_EQ(decide(entries, "npu", {}).matched_by, MatchKind::kAlias);
  EXPECT_EQ(decide(entries, "npubackend", {}).matched_by, MatchKind::kNone) << "case counts";
}

TEST(Decision, ProgramsDoNotMatchAliases) {
  ResolveOptions options;
  options.allow_aliases = false;
  const Decision decision = decide({entry("com.example.a")}, "npu", options);
  EXPECT_EQ(decision.winner(), nullptr);
  EXPECT_EQ(to_error(decision).code, Code::NOT_FOUND);
}

TEST(Decision, LayersAreFoundByIdOnly) {
  PluginEntry layer = entry("com.example.layer");
  layer.manifest->profiles = ETB_PROFILE_LAYER;
  EXPECT_NE(decide({layer}, "com.example.layer", {}).winner(), nullptr);
  EXPECT_EQ(decide({layer}, "NpuBackend", {}).winner(), nullptr);
  EXPECT_EQ(decide({layer}, "npu", {}).winner(), nullptr);
}

// Each case makes b better than a by one rule and worse by all later rules.
struct Order {
  const char* rule;
  std::function<void(PluginEntry& a, PluginEntry& b, ResolveOptions& options)> prefer_b;
};

class DecisionOrder : public testing::TestWithParam<Order> {};

TEST_P(DecisionOrder, RuleDecides) {
  PluginEntry a = entry("com.example.a"), b = entry("com.example.b");
  ResolveOptions options;
  GetParam().prefer_b(a, b, options);
  const Decision decision = decide({a, b}, "NpuBackend", options);
  EXPECT_EQ(order(decision).front(), "com.example.b");
  EXPECT_EQ(decision.rule, GetParam().rule);
  EXPECT_EQ(decide({b, a}, "NpuBackend", options).winner()->id, "com.example.b")
      << "search order does not count";
}

PayloadVerdict verdict_for_b(const PluginEntry& entry, etb_verdict_kind a, etb_verdict_kind b) {
  return {entry.id == "com.example.b" ? b : a, "text"};
}

INSTANTIATE_TEST_SUITE_P(
    Rules, DecisionOrder,
    testing::Values(Order{"application pin",
                          [](PluginEntry& a, PluginEntry&, ResolveOptions& options) {
                            options.pin = "com.example.b";
                            a.pins = {"NpuBackend"};
                            a.tier = Tier::kApplication;
                          }},
                    Order{"overlay pin",
                          [](PluginEntry& a, PluginEntry& b, ResolveOptions&) {
                            b.pins = {"NpuBackend"};
                            a.tier = Tier::kApplication;
                          }},
                    Order{"tier order",
                          [](PluginEntry& a, PluginEntry& b, ResolveOptions& options) {
                            b.tier = Tier::kUser;
                            options.judge_payload = [](const PluginEntry& one) -> Result<PayloadVerdict> {
                              return verdict_for_b(one, ETB_VERDICT_OPTIMAL, ETB_VERDICT_PREFER_RECOMPILE);
                            };
                            a.certificate = CertificateState::kHeld;
                          }},
                    Order{"payload verdict",
                          [](PluginEntry& a, PluginEntry&, ResolveOptions& options) {
                            options.judge_payload = [](const PluginEntry& one) -> Result<PayloadVerdict> {
                              return verdict_for_b(one, ETB_VERDICT_PREFER_RECOMPILE, ETB_VERDICT_OPTIMAL);
                            };
                            a.certificate = CertificateState::kHeld;
                          }},
                    Order{"certificate held",
                          [](PluginEntry& a, PluginEntry& b, ResolveOptions&) {
                            b.certificate = CertificateState::kHeld;
                            a.priority = 10;
                          }},
                    Order{"priority",
                          [](PluginEntry& a, PluginEntry& b, ResolveOptions&) {
                            b.priority = 1;
                            a.manifest->version = "9.0.0";
                          }},
                    Order{"higher version", [](PluginEntry&, PluginEntry& b,
                                               ResolveOptions&) { b.manifest->version = "1.0.1"; }},
                    Order{"id bytewise",
                          [](PluginEntry& a, PluginEntry&, ResolveOptions&) { a.id = "com.example.c"; }}));

TEST(Decision, RefusedCandidatesAreKeptWithTheirReason) {
  PluginEntry bad = entry("com.example.bad", Tier::kApplication);
  bad.problem = refuse(Reason::kLibraryMissing, "x.so: No such file or directory").value();
  const Decision decision = decide({bad, entry("com.example.good")}, "NpuBackend", {});
  EXPECT_THAT(order(decision), ElementsAre("com.example.good", "com.example.bad"));
  EXPECT_EQ(decision.rule, "only candidate");
  EXPECT_EQ(decision.candidates[1].refusal->reason, "library.missing");
}

TEST(Decision, WhenAllAreRefusedEachIsNamed) {
  PluginEntry a = entry("com.example.a"), b = entry("com.example.b");
  a.problem = refuse(Reason::kAbi, "speaks abi 2.0").value();
  b.problem = refuse(Reason::kDisabled, "disabled by x").value();
  const Error error = to_error(decide({a, b}, "NpuBackend", {}));
  EXPECT_EQ(error.code, Code::INCOMPATIBLE);
  EXPECT_EQ(error.reason, "abi.version");
  EXPECT_THAT(error.message, AllOf(HasSubstr("com.example.a (/com.example.a.json): speaks abi 2.0"),
                                   HasSubstr("com.example.b")));
}

TEST(Decision, AnExactIdThatIsRefusedIsNotReplacedByAnAlias) {
  PluginEntry bad = entry("com.example.bad"), other = entry("com.example.other");
  bad.problem = refuse(Reason::kDisabled, "disabled").value();
  other.manifest->provides = {{"com.example.bad", std::nullopt}};
  EXPECT_EQ(decide({bad, other}, "com.example.bad", {}).winner(), nullptr);
}

TEST(Decision, PayloadVersionOutsideTheRangeIsRefusedWithoutLoading) {
  ResolveOptions options;
  options.payload_version = 5;
  const Decision decision = decide({entry("com.example.a")}, "NpuBackend", options);
  EXPECT_THAT(decision.candidates[0].refusal->message,
              HasSubstr("payload version 5, the plugin reads 2 to 4"));
  options.payload_version = 4;
  EXPECT_NE(decide({entry("com.example.a")}, "NpuBackend", options).winner(), nullptr);
}

TEST(Decision, UnsupportedPayloadIsRefusedWithThePluginsText) {
  ResolveOptions options;
  options.judge_payload = [](const PluginEntry&) -> Result<PayloadVerdict> {
    return PayloadVerdict{ETB_VERDICT_UNSUPPORTED, "driver too old"};
  };
  const Decision decision = decide({entry("com.example.a")}, "NpuBackend", options);
  EXPECT_EQ(decision.candidates[0].refusal->reason, "payload.unsupported");
  EXPECT_THAT(decision.candidates[0].refusal->message, HasSubstr("driver too old"));
}

TEST(Decision, ProfilesThatAreAskedForMustBeThere) {
  ResolveOptions options;
  options.profiles = ETB_PROFILE_AOT;
  EXPECT_EQ(decide({entry("com.example.a")}, "NpuBackend", options).winner(), nullptr);
}

TEST(Decision, NotFoundSuggestsAndListsPlaces) {
  Decision decision = decide({entry("com.example.a")}, "NpuBackedn", {});
  decision.places = {"user /x: not there", "admin /y: 3 manifests"};
  EXPECT_EQ(to_error(decision).message,
            "no plugin or backend is called 'NpuBackedn'; nearest: NpuBackend; searched: user /x: not there; "
            "admin /y: 3 manifests");
}

TEST(Decision, JsonHoldsTheWholeRecord) {
  PluginEntry bad = entry("com.example.bad");
  bad.problem = refuse(Reason::kAbi, "speaks \xff").value();
  const auto json = nlohmann::json::parse(to_json(decide({bad, entry("com.example.a")}, "NpuBackend", {})));
  EXPECT_EQ(json["winner"], "com.example.a");
  EXPECT_EQ(json["matched_by"], "provides");
  EXPECT_EQ(json["rule"], "only candidate");
  EXPECT_EQ(json["candidates"][1]["refusal"]["reason"], "abi.version");
}

}  // namespace
}  // namespace etb::host
