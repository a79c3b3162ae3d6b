// SPDX-License-Identifier: Apache-2.0
// unload: closing the plugin.
#include <fmt/format.h>

#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_values.hpp"
#include "conformance/subject/monotonic_clock.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(path) != std::string::npos) return true;
  return false;
}

// Runs one case of each op, and some along the first dimension and with dynamic sizes, also with a deadline.
void run_varied(CheckContext& context, Subject& subject) {
  constexpr uint64_t kLaterNs = 3600ull * 1000000000;
  std::vector<ClaimedCase> items = context.claimed(subject, 40);
  for (const char* pattern : {"op.*.dim_m2*", "op.*.dim_0*", "dyn.*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(subject, pattern, 12))
      items.push_back(std::move(item));
  context.each_session(subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    (void)ready.run();
    (void)ready.run({.deadline_ns = monotonic_ns() + kLaterNs});
  });
}

void twenty_times(CheckContext& context) {
  const std::string& path = context.spec().entry.library_path;
  bool may_unload = false;
  const size_t threads = thread_count();
  if (const auto subject = context.open(bare())) {
    run_varied(context, *subject);
    subject->close();
  }
  for (int i = context.opens(20); i > 0; --i) {
    const auto subject = context.open(bare());
    if (!subject) return;
    may_unload = (subject->library().ident().flags & ETB_PLUGIN_UNLOADABLE) != 0;
    context.each_session(*subject, context.claimed(*subject), [](ReadyCase& ready) { (void)ready.run(); });
    subject->close();
  }
  if (may_unload && !path.empty() && is_mapped(path))
    context.fail("the plugin declares ETB_PLUGIN_UNLOADABLE, but stays mapped after deinit and unloading");
  if (const size_t left = thread_count(); may_unload && left > threads)
    context.fail(
        fmt::format("the plugin declares ETB_PLUGIN_UNLOADABLE, and leaves {} threads", left - threads));
}

// Runs the payloads of the first life in a second one, and compares.
void starts_again(CheckContext& context) {
  // This one has no instance. It keeps the library mapped, so the second life finds static memory as the first left it.
  const auto kept = host::LoadedPlugin::load(context.spec().entry, context.spec().load_options);
  if (!kept) return context.fail(kept.error().message);
  std::vector<ClaimedCase> items;
  std::vector<RunResult> first;
  {
    const auto subject = context.open(bare());
    if (!subject) return;
    items = context.claimed(*subject, 24);
    for (const ClaimedCase& item : items) {
      const auto session = context.make_session(*subject, item);
      if (!session) return;
      first.push_back(session->run(item.built.runs[0]));
    }
    subject->close();
  }
  context.progress().at("init after the last instance ended");
  const auto subject = context.open(bare());
  if (!subject) return;
  for (size_t i = 0; i < items.size(); ++i) {
    const ClaimedCase& item = items[i];
    if (item.payload != compile(*subject, item.built.image).payload)
      return context.fail(item.item->name + ": the second life compiles to other bytes");
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const RunResult second = session->run(item.built.runs[0]);
    if (!has_same_result(second, first[i]))
      return context.fail(item.item->name + ": the second life has another result");
  }
}

// Runs graphs with values of some megabytes, each with a delegate of its own. Returns false if the plugin claims none.
bool use_large_values(CheckContext& context, Subject& subject) {
  bool has_any = false;
  for (const LargeForm& large : kLargeForms) {
    if (large.form == Large::kWide || large.form == Large::kCodes || large.form == Large::kResize) continue;
    const Result<BuiltCase> built = with_large_values(large.form, large.elements);
    if (!built || subject.table().aot == nullptr || !partition(subject, built->image).is_whole_claim())
      continue;
    Compiled compiled = compile(subject, built->image);
    if (compiled.status != ETB_OK) continue;
    context.progress().restart();
    context.progress().at("a run with large values");
    const auto session = CaseSession::make(subject, *built, std::move(compiled.payload));
    if (session) has_any = (*session)->run(built->runs[0]).status == ETB_OK || has_any;
  }
  return has_any;
}

// Several lives with large values. A block that each of them leaves is in every difference between two lives.
void large_values_are_freed(CheckContext& context) {
  constexpr size_t kLeastBytes = size_t{1} << 19;
  const int lives = std::max(4, context.opens(6));
  size_t before = 0, least = SIZE_MAX;
  // Arenas of a driver's threads may grow for some lives, so those that grow each time are three times as many.
  for (int i = 0; i < lives || (i < 3 * lives && least >= kLeastBytes); ++i) {
    // The layer reports memory of alloc/1.
    const auto subject = context.open(i == 0 ? SubjectOptions{} : bare());
    if (!subject) return;
    if (!use_large_values(context, *subject))
      return context.skip("the plugin claims no graph with large values");
    subject->close();
    context.take_violations(*subject);
    (void)::malloc_trim(0);
    const size_t now = held_bytes();
    // The first lives may fill what the process keeps once.
    if (i > 1) least = std::min(least, now > before ? now - before : 0);
    before = now;
  }
  context.outcome().measured.emplace_back("life.kept_bytes", static_cast<double>(least));
  if (least >= kLeastBytes)
    context.fail(
        fmt::format("after deinit, each life that ran with large values leaves {} bytes or more", least));
}

// A host whose log counts calls after the plugin's end.
struct LateLog {
  etb_log_service service{};
  etb_clock_service clock{};
  bool is_over = false;
  size_t late_count = 0;
};
LateLog late_log;

// Keeps the plugin and records when deinit ends. Calls during unloading come later.
struct NotedLife : host::PluginLife {
  explicit NotedLife(std::shared_ptr<host::LoadedPlugin> loaded) : plugin(std::move(loaded)) {}
  void on_deinit(etb_status status) noexcept override {
    late_log.is_over = true;
    plugin->on_deinit(status);
  }
  std::shared_ptr<host::LoadedPlugin> plugin;
};

// A host with that log and no other service.
etb_host late_host() {
  late_log = {};
  late_log.service.struct_size = sizeof(etb_log_service);
  late_log.service.write = [](void*, uint32_t, const char*, const etb_option*, uint64_t) {
    late_log.late_count += late_log.is_over ? 1 : 0;
  };
  etb_host host{};
  host.struct_size = sizeof(host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = "application";
  host.version = "1.0.0";
  host.plugin_dir = "";
  host.get_service = [](const etb_host*, const char* id) -> const void* {
    if (late_log.is_over) ++late_log.late_count;
    return std::strcmp(id, ETB_SERVICE_LOG) == 0 ? &late_log.service : nullptr;
  };
  return host;
}

void no_calls_after_deinit(CheckContext& context) {
  const etb_host host = late_host();
  host::LoadOptions options = context.spec().load_options;
  options.host = &host;
  {
    Result<std::shared_ptr<host::LoadedPlugin>> plugin =
        host::LoadedPlugin::load(context.spec().entry, options);
    if (!plugin) return context.fail(plugin.error().message);
    const auto life = std::make_shared<NotedLife>(std::move(*plugin));
    const Result<host::PluginContext> made =
        host::PluginContext::make(life, life->plugin->table(), life->plugin->host());
    if (!made) return context.fail("init: " + made.error().message);
  }
  // Loading again runs the library's constructors and query, after its destructors if it was unmapped.
  (void)host::LoadedPlugin::load(context.spec().entry, context.spec().load_options);
  if (late_log.late_count != 0)
    context.fail(fmt::format("{} calls of host services after deinit", late_log.late_count));
}

// A thread of the application ends after the plugin. Thread-exit handlers left by the plugin run then.
void threads_end_later(CheckContext& context) {
  const etb_host host = late_host();
  SubjectOptions options = bare();
  options.bare_host = &host;
  auto subject = context.open(options);
  if (!subject) return;
  std::promise<void> has_run, is_unloaded;
  std::thread user([&] {
    context.each_session(*subject, context.claimed(*subject, 4), [](ReadyCase& ready) { (void)ready.run(); });
    has_run.set_value();
    is_unloaded.get_future().wait();
  });
  has_run.get_future().wait();
  context.progress().at("a thread ends after unloading");
  subject->close();
  late_log.is_over = true;
  is_unloaded.set_value();
  user.join();
  if (late_log.late_count != 0)
    context.fail(
        fmt::format("{} calls of host services when a thread ended after deinit", late_log.late_count));
}

// Processor time of a process.
std::chrono::nanoseconds used_by(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

// Waits for a child. Returns false if it used that much processor time, or none for so long: on a busy machine a process ends late.
bool wait_for_end(pid_t child, std::chrono::milliseconds most, int& status) {
  using Clock = std::chrono::steady_clock;
  auto progress = Clock::now();
  for (std::chrono::nanoseconds used{0}; ::waitpid(child, &status, WNOHANG) == 0; ::usleep(100)) {
    const std::chrono::nanoseconds now = used_by(child);
    if (now != used) progress = Clock::now();
    used = now;
    if (used > most || Clock::now() - progress > most) return false;
  }
  return true;
}

// The application ends normally: exit handlers, destructors of static objects, handlers of quick_exit. A handler
// that the plugin left runs code that is gone.
void program_ends_later(CheckContext& context) {
  for (const bool is_quick : {false, true}) {
    const char* const call = is_quick ? "quick_exit" : "exit";
    context.progress().at((std::string(call) + " after unloading").c_str());
    const pid_t child = ::fork();
    if (child == 0) {
      if (const auto subject = context.open(bare())) {
        context.each_session(*subject, context.claimed(*subject, 4),
                             [](ReadyCase& ready) { (void)ready.run(); });
        subject->close();
      }
      is_quick ? std::quick_exit(0) : std::exit(0);
    }
    int status = 0;
    const bool has_ended = wait_for_end(child, 2 * context.patience(), status);
    if (!has_ended) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      context.fail(fmt::format("{} after unloading does not end the process", call));
    } else if (WIFSIGNALED(status)) {
      context.fail(fmt::format("{} after unloading ends with signal {} ({})", call, WTERMSIG(status),
                               ::strsignal(WTERMSIG(status))));
    }
  }
}

constexpr Check kChecks[] = {
    {"unload.twenty-times",
     "The library is loaded, used and unloaded twenty times, a slow one less often; an unloadable one is "
     "then unmapped.",
     "ABI-LOAD-05", twenty_times},
    {"unload.a-linked-plugin-starts-again",
     "A library that stays mapped, as a plugin that is linked into a program, has a second life with the "
     "payloads and results of the first.",
     "ABI-LIFE-01", starts_again},
    {"unload.large-values-are-freed", "Lives with values of megabytes leave no block of them when they end.",
     "", large_values_are_freed},
    {"unload.no-calls-after-deinit", "No host service is called after deinit or during unloading.",
     "ABI-SYM-02", no_calls_after_deinit},
    {"unload.threads-end-later", "A thread that ran the plugin may end after deinit and unloading.",
     "ABI-LOAD-05", threads_end_later},
    {"unload.program-ends-later", "After unloading the program can end by exit and by quick_exit.",
     "ABI-LOAD-05", program_ends_later},
};

}  // namespace

std::span<const Check> unload_checks() { return kChecks; }

}  // namespace etb::conformance
