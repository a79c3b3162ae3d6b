// SPDX-License-Identifier: Apache-2.0
// leak: resources that remain. Counts start after a warm-up, so that caches may fill once.
#include <fmt/format.h>
#include <unistd.h>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

constexpr int kWarmUp = 20;
constexpr int kLoops = 200;

// Returns the growth of `count` per loop of `body`.
template <class Body>
double growth(size_t (*count)(), Body body) {
  for (int i = 0; i < kWarmUp; ++i) body();
  const size_t before = count();
  for (int i = 0; i < kLoops; ++i) body();
  const size_t after = count();
  return (static_cast<double>(after) - static_cast<double>(before)) / kLoops;
}

void per_delegate(CheckContext& context, size_t (*count)(), double most, const char* what) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject)) {
    const double grown = growth(count, [&] {
      const auto session = context.make_session(*subject, item);
      if (session) (void)session->run(item.built.runs[0]);
    });
    if (grown > most)
      context.fail(
          fmt::format("{:.2f} {} more for each delegate that was created, run and destroyed", grown, what));
  }
}

void descriptors(CheckContext& context) {
  per_delegate(context, open_descriptor_count, 0.05, "open descriptors");
}
void threads(CheckContext& context) { per_delegate(context, thread_count, 0.05, "threads"); }
void mappings(CheckContext& context) { per_delegate(context, mapping_count, 0.1, "mappings"); }
void heap_of_delegates(CheckContext& context) { per_delegate(context, heap_bytes, 8, "heap bytes"); }

void heap_of_runs(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const double grown = growth(heap_bytes, [&] { (void)ready.run(); });
    if (grown > 8) context.fail(fmt::format("{:.1f} more heap bytes for each run", grown));
  });
}

// alloc/1 counts memory. After deinit the balance must be zero; the validate layer reports it.
void host_memory(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  context.each_session(*subject, context.claimed(*subject, 4), [](ReadyCase& ready) { (void)ready.run(); });
  subject->close();
  context.take_violations(*subject);
}

void threads_after_deinit(CheckContext& context) {
  const size_t before = thread_count();
  context.each_session(bare(), 1, [](ReadyCase& ready) { (void)ready.run(); });
  // A thread that is ending may need a moment.
  for (int i = 0; i < 200 && thread_count() > before; ++i) ::usleep(10000);
  if (const size_t after = thread_count(); after > before)
    context.fail(fmt::format("{} threads still run after deinit", after - before));
}

constexpr Check kChecks[] = {
    {"leak.descriptors", "Creating, running and destroying delegates leaves no open descriptor.", "",
     descriptors},
    {"leak.threads", "Creating, running and destroying delegates leaves no thread.", "ABI-HYG-02", threads},
    {"leak.mappings", "Creating, running and destroying delegates leaves no mapping.", "", mappings},
    {"leak.heap-of-delegates", "Creating, running and destroying delegates leaves no heap memory.", "",
     heap_of_delegates},
    {"leak.heap-of-runs", "Repeated runs use no additional memory.", "", heap_of_runs},
    {"leak.host-memory", "After deinit all memory of alloc/1 is released.", "ABI-HYG-03", host_memory},
    {"leak.threads-after-deinit", "After deinit no thread runs.", "ABI-HYG-02", threads_after_deinit},
};

}  // namespace

std::span<const Check> leak_checks() { return kChecks; }

}  // namespace etb::conformance
