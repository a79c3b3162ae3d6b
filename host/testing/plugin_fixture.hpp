// SPDX-License-Identifier: Apache-2.0
// For tests: folders with plugins, and options for a registry that sees nothing else.
//
//   PluginFixture fixture;
//   fixture.add("a", library_file);                        // folder a: library and manifest
//   fixture.add("b", library_file, {{"priority", 5}});     // the manifest changed by an RFC 7386 merge patch
//   Registry registry(fixture.options({"a", "b"}));
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/format/hex.hpp"
#include "host/registry/digest.hpp"
#include "host/registry/registry.hpp"
#include "host/testing/scratch_dir.hpp"

namespace etb::host {

class PluginFixture {
 public:
  std::string path(std::string_view name = "") const { return dir_.path(name); }
  const ScratchDir& dir() const { return dir_; }

  // Options with these folders as application paths, without environment and without folders of the machine.
  RegistryOptions options(const std::vector<std::string>& folders = {"plugins"}) const {
    RegistryOptions out;
    for (const std::string& folder : folders) out.application_paths.push_back(path(folder));
    out.admin_path = "";
    out.environment = {};
    return out;
  }

  static std::string read_file(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  static nlohmann::json manifest(const std::string& library_content, const std::string& library_name) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(library_content.data());
    const Sha256 digest = *sha256_of(MemoryBytes({bytes, library_content.size()}));
    nlohmann::json out = {
        {"manifest_version", 1}, {"id", "com.example.broken"}, {"version", "1.2.3"}, {"vendor", "Example"}};
    out["provides"] = {{{"id", "BrokenBackend"}, {"payload_versions", {1, 3}}}};
    out["aliases"] = {"broken"};
    out["abi"] = {{"min", "1.0"}, {"max", "1.0"}, {"profiles", {"runtime"}}};
    out["libraries"] = {{{"os", "linux"},
                         {"arch", detect_platform().arch},
                         {"path", library_name},
                         {"size", library_content.size()},
                         {"sha256", format::to_hex(digest)}}};
    return out;
  }

  // Writes a library and its manifest (<folder>/plugin.json) into a folder.
  void add(const std::string& folder, const std::string& library_file, const nlohmann::json& patch = nullptr,
           const std::string& manifest_name = "plugin.json") const {
    const std::string content = read_file(library_file);
    const std::string name = std::filesystem::path(library_file).filename().string();
    nlohmann::json document = manifest(content, name);
    if (!patch.is_null()) document.merge_patch(patch);
    dir_.write(folder + '/' + name, content);
    dir_.write(folder + '/' + manifest_name, document.dump());
  }

 private:
  ScratchDir dir_;
};

}  // namespace etb::host
