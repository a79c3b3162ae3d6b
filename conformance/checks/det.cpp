// SPDX-License-Identifier: Apache-2.0
// det: determinism.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

uint64_t hash_outputs(const std::vector<TensorData>& outputs) {
  uint64_t hash = 7;
  for (const TensorData& output : outputs)
    hash = hash * 31 + hash_text({reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()});
  return hash;
}

void twenty_runs(CheckContext& context) {
  context.each_session(bare(), 24, [&](ReadyCase& ready) {
    const uint64_t first = hash_outputs(ready.run().outputs);
    for (int i = 1; i < 20; ++i)
      if (hash_outputs(ready.run({.fill = static_cast<uint8_t>(i * 13)}).outputs) != first)
        return context.fail(ready.name() + ": a run returns another result than the previous run");
  });
}

// Compares with another delegate of the same instance, and with one of another instance of the same library.
void other_instance(CheckContext& context) {
  const auto subject = context.open(bare());
  const auto other = context.open(bare());
  if (!subject || !other) return;
  for (const ClaimedCase& item : context.claimed(*subject, 24)) {
    const auto first = context.make_session(*subject, item), second = context.make_session(*subject, item),
               third = context.make_session(*other, item);
    if (!first || !second || !third) return;
    const std::vector<TensorData>& inputs = item.built.runs[0];
    const uint64_t expected = hash_outputs(first->run(inputs).outputs);
    if (hash_outputs(second->run(inputs).outputs) != expected)
      return context.fail(item.item->name + ": a second delegate returns another result");
    if (hash_outputs(third->run(inputs).outputs) != expected)
      return context.fail(item.item->name + ": a delegate of another instance returns another result");
  }
}

void compile_is_pure(CheckContext& context) {
  const auto subject = context.open(bare());
  const auto other = context.open(bare());
  if (!subject || !other) return;
  for (const ClaimedCase& item : context.claimed(*subject, 24)) {
    const Compiled again = compile(*subject, item.built.image), elsewhere = compile(*other, item.built.image);
    if (!(again.payload == item.payload))
      return context.fail(item.item->name + ": a second compilation returns other bytes");
    if (!(elsewhere.payload == item.payload))
      return context.fail(item.item->name + ": another instance compiles to other bytes");
  }
}

// Compiles on one processor, as on a machine with no other.
void compile_on_one_processor(CheckContext& context) {
  cpu_set_t all, one;
  if (::sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
    return context.skip("the process has one processor only");
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 24);
  for (ClaimedCase& item : context.find_claimed_like(*subject, "model.*", 6))
    items.push_back(std::move(item));
  (void)::sched_setaffinity(0, sizeof(one), &one);
  if (const auto other = context.open(bare()))
    for (const ClaimedCase& item : items)
      if (!(compile(*other, item.built.image).payload == item.payload)) {
        context.fail(item.item->name + ": compiled on one processor the payload has other bytes");
        break;
      }
  (void)::sched_setaffinity(0, sizeof(all), &all);
}

// Returns a hash of the sample's results in this process. Keeps its instance open until the parent signals.
uint64_t hash_here(CheckContext& context) {
  uint64_t hash = 3;
  context.each_session(bare(), 8, [&](ReadyCase& ready) {
    const std::vector<std::byte>& payload = ready.item.payload.bytes;
    hash = hash * 31 + hash_outputs(ready.run().outputs);
    hash = hash * 31 + hash_text({reinterpret_cast<const char*>(payload.data()), payload.size()});
  });
  return context.outcome().findings.empty() ? hash : 0;
}

void second_process(CheckContext& context) {
  // The other process opens the plugin first and keeps it open, so that both use the device at the same time.
  int answer[2], go[2];
  if (::pipe2(answer, O_CLOEXEC) != 0 || ::pipe2(go, O_CLOEXEC) != 0)
    return context.fail("the suite cannot create a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(go[1]);
    const auto subject = context.open(bare());
    const uint64_t hash = subject ? hash_here(context) : 0;
    (void)!::write(answer[1], &hash, sizeof(hash));
    char wait = 0;
    (void)!::read(go[0], &wait, 1);
    ::_exit(0);
  }
  ::close(answer[1]);
  ::close(go[0]);
  uint64_t theirs = 0;
  const bool has_answer = ::read(answer[0], &theirs, sizeof(theirs)) == sizeof(theirs);
  const uint64_t ours = has_answer ? hash_here(context) : 0;
  ::close(go[1]);
  ::close(answer[0]);
  ::waitpid(child, nullptr, 0);
  if (!has_answer) return context.fail("the other process ended without a result");
  if (context.outcome().state == State::kUnsupported) return;
  if (ours != theirs) context.fail("a second process on the same device computes other results or payloads");
}

constexpr Check kChecks[] = {
    {"det.twenty-runs",
     "Equal inputs return equal bytes, twenty times, with any previous contents of the outputs.", "",
     twenty_runs},
    {"det.other-instance", "Other delegates and other instances return equal bytes.", "", other_instance},
    {"det.compile-is-pure", "A second compilation, in this or another instance, returns equal bytes.",
     "ABI-AOT-02", compile_is_pure},
    {"det.compile-on-one-processor", "Compiled on one of several processors a payload has the same bytes.",
     "ABI-AOT-02", compile_on_one_processor},
    {"det.second-process",
     "Two processes that use the device at the same time compute equal results and payloads.", "ABI-AOT-02",
     second_process},
};

}  // namespace

std::span<const Check> det_checks() { return kChecks; }

}  // namespace etb::conformance
