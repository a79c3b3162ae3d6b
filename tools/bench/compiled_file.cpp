// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/compiled_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "tools/bench/worker.hpp"
#include "tools/run/timing.hpp"

namespace etb::bench {
namespace {

// A folder that is removed with its content.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code failed;
    const std::filesystem::path where = std::filesystem::temp_directory_path(failed);
    std::string pattern = (where / "etbackend-bench-XXXXXX").string();
    if (failed || ::mkdtemp(pattern.data()) == nullptr)
      return make_error(Code::ACCESS_FAILED,
                        "no folder for temporary files: " + std::generic_category().message(errno));
    return TemporaryFolder(std::move(pattern));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Result<CompiledFile> compile_archive(const Variant& variant, const Environment& environment) {
  ETB_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string path = folder.path() + "/program.pte";
  CompiledFile out;
  const tools::Stopwatch watch;
  ETB_TRY(run_apart([&] { return environment.compile(variant.file, variant.plugins, path); },
                    environment.interrupted));
  out.compile_us = watch.us();
  out.file = host::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!out.file || ::fstat(out.file.get(), &info) != 0)
    return make_error(Code::ACCESS_FAILED,
                      "cannot read the compiled program: " + std::generic_category().message(errno));
  out.nbytes = static_cast<uint64_t>(info.st_size);
  return out;
}

}  // namespace etb::bench
