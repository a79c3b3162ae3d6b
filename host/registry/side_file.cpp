// SPDX-License-Identifier: Apache-2.0
#include "host/registry/side_file.hpp"

#include "host/registry/digest.hpp"

namespace etb::host {

Result<std::string> read_side_file(const PluginEntry& entry, const SideFile& file, const LoadOptions& options,
                                   uint64_t max_nbytes) {
  if (entry.directory.empty()) return make_error(Code::NOT_FOUND, file.path + ": the plugin has no folder");
  if (options.secure && !file.sha256)
    return make_error(Code::PERMISSION_DENIED,
                      file.path + ": the manifest has no sha256, which secure mode asks for");
  ETB_ASSIGN(const FileDescriptor folder, open_trusted_directory(entry.directory, options.trust));
  ETB_ASSIGN(const FileDescriptor opened, open_trusted_file(folder.get(), file.path, options.trust));
  ETB_ASSIGN(std::string text, read_text_file(opened.get(), max_nbytes));
  if (!file.sha256) return text;
  // Hashes the text that is used, so that a write to the file in between has no effect.
  const MemoryBytes bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  ETB_ASSIGN(const Sha256 digest, sha256_of(bytes));
  if (digest == *file.sha256) return text;
  return make_error(Code::INVALID_DATA, file.path + ": its sha256 is not the manifest's");
}

}  // namespace etb::host
