// SPDX-License-Identifier: Apache-2.0
// mem: ownership of memory. Every case uses guard pages, read-only inputs and garbage in outputs.
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// The validate layer protects the payload's pages after the release, so later reads are detected.
void payload_after_release(CheckContext& context) {
  context.each_session({}, 4, [&](ReadyCase& ready) {
    for (int i = 0; i < 3; ++i)
      if (const RunResult result = ready.run(); result.status != ETB_OK) context.fail(result.error.text);
  });
}

// The plugin must write every output byte, for any previous contents.
void outputs_are_written(CheckContext& context) {
  context.each_session(bare(), 16, [&](ReadyCase& ready) {
    std::vector<TensorData> first;
    for (const uint8_t fill : {0x00, 0xff, 0x7f, 0x80}) {
      const RunResult result = ready.run({.fill = fill});
      if (first.empty()) first = result.outputs;
      for (size_t i = 0; i < first.size(); ++i)
        if (first[i].bytes != result.outputs[i].bytes)
          return context.fail(ready.name() + ": the result depends on the previous contents of the output");
    }
  });
}

// The alignment that query_io requested must be enough.
void least_alignment(CheckContext& context) {
  context.each_session(bare(), 16, [&](ReadyCase& ready) {
    const RunResult expected = ready.run();
    const RunResult result = ready.run({.has_least_alignment = true});
    if (result.status != ETB_OK)
      return context.fail(ready.name() +
                          ": with the requested alignment execute fails: " + result.error.text);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      if (expected.outputs[i].bytes != result.outputs[i].bytes)
        return context.fail(ready.name() + ": another result with the requested alignment");
  });
}

// An output that shares memory with an input must have the same result as elsewhere.
void shared_memory(CheckContext& context) {
  size_t count = 0;
  context.each_session(bare(), 40, [&](ReadyCase& ready) {
    if (!ready.session.may_share_memory()) return;
    ++count;
    const RunResult expected = ready.run();
    const RunResult result = ready.run({.shares_memory = true});
    if (result.status != ETB_OK)
      return context.fail(ready.name() +
                          ": with an output in the memory of an input execute fails: " + result.error.text);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      if (expected.outputs[i].bytes != result.outputs[i].bytes)
        return context.fail(
            ready.name() +
            ": another result when the output shares the memory of an input, as query_io allows");
  });
  if (count == 0 && context.outcome().findings.empty())
    context.skip("no output may share memory with an input");
}

constexpr Check kChecks[] = {
    {"mem.payload-after-release", "Payload bytes are not accessed after their release.", "ABI-OWN-03",
     payload_after_release},
    {"mem.outputs-are-written", "Every byte of every output is written.", "ABI-TENSOR-02",
     outputs_are_written},
    {"mem.least-alignment", "Memory with exactly the alignment of query_io is sufficient.", "ABI-EXEC-04",
     least_alignment},
    {"mem.output-shares-an-input", "An output may share the memory of an input where query_io allows it.",
     "ABI-EXEC-04", shared_memory},
};

}  // namespace

std::span<const Check> mem_checks() { return kChecks; }

}  // namespace etb::conformance
