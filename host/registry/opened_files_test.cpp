// SPDX-License-Identifier: Apache-2.0
// The host opens no file outside the search tiers, for any contents of a manifest. The test sees every open
// of a child process with ptrace, at the system call, so that no code in this program can hide one.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "host/testing/plugin_fixture.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

struct Opened {
  std::string path;
  bool is_path_only;  // O_PATH: examined, never read
};

std::string read_text(pid_t child, uint64_t address) {
  std::string text(4096, '\0');
  iovec local{text.data(), text.size()}, remote{reinterpret_cast<void*>(address), text.size()};
  ssize_t count = ::process_vm_readv(child, &local, 1, &remote, 1, 0);
  if (count < 0) {  // the text may end just before an unmapped page
    remote.iov_len = local.iov_len = 4096 - address % 4096;
    count = ::process_vm_readv(child, &local, 1, &remote, 1, 0);
  }
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text.substr(0, text.find('\0'));
}

std::string resolve_at(pid_t child, int folder, const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  const std::string link =
      "/proc/" + std::to_string(child) + (folder == AT_FDCWD ? "/cwd" : "/fd/" + std::to_string(folder));
  std::error_code failed;
  const auto base = std::filesystem::read_symlink(link, failed);
  return (failed ? std::filesystem::path(link) / path : base / path).lexically_normal().string();
}

// Returns nullopt when the call opens nothing.
std::optional<Opened> decode(pid_t child, const __ptrace_syscall_info& info) {
  const auto arg = [&](int i) { return info.entry.args[i]; };
  switch (info.entry.nr) {
    case SYS_openat:
      return Opened{resolve_at(child, static_cast<int>(arg(0)), read_text(child, arg(1))),
                    (arg(2) & O_PATH) != 0};
#ifdef SYS_openat2
    case SYS_openat2:
      return Opened{resolve_at(child, static_cast<int>(arg(0)), read_text(child, arg(1))), false};
#endif
#ifdef SYS_open
    case SYS_open:
      return Opened{resolve_at(child, AT_FDCWD, read_text(child, arg(0))), (arg(1) & O_PATH) != 0};
#endif
    case SYS_execve:
      return Opened{read_text(child, arg(0)), false};
    default:
      return std::nullopt;
  }
}

// Runs `body` in a child and returns every file that it tried to open. Nullopt when this
// machine forbids tracing.
std::optional<std::vector<Opened>> trace_opens(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  ::ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  std::vector<Opened> out;
  for (int signal = 0;;) {
    if (::ptrace(PTRACE_SYSCALL, child, 0, signal) != 0) break;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child failed";
      break;
    }
    const bool is_call = WSTOPSIG(status) == (SIGTRAP | 0x80);
    signal = is_call ? 0 : WSTOPSIG(status);
    __ptrace_syscall_info info{};
    if (!is_call || ::ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0) continue;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (auto opened = decode(child, info)) out.push_back(std::move(*opened));
  }
  return out;
}

bool is_beneath(const std::string& path, const std::string& folder) {
  return path == folder || path.rfind(folder + '/', 0) == 0;
}

struct HostileFixture {
  PluginFixture fixture;
  ScratchDir outside;
  RegistryOptions options;

  HostileFixture() {
    outside.write("canary.so", PluginFixture::read_file(std::string(ETB_BROKEN_DIR) + "/good.so"));
    outside.write("canary.json", "{}");
    fixture.add("plugins", std::string(ETB_BROKEN_DIR) + "/good.so");
    const std::string escape =
        "../../" + std::filesystem::path(outside.path()).filename().string() + "/canary.so";
    const char* folder = "plugins";
    add_library_path("escape.json", escape);
    add_library_path("absolute.json", outside.path("canary.so"));
    add_library_path("hidden.json", "a/../" + escape);
    add_library_path("link.json", "linked.so");
    add_library_path("through.json", "elsewhere/canary.so");
    std::filesystem::create_symlink(outside.path("canary.so"), fixture.path("plugins/linked.so"));
    std::filesystem::create_directory_symlink(outside.path(), fixture.path("plugins/elsewhere"));
    std::filesystem::create_symlink(outside.path("canary.json"), fixture.path("plugins/linked.json"));
    std::filesystem::create_symlink(outside.path("canary.json"),
                                    fixture.path("plugins/com.example.broken2.local.json"));
    json side = {{"id", "com.example.broken3"},
                 {"ops", {{"path", "../canary.json"}}},
                 {"certificate", "../canary.json"}};
    fixture.add(folder, std::string(ETB_BROKEN_DIR) + "/good.so", side, "side.json");
    options = fixture.options({"plugins", "not-there"});
    options.check_digests = true;
  }

  void add_library_path(const std::string& manifest, const std::string& path) {
    json document = PluginFixture::manifest("x", "x");
    document["id"] = "com.example.broken2";
    document["libraries"][0]["path"] = path;
    fixture.dir().write("plugins/" + manifest, document.dump());
  }

  // Files opened for reading, or opened at all without being a parent of the searched folder.
  std::vector<std::string> strangers(const std::vector<Opened>& opened) const {
    std::vector<std::string> out;
    for (const Opened& one : opened) {
      const bool is_parent =
          one.is_path_only && (one.path == "/" || is_beneath(fixture.path("plugins"), one.path) ||
                               is_beneath(fixture.path("bundle"), one.path));
      if (!is_parent && !is_beneath(one.path, fixture.path())) out.push_back(one.path);
    }
    return out;
  }
};

TEST(OpenedFiles, TheTracerSeesAnOpen) {
  const HostileFixture fixture;
  const auto opened =
      trace_opens([&] { ::close(::open(fixture.outside.path("canary.so").c_str(), O_RDONLY)); });
  if (!opened) GTEST_SKIP() << "this machine forbids ptrace";
  EXPECT_THAT(fixture.strangers(*opened), testing::ElementsAre(fixture.outside.path("canary.so")));
}

TEST(OpenedFiles, SearchStaysWithinItsTiers) {
  const HostileFixture fixture;
  const auto opened = trace_opens([&] { Registry registry(fixture.options); });
  if (!opened) GTEST_SKIP() << "this machine forbids ptrace";
  EXPECT_GT(opened->size(), 10u);
  EXPECT_THAT(fixture.strangers(*opened), testing::IsEmpty());
}

// proves: ABI-LOAD-04
TEST(OpenedFiles, LoadingOpensTheLibraryThroughItsDescriptorOnly) {
  HostileFixture fixture;
  fixture.fixture.add("bundle", std::string(ETB_BROKEN_DIR) + "/with_bundle.so",
                      {{"id", "com.example.broken"}, {"provides", {{{"id", "WithBundle"}}}}});
  fixture.fixture.dir().write("bundle/bundled.so", PluginFixture::read_file(ETB_BUNDLED));
  const auto opened = trace_opens([&] {
    Registry registry(fixture.options);
    if (!registry.open("BrokenBackend")) ::_exit(1);
    Registry with_bundle(fixture.fixture.options({"bundle"}));
    if (!with_bundle.open("WithBundle")) ::_exit(1);
  });
  if (!opened) GTEST_SKIP() << "this machine forbids ptrace";
  // The dynamic loader opens the descriptor and searches nothing: no cache, no folder of
  // LD_LIBRARY_PATH or of the system.
  EXPECT_THAT(fixture.strangers(*opened), testing::Each(testing::MatchesRegex("/proc/[0-9]+/fd/[0-9]+")));
  EXPECT_FALSE(fixture.strangers(*opened).empty());
  for (const Opened& one : *opened) EXPECT_FALSE(is_beneath(one.path, fixture.outside.path())) << one.path;
}

}  // namespace
}  // namespace etb::host
