// SPDX-License-Identifier: Apache-2.0
// hyg: processes with more rights than their user, and processes that may open nothing.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/environment_watch.hpp"
#include "conformance/subject/system_calls.hpp"

namespace etb::conformance {
namespace {

// Compiles and runs a few claimed cases. The subject has no layers.
void use(CheckContext& context, Subject& subject, const std::vector<ClaimedCase>& items, const char* where) {
  for (const ClaimedCase& item : items) {
    context.progress().at(item.item->name.c_str());
    const Compiled compiled = compile(subject, item.built.image);
    if (compiled.status != ETB_OK)
      return context.fail(fmt::format("{}: {}, compile fails: {}", item.item->name, where, compiled.error));
    const auto session = CaseSession::make(subject, item.built, compiled.payload);
    if (!session)
      return context.fail(
          fmt::format("{}: {}, create fails: {}", item.item->name, where, session.error().message));
    const RunResult result = (*session)->run(item.built.runs[0]);
    if (result.status != ETB_OK || !context.is_right(item, result))
      return context.fail(fmt::format("{}: {}, a run fails or is wrong", item.item->name, where));
  }
}

// ---- more rights than the user

// A host whose process has more rights than its user.
etb_host make_secure_host() {
  etb_host host{};
  host.struct_size = sizeof(host);
  host.flags = ETB_HOST_SECURE;
  host.abi_version = ETB_ABI_VERSION;
  host.name = "secure host";
  host.version = "1.0.0";
  host.plugin_dir = "";
  host.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
  return host;
}

void secure_hosts(CheckContext& context) {
  const auto loaded = context.open(bare());  // keeps the library in the process
  if (!loaded) return;
  const std::vector<ClaimedCase> items = context.claimed(*loaded, 4);
  if (items.empty()) return;
  EnvironmentWatch watch(reinterpret_cast<const void*>(loaded->library().query_function()));
  const etb_host host = make_secure_host();
  context.progress().at("init on a secure host");
  const auto subject = context.open({.bare_host = &host});
  // Later, a plugin may save the environment around calls of a driver that changes it.
  if (watch.end_watch_of_environ())
    return context.fail("init goes through 'environ' on a host with ETB_HOST_SECURE");
  if (!subject) return;
  use(context, *subject, items, "on a secure host");
  if (const std::vector<std::string> names = watch.names(); !names.empty())
    context.fail(
        fmt::format("reads the environment variable '{}' on a host with ETB_HOST_SECURE", names.front()));
}

// ---- no files, no network

// Starts a second instance where no file can be opened, which the host's own way of opening needs.
void init_again(CheckContext& context, Subject& subject) {
  const etb_host& host = subject.library().host();
  etb_plugin* plugin = nullptr;
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("init in a process that may open nothing");
  const etb_plugin_table& table = subject.library().table();
  if (table.init(&host, nullptr, 0, &plugin, &error) != ETB_OK)
    return context.fail(std::string("in a process that may open nothing, init fails: ") + error.text);
  if (table.deinit(plugin, &error) != ETB_OK)
    context.fail(std::string("in a process that may open nothing, deinit fails: ") + error.text);
}

// The child's part; it cannot take the filter back. Returns what is wrong, "" for nothing.
std::string use_without_files(CheckContext& context) {
  const auto subject = context.open(bare());
  if (subject) {
    // Convolutions choose kernels by what the processor has, which some libraries read from files.
    std::vector<ClaimedCase> items = context.claimed(*subject, 6);
    for (const char* pattern : {"op.convolution.*", "op.*.large*", "quant.*"})
      for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, 6))
        items.push_back(std::move(item));
    if (const Status filtered = forbid_files_and_network(); !filtered) return {};
    init_again(context, *subject);
    use(context, *subject, items, "in a process that may open nothing");
  }
  const auto& findings = context.outcome().findings;
  return findings.empty() ? std::string() : findings.front().text;
}

void sandboxed_runs(CheckContext& context) {
  {
    const auto subject = context.open(bare());
    if (!subject) return;
    if ((subject->table().ident->flags & ETB_PLUGIN_SANDBOX_OK) == 0)
      return context.skip("the plugin does not claim ETB_PLUGIN_SANDBOX_OK");
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return context.fail("the suite cannot create a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = use_without_files(context);
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t count = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  int status = 1;
  if (child > 0) ::waitpid(child, &status, 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (!text.empty()) return context.fail(text);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    context.fail("in a process that may open nothing, the plugin crashes");
}

constexpr Check kChecks[] = {
    {"hyg.secure-hosts", "On a host with ETB_HOST_SECURE the plugin reads no variable of the environment.",
     "", secure_hosts},
    {"hyg.sandboxed-runs",
     "With ETB_PLUGIN_SANDBOX_OK the plugin starts, compiles and runs where no file and no socket can be "
     "opened.",
     "", sandboxed_runs},
};

}  // namespace

std::span<const Check> restricted_checks() { return kChecks; }

}  // namespace etb::conformance
