// A shared library in this process, loaded through an open file. The only user of Boost.DLL and of the dynamic loader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "etb/plugin.h"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

// When the bytes that were checked are copied to memory nobody can change before they are loaded.
enum class SealPolicy {
  kForeignFilesystems,  // when the file lies where permission bits do not bind everybody (network, FUSE, shared folders)
  kAlways,
  kNever,
};

// Whether somebody who is neither root nor the user may change an open file's content, whatever its mode says.
bool is_on_foreign_filesystem(int fd);

// A copy in memory that can no longer be changed.
[[nodiscard]] Result<FileDescriptor> seal_copy(int fd);

// Mapped as long as it lives, or until the process ends when it was kept.
class Library {
 public:
  // Binds everything now and offers its symbols to nobody else (ABI-LOAD-04). `name` is for messages.
  [[nodiscard]] static Result<Library> load(FileDescriptor file, const std::string& name);

  Library(Library&&) noexcept;
  Library& operator=(Library&&) noexcept;
  ~Library();

  // The one exported function, or NULL.
  etb_plugin_query_fn query() const;

  // From now on the library stays until the process ends (ABI-LOAD-05), and so does the file it came from.
  void keep() noexcept;

 private:
  struct Mapping;
  explicit Library(std::unique_ptr<Mapping> mapping);
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace etb::host
