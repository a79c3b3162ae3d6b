#include "host/registry/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define BOOST_DLL_USE_STD_FS
#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <cerrno>
#include <system_error>

#include "host/registry/reason.hpp"

namespace etb::host {
namespace {

std::string last_system_error() { return std::generic_category().message(errno); }

// A path that names the open file whatever happens to its name. The number of the process instead of "self", so that a
// debugger or profiler that reads the path finds the library too.
std::string path_of(int fd) {
  char process[32] = "self";
  const ssize_t nbytes = ::readlink("/proc/self", process, sizeof(process) - 1);
  if (nbytes > 0) process[nbytes] = '\0';
  return std::string("/proc/") + process + "/fd/" + std::to_string(fd);
}

// What the loader said, with the path of the descriptor replaced by the name that people know.
std::string loader_message(const std::string& path, const std::string& name) {
  const char* said = ::dlerror();
  std::string text = said == nullptr ? "the loader gave no reason" : said;
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size()))
    text.replace(at, path.size(), name);
  return text;
}

}  // namespace

bool is_on_foreign_filesystem(int fd) {
  struct statfs status {};
  if (::fstatfs(fd, &status) != 0) return true;
  // Magic numbers of linux/magic.h and, for vboxsf, of its driver: the content lies with another machine or process.
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
    copy = FileDescriptor(
        ::memfd_create("etb-plugin", kFlags));  // kernels before 6.3 refuse the bit and need none
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

// The loader knows libraries by path: while one is mapped under ".../fd/7", loading another under that path would give the
// first one again. So the descriptor, and with it the number, lives as long as the mapping.
struct Library::Mapping {
  FileDescriptor file;
  boost::dll::shared_library library;
};

Library::Library(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

Result<Library> Library::load(FileDescriptor file, const std::string& name) {
  auto mapping = std::make_unique<Mapping>();
  mapping->file = std::move(file);
  const std::string path = path_of(mapping->file.get());
  std::error_code failed;
  mapping->library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, failed);
  if (failed) return refuse(Reason::kLibraryLoad, loader_message(path, name));
  return Library(std::move(mapping));
}

etb_plugin_query_fn Library::query() const {
  using Query = std::remove_pointer_t<etb_plugin_query_fn>;
  if (!mapping_->library.has(ETB_PLUGIN_QUERY_SYMBOL)) return nullptr;
  return &mapping_->library.get<Query>(ETB_PLUGIN_QUERY_SYMBOL);
}

void Library::keep() noexcept {
  if (!mapping_) return;
  // Loading it once more for ever: the loader counts, and the destructor takes one away.
  (void)::dlopen(path_of(mapping_->file.get()).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
  (void)mapping_->file.release();
}

}  // namespace etb::host
