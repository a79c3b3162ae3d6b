// SPDX-License-Identifier: Apache-2.0
// Checks the bill of materials that EtbWriteSbom.cmake writes: the structure of SPDX 2.3, digests of the built files, and
// that tools/packaging/debian/copyright has a stanza for each library whose code is compiled in. Planted faults show
// that each check finds something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "api/format/digest.hpp"

namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string sha256_text(const std::string& bytes) {
  const auto* const data = reinterpret_cast<const uint8_t*>(bytes.data());
  std::string out;
  for (const uint8_t byte : etb::format::sha256({data, bytes.size()})) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

// The SBOM of this build, written once.
const json& written_sbom() {
  static const json sbom = [] {
    const std::string out = ETB_WORK_DIR "/sbom.spdx.json";
    const std::string command = "'" ETB_CMAKE "' -DINPUT='" ETB_SBOM_INPUT "' -DOUT='" + out +
                                "' -P '" ETB_SOURCE_DIR "/tools/cmake/EtbWriteSbom.cmake'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return json::parse(read_text(out));
  }();
  return sbom;
}

// Installed path of each file of the SBOM, and the file of the build.
std::vector<std::pair<std::string, std::string>> built_files() {
  std::vector<std::pair<std::string, std::string>> out;
  std::istringstream lines(read_text(ETB_SBOM_INPUT));
  const std::regex entry("list\\(APPEND files \"([^|]*)\\|([^|]*)\\|.*");
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, entry)) out.emplace_back(match[1], match[2]);
  return out;
}

class Findings {
 public:
  void expect(bool is_right, const std::string& text) {
    if (!is_right) texts.push_back(text);
  }
  // True if the object has a text of this key that matches; else adds a finding.
  bool expect_text(const json& object, const char* key, const char* pattern) {
    const std::string id = object.value("SPDXID", object.value("spdxElementId", "?"));
    const bool has = object.contains(key) && object[key].is_string();
    const bool fits = has && std::regex_match(object[key].get<std::string>(), std::regex(pattern));
    expect(fits, id + ": " + key + (has ? " is '" + object[key].get<std::string>() + "'" : " is missing"));
    return fits;
  }
  std::vector<std::string> texts;
};

constexpr const char* kAnyText = "[^]+";
constexpr const char* kId = "SPDXRef-[A-Za-z0-9.-]+";
constexpr const char* kSha1 = "[0-9a-f]{40}";
// The expressions that the table uses. A new one must be an identifier of the SPDX licence list.
constexpr const char* kLicence =
    "NOASSERTION|Apache-2.0|MIT|BSD-2-Clause|BSD-3-Clause|CC0-1.0|LGPL-2.1-or-later|GPL-3.0-or-later WITH "
    "GCC-exception-3.1";

void check_document(const json& sbom, Findings& findings) {
  findings.expect_text(sbom, "spdxVersion", "SPDX-2\\.3");
  findings.expect_text(sbom, "dataLicense", "CC0-1\\.0");
  findings.expect_text(sbom, "SPDXID", "SPDXRef-DOCUMENT");
  findings.expect_text(sbom, "name", kAnyText);
  findings.expect_text(sbom, "documentNamespace", "https://[^#]+");
  const json info = sbom.value("creationInfo", json::object());
  findings.expect_text(info, "created", "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z");
  findings.expect(!info.value("creators", json::array()).empty(), "no creators");
}

void check_package(const json& package, Findings& findings) {
  findings.expect_text(package, "name", kAnyText);
  findings.expect_text(package, "supplier", "(Organization|Person): [^]+");
  findings.expect_text(package, "downloadLocation", "NOASSERTION|https://[^ ]+");
  findings.expect_text(package, "licenseConcluded", kLicence);
  findings.expect_text(package, "licenseDeclared", kLicence);
  findings.expect_text(package, "copyrightText", kAnyText);
  if (package.contains("versionInfo")) findings.expect_text(package, "versionInfo", "[0-9][^ ]*");
}

void check_file(const json& file, Findings& findings) {
  findings.expect_text(file, "fileName", "\\./[^ ]+");
  findings.expect_text(file, "licenseConcluded", kLicence);
  findings.expect_text(file, "copyrightText", kAnyText);
  bool has_sha1 = false;  // SPDX requires this one
  for (const json& checksum : file.value("checksums", json::array()))
    has_sha1 |= checksum.value("algorithm", "") == "SHA1" &&
                std::regex_match(checksum.value("checksumValue", ""), std::regex(kSha1));
  findings.expect(has_sha1, file.value("SPDXID", "?") + ": no SHA1");
}

void check_relationships(const json& sbom, const std::set<std::string>& ids, Findings& findings) {
  std::set<std::string> related;
  for (const json& relationship : sbom.value("relationships", json::array())) {
    findings.expect_text(relationship, "relationshipType",
                         "DESCRIBES|CONTAINS|STATIC_LINK|DYNAMIC_LINK|RUNTIME_DEPENDENCY_OF");
    for (const char* end : {"spdxElementId", "relatedSpdxElement"}) {
      const std::string id = relationship.value(end, "");
      findings.expect(ids.count(id) == 1, "a relationship names '" + id + "', which does not exist");
      related.insert(id);
    }
  }
  for (const std::string& id : ids) findings.expect(related.count(id) == 1, id + " is in no relationship");
}

// Returns what SPDX 2.3 does not allow in this document.
std::vector<std::string> findings_of(const json& sbom) {
  Findings findings;
  check_document(sbom, findings);
  std::set<std::string> ids{"SPDXRef-DOCUMENT"};
  for (const char* list : {"packages", "files"}) {
    findings.expect(!sbom.value(list, json::array()).empty(), std::string("no ") + list);
    for (const json& one : sbom.value(list, json::array())) {
      if (findings.expect_text(one, "SPDXID", kId))
        findings.expect(ids.insert(one["SPDXID"]).second, one["SPDXID"].get<std::string>() + " exists twice");
      if (std::string(list) == "packages")
        check_package(one, findings);
      else
        check_file(one, findings);
    }
  }
  check_relationships(sbom, ids, findings);
  return findings.texts;
}

// Names of packages that have a relationship of this type with any file.
std::set<std::string> names_related(const json& sbom, const std::string& type) {
  std::set<std::string> names;
  for (const json& relationship : sbom["relationships"])
    for (const json& package : sbom["packages"])
      if (relationship["relationshipType"] == type && relationship["relatedSpdxElement"] == package["SPDXID"])
        names.insert(package["name"]);
  return names;
}

TEST(Sbom, IsADocumentOfSpdx23) { EXPECT_THAT(findings_of(written_sbom()), IsEmpty()); }

TEST(Sbom, PlantedFaultsAreFound) {
  const std::vector<std::pair<const char*, std::function<void(json&)>>> faults = {
      {"spdxVersion is 'SPDX-2.2'", [](json& sbom) { sbom["spdxVersion"] = "SPDX-2.2"; }},
      {"documentNamespace is missing", [](json& sbom) { sbom.erase("documentNamespace"); }},
      {"created is '2026-11-24'", [](json& sbom) { sbom["creationInfo"]["created"] = "2026-11-24"; }},
      {"supplier is missing", [](json& sbom) { sbom["packages"][1].erase("supplier"); }},
      {"licenseDeclared is 'BSD'", [](json& sbom) { sbom["packages"][1]["licenseDeclared"] = "BSD"; }},
      {"SPDXID is 'a b'", [](json& sbom) { sbom["packages"][1]["SPDXID"] = "a b"; }},
      {"exists twice", [](json& sbom) { sbom["packages"].push_back(sbom["packages"][0]); }},
      {"no SHA1", [](json& sbom) { sbom["files"][0]["checksums"].erase(0); }},
      {"is in no relationship",
       [](json& sbom) { sbom["relationships"].erase(0); }},
      {"which does not exist",
       [](json& sbom) { sbom["relationships"][1]["relatedSpdxElement"] = "SPDXRef-other"; }},
      {"relationshipType is 'LINKS'",
       [](json& sbom) { sbom["relationships"][1]["relationshipType"] = "LINKS"; }},
      {"no files", [](json& sbom) { sbom["files"] = json::array(); }},
  };
  for (const auto& [expected, plant] : faults) {
    json sbom = written_sbom();
    plant(sbom);
    EXPECT_THAT(findings_of(sbom), testing::Contains(HasSubstr(expected)));
  }
}

TEST(Sbom, HasTheDigestOfEachInstalledBinary) {
  const auto files = built_files();
  ASSERT_EQ(written_sbom()["files"].size(), files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    const json& file = written_sbom()["files"][i];
    EXPECT_EQ(file["fileName"], "./" + files[i].first);
    const std::string bytes = read_text(files[i].second);
    EXPECT_EQ(file["checksums"][1]["algorithm"], "SHA256");
    EXPECT_EQ(file["checksums"][1]["checksumValue"], sha256_text(bytes)) << files[i].second;
  }
}

// The versions are those of this machine, so only their presence is checked.
TEST(Sbom, NamesTheCodeThatIsCompiledInWithItsVersion) {
  const auto names = names_related(written_sbom(), "STATIC_LINK");
  for (const char* name : {"CLI11", "nlohmann-json", "flatbuffers", "expected"})
    EXPECT_EQ(names.count(name), 1U) << name;
  for (const json& package : written_sbom()["packages"])
    EXPECT_TRUE(names.count(package["name"]) == 0 || package.contains("versionInfo")) << package;
  EXPECT_EQ(names_related(written_sbom(), "DYNAMIC_LINK").count("glibc"), 1U);
}

TEST(Sbom, CopyrightOfThePackagesHasAStanzaForCodeThatIsCompiledIn) {
  const std::string copyright = read_text(ETB_SOURCE_DIR "/tools/packaging/debian/copyright");
  for (const std::string& name : names_related(written_sbom(), "STATIC_LINK"))
    EXPECT_THAT(copyright, HasSubstr("\nFiles: " + name + "\n"));
}

}  // namespace
