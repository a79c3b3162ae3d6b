// SPDX-License-Identifier: Apache-2.0
#include "host/registry/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include "host/registry/digest.hpp"
#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

std::string last_system_error() { return std::generic_category().message(errno); }

// Returns a path to the open file that works after a rename. It contains the process id instead of "self", so
// that a debugger or profiler that reads the path also finds the library.
std::string path_of(int fd) {
  char process[32] = "self";
  const ssize_t nbytes = ::readlink("/proc/self", process, sizeof(process) - 1);
  if (nbytes > 0) process[nbytes] = '\0';
  return std::string("/proc/") + process + "/fd/" + std::to_string(fd);
}

// Returns the loader's message, with the descriptor's path replaced by the library's name.
std::string loader_message(const std::string& path, const std::string& name) {
  const char* said = ::dlerror();
  std::string text = said == nullptr ? "the loader gave no reason" : said;
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size()))
    text.replace(at, path.size(), name);
  return text;
}

std::string target_of(int fd) {
  char path[4096];
  const ssize_t nbytes = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof(path));
  return nbytes < 0 ? "a file without a name" : std::string(path, static_cast<size_t>(nbytes));
}

const void* dynamic_of(void* handle) {
  link_map* map = nullptr;
  return ::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 ? map->l_ld : nullptr;
}

}  // namespace

bool is_on_foreign_filesystem(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return true;
  // Magic numbers of linux/magic.h and, for vboxsf, of its driver: another machine or
  // process controls the content.
  constexpr uint32_t kForeign[] = {
      0x6969 /* NFS */,      0x517b /* SMB */,    0xff534d42 /* CIFS */, 0xfe534d42 /* SMB2 */,
      0x65735546 /* FUSE */, 0x01021997 /* 9P */, 0x00c36400 /* Ceph */, 0x5346414f /* AFS */,
      0x73757245 /* Coda */, 0x786f4256 /* vbox */};
  const auto type = static_cast<uint32_t>(status.f_type);
  return std::find(std::begin(kForeign), std::end(kForeign), type) != std::end(kForeign);
}

Result<FileDescriptor> seal_copy(int fd) {
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC, newer than the C library of Debian 12
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  FileDescriptor copy(::memfd_create("etb-plugin", kFlags | kExecutable));
  if (!copy)
    copy = FileDescriptor(::memfd_create("etb-plugin", kFlags));  // kernels before 6.3 reject the bit
  if (!copy) return make_error(Code::OUT_OF_RESOURCES, "no memory file: " + last_system_error());
  ETB_ASSIGN(const FileState state, file_state(fd));
  const FileBytes bytes(fd, state.nbytes);
  std::vector<uint8_t> piece(std::min<uint64_t>(state.nbytes, 1 << 20));
  for (uint64_t at = 0; at < state.nbytes; at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), state.nbytes - at));
    ETB_TRY(bytes.read(at, piece));
    for (size_t written = 0; written < piece.size();) {
      const ssize_t count = ::write(copy.get(), piece.data() + written, piece.size() - written);
      if (count < 0 && errno != EINTR)
        return make_error(Code::OUT_OF_MEMORY, "memory file: " + last_system_error());
      if (count > 0) written += static_cast<size_t>(count);
    }
  }
  if (::fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return make_error(Code::INTERNAL, "memory file cannot be sealed: " + last_system_error());
  return copy;
}

// A mapped file and its count of users. The loader knows the file by the path of its descriptor and would
// mistake another file with that descriptor number for it. So the descriptor stays open during the mapping.
struct Library::Mapping {
  FileDescriptor file;
  FileState state;
  bool is_sealed = false;
  Sha256 sealed_digest{};
  void* handle = nullptr;
  const void* dynamic = nullptr;
  std::string path;  // path of the descriptor, as the loader knows it
  size_t user_count = 0;
  bool is_kept = false;
};

// All mappings of the process. The loader keeps one list for each process; this is the host's data about it.
class Library::Mappings {
 public:
  // Never destroyed: kept libraries may outlive every other object.
  static Mappings& instance() {
    static auto* const mappings = new Mappings;
    return *mappings;
  }

  std::recursive_mutex& mutex() { return mutex_; }

  // Returns the mapping of this file. A sealed copy matches only one with the same bytes.
  Mapping* find(const LibrarySource& source, const Sha256& sealed_digest) const {
    for (const auto& one : all_)
      if (one->state.device == source.state.device && one->state.inode == source.state.inode &&
          one->is_sealed == source.is_sealed && (!source.is_sealed || one->sealed_digest == sealed_digest))
        return one.get();
    return nullptr;
  }

  Mapping* find(const void* dynamic) const {
    for (const auto& one : all_)
      if (one->dynamic == dynamic) return one.get();
    return nullptr;
  }

  Mapping* add(std::unique_ptr<Mapping> mapping) {
    all_.push_back(std::move(mapping));
    return all_.back().get();
  }

  // The loader may keep a closed library mapped: because another one needs it, or for symbols that
  // are unique in the process.
  void remove(Mapping* mapping) {
    (void)::dlclose(mapping->handle);
    mapping->handle = nullptr;
    if (is_in_process(*mapping)) {
      mapping->handle = ::dlopen(mapping->path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
      mapping->is_kept = true;
    } else {
      std::erase_if(all_, [mapping](const auto& one) { return one.get() == mapping; });
    }
  }

 private:
  static bool is_in_process(const Mapping& mapping) {
    const std::vector<ProcessObject> objects = process_objects();
    return std::any_of(objects.begin(), objects.end(), [&](const ProcessObject& object) {
      return object.dynamic == mapping.dynamic && object.path == mapping.path;
    });
  }

  std::recursive_mutex mutex_;  // a library's constructor may load another one
  std::vector<std::unique_ptr<Mapping>> all_;
};

std::unique_lock<std::recursive_mutex> Library::lock() {
  return std::unique_lock(Mappings::instance().mutex());
}

Result<Library> Library::load(FileDescriptor file, const LibrarySource& source) {
  const auto locked = lock();
  Mappings& mappings = Mappings::instance();
  Sha256 digest{};
  if (source.is_sealed) {
    ETB_ASSIGN(const FileState state, file_state(file.get()));
    ETB_ASSIGN(digest, sha256_of(FileBytes(file.get(), state.nbytes)));
  }
  if (Mapping* known = mappings.find(source, digest)) {
    if (known->state.nbytes != source.state.nbytes || known->state.modified_ns != source.state.modified_ns)
      return refuse(Reason::kLibraryChanged,
                    source.name + ": was changed in place after this process had loaded it");
    ++known->user_count;
    return Library(known->handle, known);
  }
  auto mapping = std::make_unique<Mapping>();
  mapping->file = std::move(file);
  mapping->state = source.state;
  mapping->is_sealed = source.is_sealed;
  mapping->sealed_digest = digest;
  mapping->path = path_of(mapping->file.get());
  mapping->handle = ::dlopen(mapping->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (mapping->handle == nullptr)
    return refuse(Reason::kLibraryLoad, loader_message(mapping->path, source.name));
  mapping->dynamic = dynamic_of(mapping->handle);
  mapping->user_count = 1;
  Mapping* const added = mappings.add(std::move(mapping));
  return Library(added->handle, added);
}

Result<Library> Library::load_path(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return refuse(Reason::kLibraryLoad, loader_message(path, path));
  return Library(handle, nullptr);
}

Result<Library> Library::hold(const ProcessObject& object) {
  void* const handle = ::dlopen(object.soname.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  Library library(handle, nullptr);
  if (handle != nullptr && library.dynamic() == object.dynamic) return library;
  return refuse(Reason::kLibraryConflict,
                object.soname + ": this process has two libraries of that name, one from " + object.path);
}

std::optional<Library> Library::share(const void* dynamic) {
  const auto locked = lock();
  Mapping* const known = Mappings::instance().find(dynamic);
  if (known == nullptr) return std::nullopt;
  ++known->user_count;
  return Library(known->handle, known);
}

std::optional<MappedFile> Library::mapped_file(const void* dynamic) {
  const auto locked = lock();
  const Mapping* const known = Mappings::instance().find(dynamic);
  if (known == nullptr) return std::nullopt;
  return MappedFile{known->file.get(), known->state, target_of(known->file.get())};
}

Library::Library(Library&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), mapping_(std::exchange(other.mapping_, nullptr)) {}

Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(mapping_, other.mapping_);
  return *this;
}

Library::~Library() {
  if (handle_ == nullptr) return;
  if (mapping_ == nullptr) {
    (void)::dlclose(handle_);
    return;
  }
  const auto locked = lock();
  if (--mapping_->user_count == 0 && !mapping_->is_kept) Mappings::instance().remove(mapping_);
}

void* Library::find_symbol(const char* name) const { return ::dlsym(handle_, name); }

const void* Library::dynamic() const { return dynamic_of(handle_); }

void Library::keep() noexcept {
  if (mapping_ == nullptr) return;
  const auto locked = lock();
  mapping_->is_kept = true;
}

}  // namespace etb::host
