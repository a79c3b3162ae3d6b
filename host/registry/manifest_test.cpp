// SPDX-License-Identifier: Apache-2.0
#include "host/registry/manifest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "etb/plugin.h"
#include "host/registry/json_document.hpp"
#include "host/registry/manifest_overlay.hpp"

namespace etb::host {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kSha(64, 'a');

json full_manifest() {
  return json::parse(R"({
    "manifest_version": 1, "requires_manifest_features": [],
    "id": "com.example.my-npu", "version": "1.2.0-rc.1+7", "vendor": "Example Inc. \u00e9", "license": "BSD-3-Clause",
    "url": "https://example.com/npu", "description": "Runs on the NPU.",
    "provides": [{"id": "MyNpuBackend", "payload_versions": [3, 5]}, {"id": "Other"}],
    "aliases": ["npu", "my_npu"],
    "abi": {"min": "1.0", "max": "1.2", "profiles": ["runtime", "aot"]},
    "libraries": [
      {"os": "linux", "arch": "x86_64", "libc": "glibc", "path": "lib/npu.so", "size": 123, "cpu": ["avx2", "fma"], "rank": 2},
      {"os": "linux", "arch": "x86_64", "path": "npu.so"},
      {"os": "android", "arch": "aarch64", "api_level": 29, "path": "android/npu.so"}],
    "needs": {"libraries": [{"name": "libvulkan.so.1", "min": "1.3", "where": "system"}], "kernel_min": "5.10",
              "drivers": [{"name": "npu_drv", "min": "2.0"}], "match": [{"vendor": "0x10de", "api_version": "1.1"}]},
    "devices": [{"kind": "npu", "name": "N1", "caps": ["int8"]}],
    "ops": {"path": "ops.json"},
    "custom_ops": ["npu::swish(Tensor x, float beta=1.0) -> Tensor"],
    "rules": {"path": "npu.rules"},
    "options": [{"key": "threads", "type": "i64", "default": 4, "min": 1, "max": 64, "scopes": ["delegate", "context"],
                 "mutable": "between", "doc": "Worker threads."}],
    "flags": {"unloadable": true, "own_threads": true, "sandbox": "required"},
    "priority": -5, "certificate": "npu.cert.json", "signature": "npu.sig"
  })");
}

std::vector<std::string> faults_of(const json& document) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : parse_manifest(document.dump()).diagnostics)
    texts.push_back(to_text(diagnostic));
  return texts;
}

TEST(Manifest, ReadsEveryField) {
  json document = full_manifest();
  document["libraries"][0]["sha256"] = kSha;
  const ManifestReading reading = parse_manifest(document.dump());
  ASSERT_THAT(reading.diagnostics, IsEmpty()) << to_text(reading.diagnostics);
  const Manifest& manifest = *reading.manifest;
  EXPECT_EQ(manifest.id, "com.example.my-npu");
  EXPECT_EQ(manifest.abi.min, ETB_ABI_MAKE(1, 0));
  EXPECT_EQ(manifest.abi.max, ETB_ABI_MAKE(1, 2));
  EXPECT_EQ(manifest.profiles, ETB_PROFILE_RUNTIME | ETB_PROFILE_AOT);
  ASSERT_THAT(manifest.provides, SizeIs(2));
  EXPECT_EQ(manifest.provides[0].payload_versions->second, 5u);
  EXPECT_FALSE(manifest.provides[1].payload_versions);
  ASSERT_THAT(manifest.libraries, SizeIs(3));
  EXPECT_THAT(manifest.libraries[0].cpu, ElementsAre("avx2", "fma"));
  EXPECT_EQ((*manifest.libraries[0].sha256)[0], 0xaa);
  EXPECT_EQ(manifest.libraries[2].api_level, 29u);
  EXPECT_EQ(manifest.needs.libraries[0].name, "libvulkan.so.1");
  EXPECT_EQ(std::get<int64_t>(manifest.options[0].default_value), 4);
  EXPECT_TRUE(manifest.flags.unloadable);
  EXPECT_EQ(manifest.flags.sandbox, "required");
  EXPECT_EQ(manifest.priority, -5);
}

TEST(Manifest, CustomOpsAreDeclarations) {
  json document = full_manifest();
  document["custom_ops"].push_back("npu::swish(Tensor x) -> Tensor");
  document["custom_ops"].push_back("npu::f(Tensr x) -> Tensor");
  document["rules"] = {{"path", "../npu.rules"}};
  EXPECT_THAT(faults_of(document),
              testing::UnorderedElementsAre(AllOf(HasSubstr("custom_ops"), HasSubstr("declared otherwise")),
                                            AllOf(HasSubstr("custom_ops"), HasSubstr("no type 'Tensr'")),
                                            HasSubstr("rules.path")));
}

TEST(Manifest, WritesWhatItRead) {
  const std::string once = to_json(*parse_manifest(full_manifest().dump()).manifest);
  json expected = full_manifest();
  expected.erase("requires_manifest_features");
  EXPECT_EQ(json::parse(once), expected);
}

TEST(Manifest, KeepsUnknownKeysAndGoesOn) {
  json document = full_manifest();
  document["x_new"] = 1;
  document["abi"]["later"] = 2;
  document["libraries"][1]["numa"] = true;
  const ManifestReading reading = parse_manifest(document.dump());
  ASSERT_TRUE(reading.manifest) << to_text(reading.diagnostics);
  EXPECT_THAT(reading.manifest->unknown_keys,
              testing::UnorderedElementsAre("x_new", "abi.later", "libraries[1].numa"));
}

TEST(Manifest, RefusesFeaturesItDoesNotKnow) {
  json document = full_manifest();
  document["requires_manifest_features"] = {"time-travel"};
  EXPECT_THAT(faults_of(document),
              ElementsAre("requires_manifest_features: this host does not know the feature 'time-travel'"));
}

TEST(Manifest, OfAnotherVersionIsJudgedByItsVersionOnly) {
  json document = full_manifest();
  document["manifest_version"] = 2;
  document["abi"] = "another meaning";
  EXPECT_THAT(faults_of(document),
              ElementsAre("manifest_version: found the number 2, expected an integer from 1 to 1"));
}

TEST(Manifest, IdIsKnownEvenWhenTheRestIsNot) {
  const ManifestReading reading = parse_manifest(R"({"manifest_version": 1, "id": "com.example.x"})");
  EXPECT_FALSE(reading.manifest);
  EXPECT_EQ(reading.id, "com.example.x");
}

TEST(Manifest, NamesAllFaultsNotOnlyTheFirst) {
  const auto diagnostics =
      faults_of(json::parse(R"({"manifest_version": 1, "id": "NoDots", "version": "1", "libraries": []})"));
  EXPECT_THAT(diagnostics, Contains(HasSubstr("id: found 'NoDots', expected a lower-case reverse-DNS id")));
  EXPECT_THAT(diagnostics, Contains(HasSubstr("version: found '1'")));
  EXPECT_THAT(diagnostics, Contains("vendor: missing, but required"));
  EXPECT_THAT(diagnostics, Contains("abi: missing, but required"));
  EXPECT_THAT(diagnostics, Contains("libraries: names none, expected at least one"));
}

struct BadField {
  const char* pointer;     // JSON pointer of the value
  const char* value;       // JSON
  const char* diagnostic;  // first words of the only diagnostic
};

class ManifestField : public testing::TestWithParam<BadField> {};

TEST_P(ManifestField, BadValueIsNamedWithItsPath) {
  json document = full_manifest();
  document[json::json_pointer(GetParam().pointer)] = json::parse(GetParam().value);
  const std::vector<std::string> diagnostics = faults_of(document);
  ASSERT_THAT(diagnostics, SizeIs(1)) << testing::PrintToString(diagnostics);
  EXPECT_EQ(diagnostics[0].substr(0, std::string(GetParam().diagnostic).size()), GetParam().diagnostic)
      << diagnostics[0];
}

INSTANTIATE_TEST_SUITE_P(
    Fields, ManifestField,
    testing::Values(
        BadField{"/manifest_version", "\"1\"", "manifest_version: found '1', expected an integer"},
        BadField{"/id", "\"Com.Example\"", "id: found 'Com.Example'"},
        BadField{"/id", "\"com.example.\"", "id: "}, BadField{"/id", "\"com.-x\"", "id: "},
        BadField{"/id", "\"com.x\\u0000y\"", "id: found 'com.x\\x00y'"},
        BadField{"/version", "\"01.2.3\"", "version: "},
        BadField{"/version", "7", "version: found the number 7"}, BadField{"/vendor", "\"\"", "vendor: "},
        BadField{"/vendor", "\"a\\u001b[2Jb\"", "vendor: found 'a\\x1b[2Jb'"},
        BadField{"/vendor", "\"a\\u202eb\"", "vendor: "}, BadField{"/url", "\"file:///etc/passwd\"", "url: "},
        BadField{"/provides/0/id", "\"a b\"", "provides[0].id: found 'a b'"},
        BadField{"/provides/1/id", "\"MyNpuBackend\"", "provides[1].id: found 'MyNpuBackend' a second time"},
        BadField{"/provides/0/payload_versions", "[5, 3]", "provides[0].payload_versions: found an array"},
        BadField{"/provides/0/payload_versions", "[-1, 3]", "provides[0].payload_versions: "},
        BadField{"/provides/0", "\"MyNpuBackend\"", "provides[0]: found 'MyNpuBackend', expected an object"},
        BadField{"/aliases/1", "\"npu\"", "aliases[1]: found 'npu' a second time"},
        BadField{"/aliases/0", "\"NPU\"", "aliases[0]: "},
        BadField{"/aliases", "\"npu\"", "aliases: found 'npu', expected an array"},
        BadField{"/abi/min", "\"1\"", "abi.min: found '1', expected major.minor"},
        BadField{"/abi/min", "\"1.99999\"", "abi.min: "},
        BadField{"/abi/min", "\"1.3\"", "abi.max: smaller than min"},
        BadField{"/abi/min", "1.0", "abi.min: found the number 1.0"},
        BadField{"/abi/profiles/0", "\"all\"", "abi.profiles[0]: "},
        BadField{"/abi/profiles/0", "\"layer\"", "abi.profiles: 'layer' excludes other profiles"},
        BadField{"/libraries/0/path", "\"../npu.so\"",
                 "libraries[0].path: found '../npu.so', expected a relative path"},
        BadField{"/libraries/0/path", "\"/usr/lib/npu.so\"", "libraries[0].path: "},
        BadField{"/libraries/0/path", "\"a/../../npu.so\"", "libraries[0].path: "},
        BadField{"/libraries/0/path", "\"a//b\"", "libraries[0].path: "},
        BadField{"/libraries/0/path", "\"./b\"", "libraries[0].path: "},
        BadField{"/libraries/0/path", "\"a\\\\b\"", "libraries[0].path: "},
        BadField{"/libraries/0/path", "\"\"", "libraries[0].path: "},
        BadField{"/libraries/0/sha256", "\"AB\"", "libraries[0].sha256: found 'AB', expected 64"},
        BadField{"/libraries/0/size", "0", "libraries[0].size: "},
        BadField{"/libraries/0/size", "18446744073709551615", "libraries[0].size: "},
        BadField{"/libraries/0/size", "1e9", "libraries[0].size: "},
        BadField{"/libraries/0/rank", "1001", "libraries[0].rank: "},
        BadField{"/libraries/0/cpu", "[\"avx2\", \"avx2\"]",
                 "libraries[0].cpu[1]: found 'avx2' a second time"},
        BadField{"/libraries/2", R"({"os": "linux", "arch": "x86_64", "path": "x.so"})",
                 "libraries[2].rank: platform, cpu and rank"},
        BadField{"/needs/libraries/0/name", "\"a/b.so\"", "needs.libraries[0].name: "},
        BadField{"/needs/libraries/0/where", "\"here\"",
                 "needs.libraries[0].where: found 'here', expected one of 'bundle', 'system'"},
        BadField{"/needs/match/0/vendor", "\"10de\"", "needs.match[0].vendor: "},
        BadField{"/needs/kernel_min", "\"five\"", "needs.kernel_min: "},
        BadField{"/devices/0/kind", "null", "devices[0].kind: found null"},
        BadField{"/ops/path", "\"/ops\"", "ops.path: "},
        BadField{"/options/0/type", "\"int\"", "options[0].type: "},
        BadField{"/options/0/default", "\"4\"", "options[0].default: "},
        BadField{"/options/0/max", "0", "options[0].max: smaller than min"},
        BadField{"/options/0/key", "\"A B\"", "options[0].key: "},
        BadField{"/options/0/scopes", "[\"world\"]", "options[0].scopes[0]: "},
        BadField{"/flags/unloadable", "1", "flags.unloadable: found the number 1, expected true or false"},
        BadField{"/flags/sandbox", "\"maybe\"", "flags.sandbox: "},
        BadField{"/flags", "[]", "flags: found an array, expected an object"},
        BadField{"/priority", "101", "priority: "}, BadField{"/certificate", "\"../c\"", "certificate: "}));

TEST(Manifest, RefusesWhatIsNoDocument) {
  const auto only_fault = [](std::string_view text) {
    const ManifestReading reading = parse_manifest(text);
    return reading.diagnostics.size() == 1 ? to_text(reading.diagnostics[0])
                                           : "faults: " + std::to_string(reading.diagnostics.size());
  };
  EXPECT_THAT(only_fault(""), HasSubstr("$: parse error"));
  EXPECT_THAT(only_fault("{\"id\": \"com.example"), HasSubstr("$: parse error"));
  EXPECT_THAT(only_fault("[]"), HasSubstr("$: found an array, expected an object"));
  EXPECT_THAT(only_fault("{\"vendor\": \"\xff\xfe\"}"), AllOf(HasSubstr("$: "), HasSubstr("UTF-8")));
  EXPECT_THAT(only_fault(std::string(kJsonMaxBytes + 1, ' ')), HasSubstr("expected at most 1048576"));
  EXPECT_THAT(only_fault(std::string(100000, '[')), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(only_fault("{\"a\": 1e999}"), HasSubstr("$: "));
}

TEST(Manifest, RefusesDuplicateKeysWithTheirPath) {
  std::string text = full_manifest().dump();
  text.insert(1, "\"id\": \"com.example.first\", ");
  EXPECT_THAT(to_text(parse_manifest(text).diagnostics), HasSubstr("id: this key is there twice"));
  const ManifestReading nested =
      parse_manifest(R"({"manifest_version": 1, "libraries": [{"a": [0]}, {"path": "a", "path": "b"}]})");
  EXPECT_THAT(to_text(nested.diagnostics), HasSubstr("libraries[1].path: this key is there twice"));
}

TEST(Manifest, BoundsTheNumberOfFaults) {
  json document = full_manifest();
  document["aliases"] = json::array();
  for (int i = 0; i < 200; ++i) document["aliases"].push_back("BAD");
  EXPECT_THAT(faults_of(document), SizeIs(kMaxDiagnostics));
}

TEST(Overlay, MayDisableReprioritiseAndPin) {
  const OverlayReading reading =
      parse_overlay(R"({"manifest_version": 1, "disable": true, "priority": 7, "pin": ["X"]})");
  ASSERT_TRUE(reading.overlay) << to_text(reading.diagnostics);
  EXPECT_TRUE(reading.overlay->disable);
  EXPECT_EQ(reading.overlay->priority, 7);
  EXPECT_THAT(reading.overlay->pin, ElementsAre("X"));
}

TEST(Overlay, MayNothingElse) {
  const OverlayReading reading =
      parse_overlay(R"({"manifest_version": 1, "libraries": [{"path": "evil.so"}], "disabled": true})");
  EXPECT_FALSE(reading.overlay);
  EXPECT_THAT(to_text(reading.diagnostics),
              AllOf(HasSubstr("libraries: an overlay may only"), HasSubstr("disabled: an overlay may only")));
}

TEST(Quoted, EscapesAndBounds) {
  EXPECT_EQ(in_quotes("a\x1b[31m\n"), "'a\\x1b[31m\\x0a'");
  EXPECT_EQ(in_quotes("\xc3\xa9"), "'\xc3\xa9'");
  EXPECT_EQ(in_quotes("\xc3"), "'\\xc3'");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 80u);
}

}  // namespace
}  // namespace etb::host
