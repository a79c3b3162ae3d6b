// SPDX-License-Identifier: Apache-2.0
// hyg: the process around the plugin stays unchanged.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// The validate layer compares the whole process before and after every call.
void process_state_is_unchanged(CheckContext& context) {
  const auto subject = context.open({.whole_process = true});
  if (!subject) return;
  context.each_session(*subject, context.claimed(*subject, 3), [](ReadyCase& ready) { (void)ready.run(); });
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

constexpr Check kChecks[] = {
    {"hyg.process-state-is-unchanged",
     "Floating-point control, signal mask and handlers, locale, directory, environment and threads are as "
     "before each call.",
     "ABI-HYG-01", process_state_is_unchanged},
    {"hyg.limits-are-unchanged", "The umask and the limits of the process are as before.", "ABI-HYG-01",
     limits_are_unchanged},
    {"hyg.no-timers", "No timer of the process runs afterwards.", "ABI-HYG-01", no_timers},
};

}  // namespace

std::span<const Check> hyg_checks() { return kChecks; }

}  // namespace etb::conformance
