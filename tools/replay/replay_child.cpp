// SPDX-License-Identifier: Apache-2.0
#include "tools/replay/replay_child.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "host/registry/child_process.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;

// In memory that both processes see.
struct Progress {
  std::atomic<uint64_t> call;
  char function[64];
};

bool write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

std::string read_all(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || info.st_size < 0) return "";
  std::string text(static_cast<size_t>(info.st_size), '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::pread(fd, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return "";
    done += static_cast<size_t>(count);
  }
  return text;
}

Error to_error(const Json& json) {
  Error error;
  error.code = static_cast<Code>(json.value("code", static_cast<int>(Code::INTERNAL)));
  error.message = json.value("message", "");
  return error;
}

}  // namespace

Result<Json> run_replay(const std::function<Result<Json>(const NoteCall&)>& body,
                        std::chrono::milliseconds deadline) {
  const host::FileDescriptor file(::memfd_create("etbackend-replay", MFD_CLOEXEC));
  void* const shared =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (file.get() < 0 || shared == MAP_FAILED)
    return make_error(Code::OUT_OF_RESOURCES,
                      "cannot create memory for a child process: " + std::generic_category().message(errno));
  auto* const progress = new (shared) Progress{};
  const auto note = [progress](uint64_t call, const std::string& function) {
    std::memset(progress->function, 0, sizeof(progress->function));
    std::copy_n(function.data(), std::min(function.size(), sizeof(progress->function) - 1),
                progress->function);
    progress->call = call;
  };
  const auto outcome = host::run_in_child(
      [&](int) {
        Result<Json> report = body(note);
        const Json out = report ? *std::move(report)
                                : Json{{"code", static_cast<int>(report.error().code)},
                                       {"message", report.error().message}};
        write_all(file.get(), out.dump(-1, ' ', true, Json::error_handler_t::replace));
      },
      deadline);
  const uint64_t call = progress->call;
  const std::string function(progress->function, strnlen(progress->function, sizeof(progress->function)));
  ::munmap(shared, sizeof(Progress));
  if (!outcome) return tl::make_unexpected(outcome.error());
  const Json report = Json::parse(read_all(file.get()), nullptr, false);
  const bool has_ended_well = outcome->end == host::ChildEnd::kExited && outcome->value == 0;
  if (has_ended_well && report.is_object()) {
    if (report.contains("message")) return tl::make_unexpected(to_error(report));
    return report;
  }
  Json death{{"death", {{"call", call}, {"function", function}, {"how", to_text(*outcome, deadline)}}}};
  return death;
}

}  // namespace etb::tools
