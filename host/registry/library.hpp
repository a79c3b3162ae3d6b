// SPDX-License-Identifier: Apache-2.0
// Library: a shared library in this process. The only user of the dynamic loader: no other code of
// this program may open code.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/registry/process_objects.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

// When to copy the checked bytes to memory that cannot change before they are loaded.
enum class SealPolicy {
  kForeignFilesystems,  // on filesystems that do not enforce permission bits (network, FUSE, shared folders)
  kAlways,
  kNever,
};

// True if others than root and this process's user may change an open file's content, for any mode of the
// file.
bool is_on_foreign_filesystem(int fd);

// Copies a file to memory that can no longer change.
[[nodiscard]] Result<FileDescriptor> seal_copy(int fd);

// The file of a library: for messages, and to recognise a file that is loaded again.
struct LibrarySource {
  std::string name;        // for messages
  FileState state;         // state of the file on disk
  bool is_sealed = false;  // the loaded file is a sealed copy of it
};

// The file that an object in the process was mapped from.
struct MappedFile {
  int fd = -1;  // valid as long as the object is mapped
  FileState state;
  std::string path;  // present path of the file
};

// Mapped during its life, or until the process ends after keep(). The file of a mapped library stays open and
// all users of the library share it, so loading one file repeatedly uses no further descriptors or memory.
class Library {
 public:
  // Loads an open file. Binds all symbols now and exports none to other libraries (ABI-LOAD-04). The
  // libraries that it needs must be in the process already, so that the loader searches nothing.
  [[nodiscard]] static Result<Library> load(FileDescriptor file, const LibrarySource& source);

  // Loads a library of the system by the absolute path of a checked file.
  [[nodiscard]] static Result<Library> load_path(const std::string& path);

  // Holds an object that is in the process, by its SONAME. Fails when the loader would choose
  // another object for that name.
  [[nodiscard]] static Result<Library> hold(const ProcessObject& object);

  // Adds a user to a library that load() mapped. Returns nullopt for any other object.
  static std::optional<Library> share(const void* dynamic);

  // Returns the file of a library that load() mapped.
  static std::optional<MappedFile> mapped_file(const void* dynamic);

  // Locks loading while several libraries are checked and loaded as one step. The same
  // thread may lock it again.
  [[nodiscard]] static std::unique_lock<std::recursive_mutex> lock();

  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  ~Library();

  // Returns a symbol exported by the library or by one that it needs, or NULL.
  void* find_symbol(const char* name) const;

  // Returns the object's identity, see ProcessObject.
  const void* dynamic() const;

  // Keeps the library mapped until the process ends (ABI-LOAD-05).
  void keep() noexcept;

 private:
  struct Mapping;
  class Mappings;
  Library(void* handle, Mapping* mapping) : handle_(handle), mapping_(mapping) {}

  void* handle_ = nullptr;
  Mapping* mapping_ = nullptr;  // mapping of a library that load() mapped
};

}  // namespace etb::host
