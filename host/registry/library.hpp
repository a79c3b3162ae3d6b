// Libraries in this process. The only user of the dynamic loader: nothing else in this program may open code.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "host/registry/process_objects.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

// When the bytes that were checked are copied to memory that cannot be changed before they are loaded.
enum class SealPolicy {
  kForeignFilesystems,  // when the file lies where permission bits do not bind everybody (network, FUSE, shared folders)
  kAlways,
  kNever,
};

// True if others than root and the user may change an open file's content, whatever its mode says.
bool is_on_foreign_filesystem(int fd);

// A copy in memory that can no longer be changed.
[[nodiscard]] Result<FileDescriptor> seal_copy(int fd);

// The file behind a library: for messages, and to recognise a file that is loaded again.
struct LibrarySource {
  std::string name;        // as people know it
  FileState state;         // of the file on disk
  bool is_sealed = false;  // a sealed copy of it is loaded
};

// A file that is mapped: what an object in the process was made from.
struct MappedFile {
  int fd = -1;  // valid as long as the object is mapped
  FileState state;
  std::string path;  // where the file lies now
};

// Mapped as long as it lives, or until the process ends when it was kept. The file of a mapped library stays open and is
// shared by all who load it, so loading one file again and again takes neither descriptors nor memory.
class Library {
 public:
  // Loads an open file. Binds everything now and offers its symbols to no other library (ABI-LOAD-04). The libraries that it
  // needs must be in the process already: the loader then has nothing to search.
  [[nodiscard]] static Result<Library> load(FileDescriptor file, const LibrarySource& source);

  // Loads a library of the system by the absolute path of a file that was checked.
  [[nodiscard]] static Result<Library> load_path(const std::string& path);

  // Holds an object that is in the process, by its SONAME. Refuses when the loader would give another one for that name.
  [[nodiscard]] static Result<Library> hold(const ProcessObject& object);

  // Another user of a library that load() mapped; nothing when the object is no such library.
  static std::optional<Library> share(const void* dynamic);

  // The file of a library that load() mapped.
  static std::optional<MappedFile> mapped_file(const void* dynamic);

  // Held while several libraries are checked and loaded as one step. The same thread may lock it again.
  [[nodiscard]] static std::unique_lock<std::recursive_mutex> lock();

  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  ~Library();

  // A symbol that the library or one that it needs exports, or NULL.
  void* find_symbol(const char* name) const;

  // The object's identity, see ProcessObject.
  const void* dynamic() const;

  // From now on the library stays until the process ends (ABI-LOAD-05).
  void keep() noexcept;

 private:
  struct Mapping;
  class Mappings;
  Library(void* handle, Mapping* mapping) : handle_(handle), mapping_(mapping) {}

  void* handle_ = nullptr;
  Mapping* mapping_ = nullptr;  // of a library that load() mapped
};

}  // namespace etb::host
