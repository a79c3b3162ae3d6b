// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/command_comparator.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "api/format/printable_text.hpp"
#include "host/module/owned_tensor.hpp"
#include "tools/run/npy.hpp"

namespace etb::diff {
namespace {

namespace fs = std::filesystem;

// A folder that ends with this object.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code failed;
    std::string path = (fs::temp_directory_path(failed) / "etbackend-diff-XXXXXX").string();
    if (failed || ::mkdtemp(path.data()) == nullptr)
      return make_error(Code::ACCESS_FAILED, "no folder for temporary files");
    return TemporaryFolder(std::move(path));
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code failed;
    if (!path_.empty()) fs::remove_all(path_, failed);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

struct Close {
  void operator()(std::FILE* file) const { ::pclose(file); }
};

Result<double> run(const std::string& name, const std::string& command, const TensorData& a,
                   const TensorData& b) {
  ETB_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make());
  const std::string path_a = folder.path() + "/a.npy", path_b = folder.path() + "/b.npy";
  ETB_TRY(write_array(path_a, a));
  ETB_TRY(write_array(path_b, b));
  std::unique_ptr<std::FILE, Close> pipe(
      ::popen((command + " '" + path_a + "' '" + path_b + "'").c_str(), "re"));
  if (pipe == nullptr)
    return make_error(Code::UNAVAILABLE, "--metric " + name + ": the shell does not start");
  char line[256] = {};
  const bool has_line = std::fgets(line, sizeof(line), pipe.get()) != nullptr;
  while (std::fgetc(pipe.get()) != EOF) {
  }
  const int status = ::pclose(pipe.release());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("--metric {}: the command failed with exit status {}", name,
                                  WIFEXITED(status) ? WEXITSTATUS(status) : -1));
  line[std::string_view(line).find_last_not_of('\n') + 1] = '\0';
  char* end = line;
  const double value = std::strtod(line, &end);
  if (!has_line || end == line)
    return make_error(Code::INVALID_ARGUMENT, fmt::format("--metric {}: found '{}', expected a number", name,
                                                          format::made_printable(line, 40)));
  return value;
}

}  // namespace

Status write_array(const std::string& path, const TensorData& tensor) {
  host::OwnedTensor made(static_cast<host::Dtype>(tensor.shape.dtype), tensor.shape.sizes,
                         tensor.shape.dim_order);
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), made.bytes().begin());
  return tools::write_npy(path, made.tensor());
}

Result<Comparator> parse_comparator(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return make_error(Code::INVALID_ARGUMENT, "--metric '" + text + "', expected NAME=COMMAND");
  Comparator out;
  out.name = text.substr(0, equals);
  out.compare = [name = out.name, command = text.substr(equals + 1)](
                    const TensorData& a, const TensorData& b) { return run(name, command, a, b); };
  return out;
}

}  // namespace etb::diff
