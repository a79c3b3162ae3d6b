// SPDX-License-Identifier: Apache-2.0
// run: context_reserve, and arguments of execute that change no result.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/long_case.hpp"
#include "conformance/subject/heap_watch.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

// Calls context_reserve for the sizes of these inputs, without data.
etb_status reserve(ReadyCase& ready, const std::vector<TensorData>& inputs, etb_error* error) {
  const std::unique_ptr<PreparedRun> run = ready.session.prepare(inputs);
  for (uint32_t i = 0; i < run->args.input_count; ++i) {
    run->tensors[i].data = nullptr;
    run->tensors[i].capacity_bytes = 0;
  }
  return ready.subject.table().delegate->context_reserve(ready.session.context(), run->tensors.data(),
                                                         run->args.input_count, error);
}

bool has_reserve(CheckContext& context, Subject& subject) {
  if ((subject.table().delegate->caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE) != 0) return true;
  context.skip("the plugin has no context_reserve");
  return false;
}

// Cases with dynamic sizes of so many ops, and a few with static ones.
std::vector<ClaimedCase> static_and_dynamic(CheckContext& context, Subject& subject, size_t op_count) {
  constexpr double kRuns = 40;
  std::vector<ClaimedCase> out =
      context.find_claimed_of_ops(subject, "dyn.*", context.cases(op_count, kRuns));
  for (ClaimedCase& item : context.claimed(subject, 4)) out.push_back(std::move(item));
  return out;
}

// The run with the fewest elements.
size_t smallest_of(const std::vector<std::vector<TensorData>>& runs) {
  const auto elements = [](const std::vector<TensorData>& inputs) {
    int64_t count = 0;
    for (const TensorData& input : inputs) count += input.shape.numel();
    return count;
  };
  const auto least = std::min_element(
      runs.begin(), runs.end(), [&](const auto& a, const auto& b) { return elements(a) < elements(b); });
  return static_cast<size_t>(least - runs.begin());
}

// Ops whose runs may need memory of their own: large ones of each kind, and graphs.
std::vector<ClaimedCase> with_working_memory(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out = every_long_claimed(subject);
  for (const char* pattern : {"op.*.large*", "quant.*.large*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(subject, pattern, context.cases(60, 4)))
      out.push_back(std::move(item));
  for (ClaimedCase& item : context.find_claimed_like(subject, "model.*", 12)) out.push_back(std::move(item));
  return out;
}

// Reserves for each run and for the first only, on one context. The results must be those of a context
// without a reservation. The validate layer sees what a reserved run allocates.
void reserved_runs(CheckContext& context) {
  constexpr size_t kMostOps = 1000;
  const auto subject = context.open();
  if (!subject || !has_reserve(context, *subject)) return;
  std::vector<ClaimedCase> items = static_and_dynamic(context, *subject, kMostOps);
  for (ClaimedCase& item : with_working_memory(context, *subject)) items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    const auto& runs = ready.item.built.runs;
    std::vector<std::vector<TensorData>> expected;
    for (const auto& inputs : runs) {
      // A context of its own, so that nothing is reserved.
      const auto fresh = context.make_session(ready.subject, ready.item);
      if (!fresh) return;
      expected.push_back(fresh->run(inputs).outputs);
    }
    for (const bool reserves_each : {true, false})
      for (size_t i = 0; i < runs.size(); ++i) {
        etb_error error = ETB_ERROR_INIT;
        // The second time only the smallest sizes are reserved, then runs grow beyond them.
        const bool reserves = reserves_each || i == 0;
        const auto& sizes = reserves_each ? runs[i] : runs[smallest_of(runs)];
        context.progress().at("context_reserve");
        if (reserves && reserve(ready, sizes, &error) != ETB_OK)
          return context.fail(
              fmt::format("{}: context_reserve of run {} fails: {}", ready.name(), i, error.text));
        context.progress().at("execute after context_reserve");
        const RunResult result = ready.session.run(runs[i]);
        if (result.status != ETB_OK)
          return context.fail(
              fmt::format("{}: run {} after context_reserve fails: {}", ready.name(), i, result.error.text));
        if (!has_same_outputs(result.outputs, expected[i]))
          return context.fail(
              fmt::format("{}: run {} after context_reserve has another result", ready.name(), i));
      }
  });
}

// The heap of the C library is memory, too. Small blocks, as a list of sizes, are not looked at.
void reserved_runs_use_no_heap(CheckContext& context) {
  constexpr size_t kLeastBytes = 4096;
  if (context.spec().entry.library_path.empty())
    return context.skip("the plugin is a part of the program, whose heap it shares");
  const auto subject = context.open(bare());
  if (!subject || !has_reserve(context, *subject)) return;
  const std::vector<ClaimedCase> items = with_working_memory(context, *subject);
  if (items.empty()) return context.skip("the plugin claims no large case");
  HeapWatch watch(reinterpret_cast<const void*>(subject->library().query_function()), kLeastBytes);
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    etb_error error = ETB_ERROR_INIT;
    if (reserve(ready, ready.inputs(), &error) != ETB_OK) return;  // run.reserved-runs reports it
    for (const char* which : {"first", "second"}) {
      const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
      (void)watch.take_largest();
      context.progress().at("execute after context_reserve");
      const etb_status status =
          ready.subject.table().delegate->execute(ready.session.context(), &run->args, &error);
      if (const size_t nbytes = watch.take_largest(); status == ETB_OK && nbytes != 0)
        return context.fail(fmt::format("{}: the {} run after context_reserve allocates a block of {} bytes",
                                        ready.name(), which, nbytes));
    }
  });
}

// True if a dimension of an input may change. Makes all such dimensions one larger than their bounds.
bool exceed_bounds(ReadyCase& ready, PreparedRun& run, std::vector<std::vector<int64_t>>& sizes) {
  bool has_any = false;
  sizes.resize(ready.session.input_count());
  for (uint32_t i = 0; i < ready.session.input_count(); ++i) {
    const etb_graph_spec& spec = ready.session.input_spec(i);
    sizes[i].assign(spec.sizes, spec.sizes + spec.rank);
    for (uint32_t d = 0; d < spec.rank; ++d) {
      if (spec.min_sizes[d] >= spec.sizes[d]) continue;
      ++sizes[i][d];
      has_any = true;
    }
    etb_tensor& tensor = run.tensors[i];
    tensor.sizes = sizes[i].data();
    tensor.strides = nullptr;
    tensor.upper_sizes = nullptr;
    tensor.data = nullptr;
    tensor.capacity_bytes = 0;
  }
  return has_any;
}

// Invalid sizes must be rejected and leave the context usable. Without the layer, which would reject them.
void wrong_reservations(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || !has_reserve(context, *subject)) return;
  constexpr size_t kMostOps = 12;
  context.each_session(*subject, static_and_dynamic(context, *subject, kMostOps), [&](ReadyCase& ready) {
    const etb_delegate_table& table = *ready.subject.table().delegate;
    const uint32_t count = ready.session.input_count();
    const auto expect_refusal = [&](const char* what, auto change) {
      const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
      uint32_t given = count;
      if (!change(*run, given)) return;
      etb_error error = ETB_ERROR_INIT;
      context.progress().at(what);
      const etb_status status =
          table.context_reserve(ready.session.context(), run->tensors.data(), given, &error);
      if (status == ETB_OK) context.fail(fmt::format("{}: context_reserve accepts {}", ready.name(), what));
      if (status != ETB_OK && status != ETB_INVALID_ARGUMENT)
        context.fail(fmt::format("{}: context_reserve refuses {} with {}, expected ETB_INVALID_ARGUMENT",
                                 ready.name(), what, status));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        context.fail(
            fmt::format("{}: after context_reserve of {} the context does not run", ready.name(), what));
    };
    expect_refusal("no inputs", [](PreparedRun&, uint32_t& given) {
      given = 0;
      return true;
    });
    std::vector<std::vector<int64_t>> larger;
    expect_refusal("sizes above the upper bounds",
                   [&](PreparedRun& run, uint32_t&) { return exceed_bounds(ready, run, larger); });
    expect_refusal("inputs of another dtype", [](PreparedRun& run, uint32_t&) {
      for (etb_tensor& tensor : run.tensors) tensor.dtype = ETB_DTYPE_BITS16;
      return true;
    });
    expect_refusal("an input of another rank", [](PreparedRun& run, uint32_t&) {
      static int64_t sizes[ETB_MAX_RANK] = {};
      run.tensors[0].rank = run.tensors[0].rank == 5 ? 4 : 5;
      run.tensors[0].sizes = sizes;
      run.tensors[0].strides = nullptr;
      run.tensors[0].dim_order = nullptr;
      run.tensors[0].upper_sizes = nullptr;
      return true;
    });
  });
}

// Priority, number of the run, a distant deadline and unset callbacks are no part of the result.
void arguments_without_effect(CheckContext& context) {
  context.each_session({}, 6, [&](ReadyCase& ready) {
    const std::vector<TensorData> expected = ready.run().outputs;
    constexpr uint64_t kHourNs = uint64_t{3600} * 1000000000u;
    const auto expect_same = [&](const std::string& what, const RunOptions& options) {
      context.progress().at(what.c_str());
      const RunResult result = ready.run(options);
      if (result.status != ETB_OK)
        context.fail(fmt::format("{}: with {} execute fails: {}", ready.name(), what, result.error.text));
      else if (!has_same_outputs(result.outputs, expected))
        context.fail(fmt::format("{}: with {} execute has another result", ready.name(), what));
    };
    for (const uint32_t priority : {0u, 1u, 499u, 999u, 1000u})
      expect_same(fmt::format("priority {}", priority), {.priority = priority});
    for (const uint64_t run_id : {uint64_t{1}, uint64_t{77}, UINT64_MAX})
      expect_same(fmt::format("run_id {}", run_id), {.run_id = run_id});
    expect_same("a deadline in an hour", {.deadline_ns = monotonic_ns() + kHourNs});
    expect_same("the last possible deadline", {.deadline_ns = UINT64_MAX});
    const etb_cancel_token never = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr, [](void*) { return 0u; }};
    expect_same("a token that requests no stop", {.cancel = &never});
    expect_same("a text option for vendors", {.options = {{ETB_INIT_SIZE(etb_option),
                                                           0,
                                                           "x-nobody-reads-this",
                                                           ETB_OPTION_TEXT,
                                                           0,
                                                           0,
                                                           0,
                                                           "text",
                                                           {nullptr, 0},
                                                           nullptr,
                                                           nullptr}}});
  });
}

constexpr Check kChecks[] = {
    {"run.reserved-runs",
     "After context_reserve runs have the same results, also beyond the reserved sizes, and allocate nothing "
     "within them.",
     "ABI-EXEC-02", reserved_runs},
    {"run.reserved-runs-use-no-heap",
     "After context_reserve a run within the reserved sizes takes no memory from the heap.", "ABI-EXEC-02",
     reserved_runs_use_no_heap},
    {"run.wrong-reservations",
     "context_reserve rejects inputs that do not match, also sizes above their bounds, and the context stays "
     "usable.",
     "ABI-EXEC-02", wrong_reservations},
    {"run.arguments-without-effect",
     "Priority, number of the run, a distant deadline and a token that requests no stop change no result.",
     "", arguments_without_effect},
};

}  // namespace

std::span<const Check> reserve_checks() { return kChecks; }

}  // namespace etb::conformance
