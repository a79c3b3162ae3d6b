// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/find_subject.hpp"

#include <filesystem>

#include "api/format/hex.hpp"
#include "host/portable_backend/portable_backend.hpp"
#include "host/registry/elf_note.hpp"
#include "host/registry/library_file.hpp"
#include "tools/evaluate_constants.hpp"
#include "tools/file_kind.hpp"
#include "tools/option_values.hpp"
#include "tools/plugin_registry.hpp"

namespace etb::tools {
namespace {

namespace fs = std::filesystem;

// A name without a slash is a path if it has the ending of one, or names a file of a known kind.
bool looks_like_path(const std::string& target) {
  if (target.find('/') != std::string::npos || target.ends_with(".so") || target.ends_with(".json"))
    return true;
  const FileKind kind = find_file_kind(target);
  return kind != FileKind::kUnknown && kind != FileKind::kText;
}

// Checks a library file that no manifest describes.
Status expect_plugin_library(const std::string& path) {
  const auto no_plugin = [&](const std::string& why) {
    return make_error(Code::INVALID_DATA, "'" + path + "' is not a plugin: " + why);
  };
  const Result<host::LibraryFile> library = host::LibraryFile::open(path);
  if (!library) return no_plugin(library.error().message);
  const Result<host::PluginIdent> ident = host::read_elf_note(library->bytes(), library->elf);
  if (!ident) return no_plugin(ident.error().message);
  return {};
}

Result<const host::PluginEntry*> find_by_path(const host::Registry& registry, const std::string& path) {
  for (const host::PluginEntry& entry : registry.plugins())
    if (entry.manifest_path == path || entry.library_path == path) return &entry;
  ETB_TRY(expect_plugin_library(path));
  return make_error(Code::NOT_FOUND, "'" + path + "' is a library that no manifest in its folder names");
}

Result<const host::PluginEntry*> find_by_name(const host::Registry& registry, const std::string& name) {
  const std::shared_ptr<const host::Decision> decision = registry.resolve(name);
  if (decision->winner() == nullptr) return tl::make_unexpected(to_error(*decision));
  return &registry.plugins()[decision->winner()->entry_index];
}

std::vector<std::string> provided_ids(const host::PluginEntry& entry) {
  std::vector<std::string> ids;
  for (const host::ProvidedId& provided : entry.manifest->provides) ids.push_back(provided.id);
  return ids;
}

}  // namespace

Result<conformance::SubjectSpec> find_subject(const std::string& target, const std::string& backend,
                                              const Session& session) {
  host::RegistryOptions options = registry_options(session);
  options.record_digests = false;  // a certificate names the digest of what was tested
  const bool is_path = looks_like_path(target);
  std::error_code failed;
  const std::string path = is_path ? fs::absolute(target, failed).lexically_normal().string() : "";
  if (is_path && !fs::exists(path, failed))
    return make_error(Code::NOT_FOUND, "'" + target + "': no such file");
  if (is_path)
    ETB_TRY(expect_kind(path, {FileKind::kManifest, FileKind::kJson, FileKind::kLibrary},
                        "the manifest or library of a plugin"));
  if (is_path)
    options.application_paths.insert(options.application_paths.begin(),
                                     fs::path(path).parent_path().string());
  static constexpr etb_static_plugin kStatic[] = {host::kPortablePlugin};
  const bool is_portable = target == "portable" || target == "org.etbackend.portable";
  if (is_portable) options.static_plugins = kStatic;
  const host::Registry registry(options);
  ETB_ASSIGN(const host::PluginEntry* entry, is_path       ? find_by_path(registry, path)
                                             : is_portable ? find_by_name(registry, "org.etbackend.portable")
                                                           : find_by_name(registry, target));
  if (entry->problem) return tl::make_unexpected(*entry->problem);
  conformance::SubjectSpec spec;
  spec.entry = *entry;
  spec.load_options = registry.load_options();
  spec.backend_id = backend;
  spec.evaluate = evaluate_constants;
  if (entry->manifest && !entry->manifest->provides.empty()) {
    if (backend.empty()) spec.backend_id = entry->manifest->provides[0].id;
    if (entry->find_provided(spec.backend_id) == nullptr)
      return make_error(Code::NOT_FOUND, "--backend: not a delegate id of '" + entry->id +
                                             "': " + unknown_name(spec.backend_id, provided_ids(*entry)));
  }
  return spec;
}

Result<host::OptionTexts> read_delegate_options(const std::vector<std::string>& texts,
                                                const host::PluginEntry& entry) {
  host::OptionTexts read;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos ||
        !read.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      return make_error(Code::INVALID_ARGUMENT,
                        "--delegate-option '" + text + "', expected key=value, once for a key");
  }
  if (auto options = host::read_init_options(entry, read); !options)
    return tl::make_unexpected(with_context(std::move(options).error(), "--delegate-option"));
  return read;
}

std::string digest_of(const host::PluginEntry& entry) {
  return entry.library && entry.library->sha256 ? format::to_hex(*entry.library->sha256) : "";
}

}  // namespace etb::tools
