// SPDX-License-Identifier: Apache-2.0
// hyg: the process around the plugin stays unchanged.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "conformance/checks/async_run.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/file_watch.hpp"
#include "conformance/subject/process_attributes.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

// The validate layer compares the whole process before and after every call, of which execute_async may start threads.
void process_state_is_unchanged(CheckContext& context) {
  const auto subject = context.open({.whole_process = true});
  if (!subject) return;
  const bool is_async = (subject->table().delegate->caps & ETB_DELEGATE_CAP_EXECUTE_ASYNC) != 0;
  context.each_session(*subject, context.claimed(*subject, 3), [&](ReadyCase& ready) {
    (void)ready.run();
    if (!is_async) return;
    auto run = std::make_unique<AsyncRun>(ready, ready.inputs());
    run->start(ready);
    if (run->started == ETB_OK) (void)expect_signalled(context, ready, run);
  });
  subject->close();
  context.take_violations(*subject);
}

mode_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

// A timer that the program did not set can end it by a signal.
void no_timers(CheckContext& context) {
  context.each_session({}, 1, [](ReadyCase& ready) { (void)ready.run(); });
  for (const auto which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) {
    itimerval timer{};
    ::getitimer(which, &timer);
    if (timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0)
      return context.fail("the plugin set a timer of the process");
  }
}

void limits_are_unchanged(CheckContext& context) {
  const mode_t mask = current_umask();
  rlimit before{}, after{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  context.each_session({}, 1, [](ReadyCase& ready) { (void)ready.run(); });
  ::getrlimit(RLIMIT_NOFILE, &after);
  if (current_umask() != mask) context.fail("the plugin changed the umask");
  if (before.rlim_cur != after.rlim_cur || before.rlim_max != after.rlim_max)
    context.fail("the plugin changed the limit of open files");
}

// Compares attributes after each step of a plugin's life. Reports the first step that changes some.
class AttributeWatch {
 public:
  explicit AttributeWatch(CheckContext& context) : context_(context), before_(read_process_attributes()) {}

  void after(const std::string& step) {
    ProcessAttributes now = read_process_attributes();
    if (const std::string difference = find_difference(before_, now); !difference.empty())
      context_.fail(step + " changes: " + difference);
    before_ = std::move(now);
  }
  bool has_failed() const { return !context_.outcome().findings.empty(); }

 private:
  CheckContext& context_;
  ProcessAttributes before_;
};

// Calls that succeed and calls that fail, on one case.
void watch_calls(CheckContext& context, Subject& subject, const ClaimedCase& item, AttributeWatch& watch) {
  const std::string name = item.item->name + ": ";
  std::string error;
  (void)partition(subject, item.built.image);
  (void)dry_check(subject, item.built.image, error);
  watch.after(name + "partition");
  (void)compile(subject, item.built.image);
  watch.after(name + "compile");
  const etb_option unknown = make_option("no-plugin-has-this-option", ETB_OPTION_I64);
  Payload cut = item.payload;
  cut.bytes.resize(cut.bytes.size() / 2);
  (void)CaseSession::make(subject, item.built, std::move(cut));
  (void)CaseSession::make(subject, item.built, item.payload, {unknown});
  watch.after(name + "a create that fails");
  std::unique_ptr<CaseSession> session = context.make_session(subject, item);
  watch.after(name + "create");
  if (!session) return;
  for (const std::vector<TensorData>& inputs : item.built.runs) (void)session->run(inputs);
  watch.after(name + "execute");
  (void)session->run_damaged(item.built.runs[0], Damage::kRank);
  (void)session->run(item.built.runs[0], {.options = {unknown}});
  const etb_cancel_token stop = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr, [](void*) { return 1u; }};
  (void)session->run(item.built.runs[0], {.cancel = &stop});
  watch.after(name + "a run that fails");
  session.reset();
  watch.after(name + "destroy");
}

void attributes_are_unchanged(CheckContext& context) {
  AttributeWatch watch(context);
  const size_t children = child_count();
  const auto subject = context.open(bare());
  if (!subject) return;
  watch.after("loading or init");
  constexpr size_t kItems = 24;
  for (const ClaimedCase& item : context.claimed(*subject, kItems)) {
    watch_calls(context, *subject, item, watch);
    if (watch.has_failed()) return;
  }
  subject->close();
  watch.after("deinit");
  if (const size_t left = child_count(); left > children)
    context.fail(std::to_string(left - children) + " child processes, or their remains, after deinit");
}

// Some attributes belong to a thread: a run may happen on any.
void attributes_of_threads_are_unchanged(CheckContext& context) {
  SubjectOptions host = bare();
  host.worker_count = 4;
  const auto subject = context.open(host);
  if (!subject) return;
  // Large ones, too, of which the host's workers have pieces.
  std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  for (const char* pattern : {"op.*.large.*", "op.mm.*", "op.convolution.*.large*", "net.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 3))
      items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    std::string difference;
    std::thread([&] {
      const ProcessAttributes before = read_process_attributes();
      (void)ready.run();
      difference = find_difference(before, read_process_attributes());
    }).join();
    if (!difference.empty()) context.fail(ready.name() + ": a run on another thread changes: " + difference);
  });
}

bool begins_with(const std::string& path, const char* folder) {
  return folder != nullptr && *folder != '\0' && path.rfind(std::string(folder) + "/", 0) == 0;
}

// Devices, what the kernel shows of processes, temporary files, and shared memory that is gone.
bool may_be_written(const std::string& path) {
  if (begins_with(path, "/dev/shm")) return ::access(path.c_str(), F_OK) != 0;
  return begins_with(path, "/dev") || begins_with(path, "/proc") || begins_with(path, "/sys") ||
         begins_with(path, std::getenv("TMPDIR"));
}

// Drivers keep compiled kernels there.
bool is_cache(const std::string& path) {
  const char* const home = std::getenv("HOME");
  const std::string cache = home != nullptr ? std::string(home) + "/.cache" : "";
  return begins_with(path, std::getenv("XDG_CACHE_HOME")) || begins_with(path, cache.c_str());
}

// A delegate with a constant of a megabyte, which a plugin may store in a file.
void make_large_delegate(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  for (const ConstantUse use : kConstantUses) {
    const Result<BuiltCase> built = with_constant(use, 512, "large constant");
    if (!built || !partition(*subject, built->image).is_whole_claim()) continue;
    const Compiled compiled = compile(*subject, built->image);
    if (compiled.status == ETB_OK) (void)CaseSession::make(*subject, *built, compiled.payload);
  }
}

void files_are_temporary(CheckContext& context) {
  constexpr uint64_t kMostMs = 20000;
  const std::optional<std::set<std::string>> paths = watch_files(
      [&] {
        context.each_session(bare(), 12, [](ReadyCase& ready) { (void)ready.run(); });
        make_large_delegate(context);
      },
      kMostMs);
  if (!paths)
    return context.skip("the kernel cannot report the files that a process opens, or the runs take long");
  std::string cached;
  for (const std::string& path : *paths)
    if (is_cache(path))
      cached = path;
    else if (!may_be_written(path))
      context.fail("opens for writing, creates or removes '" + path + "'");
  if (!cached.empty()) context.warn("writes to the user's folder of caches: '" + cached + "'");
}

constexpr Check kChecks[] = {
    {"hyg.process-state-is-unchanged",
     "Floating-point control, signal mask and handlers, locale, directory, environment and threads are as "
     "before each call.",
     "ABI-HYG-01", process_state_is_unchanged},
    {"hyg.limits-are-unchanged", "The umask and the limits of the process are as before.", "ABI-HYG-01",
     limits_are_unchanged},
    {"hyg.attributes-are-unchanged",
     "Limits, priorities, affinity, timers, signals, streams, process settings, locale, environment and "
     "arithmetic are as before after every call, also one that fails.",
     "ABI-HYG-01", attributes_are_unchanged},
    {"hyg.attributes-of-threads-are-unchanged", "A run leaves the attributes of its thread as they are.",
     "ABI-HYG-01", attributes_of_threads_are_unchanged},
    {"hyg.files-are-temporary",
     "Files are written only below TMPDIR; the user's folder of caches is a warning.", "",
     files_are_temporary},
    {"hyg.no-timers", "No timer of the process runs afterwards.", "ABI-HYG-01", no_timers},
};

}  // namespace

std::span<const Check> hyg_checks() { return kChecks; }

}  // namespace etb::conformance
