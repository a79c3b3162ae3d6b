// SPDX-License-Identifier: Apache-2.0
// conc: calls of create and of the ahead-of-time functions at the same time.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/concurrent_runs.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/subject/payload_verdict.hpp"

namespace etb::conformance {
namespace {

// A model that a thread creates, and its result when it was created alone.
struct Model {
  std::string name;
  BuiltCase built;
  Payload payload;
  RunResult expected;
};

// Creates, runs and ends the model. Returns a text if the result is another than alone.
std::string create_and_run(Subject& subject, const Model& model) {
  const auto made = CaseSession::make(subject, model.built, model.payload);
  if (!made) return fmt::format("{}: a create beside others fails: {}", model.name, made.error().message);
  const RunResult result = (*made)->run(model.built.runs[0]);
  if (has_same_result(result, model.expected)) return {};
  return model.name + ": created beside others, a delegate has another result than created alone";
}

// Models of one op with different constants of [rows, rows].
std::vector<Model> models_with_constants(Subject& subject, ConstantUse use, int64_t rows) {
  std::vector<Model> out;
  for (uint32_t t = 0; t < kThreads; ++t) {
    Result<BuiltCase> built = with_constant(use, rows, fmt::format("weights of thread {}", t));
    if (!built || !partition(subject, built->image).is_whole_claim()) return {};
    Compiled compiled = compile(subject, built->image);
    if (compiled.status != ETB_OK) return {};
    out.push_back(
        {fmt::format("a constant of {} rows", rows), std::move(*built), std::move(compiled.payload), {}});
  }
  return out;
}

void creates_at_once(CheckContext& context) {
  // Memory that creates share may be limited, so there are constants of 4 KiB, 64 KiB and 1 MiB.
  constexpr int64_t kRows[] = {32, 128, 512};
  constexpr int kCreates = 40;
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  std::vector<std::vector<Model>> groups;
  for (const ConstantUse use : kConstantUses)
    for (const int64_t rows : kRows) groups.push_back(models_with_constants(*subject, use, rows));
  std::vector<Model> others;
  for (const ClaimedCase& item : context.claimed(*subject, context.cases(24, kThreads))) {
    others.push_back({item.item->name, item.built, item.payload, {}});
    if (others.size() == kThreads) groups.push_back(std::exchange(others, {}));
  }
  for (std::vector<Model>& models : groups) {
    if (models.empty()) continue;
    context.progress().restart();
    context.progress().at("creates of different models at once");
    for (Model& model : models) {
      const auto made = CaseSession::make(*subject, model.built, model.payload);
      if (!made) return context.fail(model.name + ": " + made.error().message);
      model.expected = (*made)->run(model.built.runs[0]);
    }
    const std::string text = at_once(context.repeats(kCreates, kThreads),
                                     [&](uint32_t t) { return create_and_run(*subject, models[t]); });
    if (!text.empty()) return context.fail(text);
  }
}

// Calls body(i) for each of `count` cases on each thread. Each thread begins at a place of its own.
template <class Body>
std::string each_at_once(size_t count, Body body) {
  constexpr int kRounds = 4;
  return at_once(kRounds, [&](uint32_t t) {
    std::string text;
    for (size_t i = 0; i < count && text.empty(); ++i) text = body((i + t * count / kThreads) % count);
    return text;
  });
}

// Answers of the ahead-of-time functions about a graph.
struct AotResults {
  Answers answers;
  etb_status status = ETB_OK;
  Payload payload;

  AotResults(Subject& subject, const graph::ImageBytes& image) : answers(partition(subject, image)) {
    Compiled compiled = compile(subject, image);
    status = compiled.status, payload = std::move(compiled.payload);
  }
};

void compiles_at_once(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 24);
  if (items.empty()) return;
  std::vector<AotResults> expected;
  for (const ClaimedCase& item : items) expected.emplace_back(*subject, item.built.image);
  context.progress().restart();
  context.progress().at("calls of partition and compile at once");
  const std::string text = each_at_once(items.size(), [&](size_t i) -> std::string {
    const AotResults found(*subject, items[i].built.image);
    if (!(found.answers == expected[i].answers))
      return items[i].item->name + ": partition beside other calls answers otherwise than alone";
    if (found.status != expected[i].status || !(found.payload == expected[i].payload))
      return items[i].item->name + ": compile beside other calls returns other bytes than alone";
    return {};
  });
  if (!text.empty()) context.fail(text);
}

// Answers of functions that ask only.
struct Questions {
  etb_status estimated = ETB_OK, checked = ETB_OK, judged = ETB_OK;
  etb_estimate estimate{};
  std::string error;
  uint32_t verdict = 0;
  std::string devices;

  Questions(Subject& subject, const ClaimedCase& item) {
    estimated = conformance::estimate(subject, item.built.image, estimate);
    checked = dry_check(subject, item.built.image, error);
    etb_verdict found{};
    judged = ask_verdict(subject, item.payload.bytes, item.payload.bytes.size(), found);
    verdict = found.kind;
    (void)subject.context().each_device([&](const etb_device_info& info) {
      devices += fmt::format("{} {} {} ", info.kind, info.name, info.memory_total_bytes);
    });
  }
  bool operator==(const Questions& other) const {
    return estimated == other.estimated && checked == other.checked && judged == other.judged &&
           is_equal(estimate, other.estimate) && error == other.error && verdict == other.verdict &&
           devices == other.devices;
  }
};

void questions_at_once(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 16);
  if (items.empty()) return;
  std::vector<Questions> expected;
  for (const ClaimedCase& item : items) expected.emplace_back(*subject, item);
  context.progress().restart();
  context.progress().at("questions at once");
  const std::string text = each_at_once(items.size(), [&](size_t i) -> std::string {
    if (Questions(*subject, items[i]) == expected[i]) return {};
    return items[i].item->name +
           ": estimate, dry_check, check_payload or enumerate answers otherwise beside other calls than "
           "alone";
  });
  if (!text.empty()) context.fail(text);
}

// Facts that a host may ask for at any time. Memory that a delegate holds may grow with its first runs.
struct Facts {
  uint32_t input_count = 0, output_count = 0, max_contexts = 0;
  uint64_t scratch_bytes = 0;
  std::string requirements, options, rows;

  Facts(Subject& subject, const CaseSession& session) {
    const etb_delegate_table& table = *subject.table().delegate;
    etb_delegate_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
    etb_error error = ETB_ERROR_INIT;
    if (table.query(session.delegate(), &info, &error) == ETB_OK)
      input_count = info.input_count, output_count = info.output_count, max_contexts = info.max_contexts,
      scratch_bytes = info.scratch_bytes;
    const etb_io_req_sink sink = {ETB_INIT_SIZE(etb_io_req_sink), 0, &requirements,
                                  [](void* ctx, const etb_io_req* req) {
                                    *static_cast<std::string*>(ctx) +=
                                        fmt::format("{} {} {} {} {}, ", req->role, req->index, req->alignment,
                                                    req->padding_bytes, req->may_alias_input);
                                    return etb_status{ETB_OK};
                                  }};
    (void)table.query_io(session.delegate(), &sink, &error);
    (void)subject.context().each_option(
        [&](const etb_option_schema& schema) { options += fmt::format("{}, ", schema.key); });
    if (subject.table().aot == nullptr) return;
    const etb_op_sink op_sink = {ETB_INIT_SIZE(etb_op_sink), 0, &rows,
                                 [](void* ctx, const etb_op_capability* row) {
                                   *static_cast<std::string*>(ctx) +=
                                       fmt::format("{} {} {}, ", row->op, row->dtype_count, row->max_rank);
                                   return etb_status{ETB_OK};
                                 }};
    (void)subject.table().aot->op_table(subject.handle(), &op_sink, &error);
  }
  auto operator<=>(const Facts&) const = default;
};

// The first thread runs, the others ask.
void facts_during_runs(CheckContext& context) {
  constexpr int kCalls = 60;
  const auto subject = context.open(bare());
  if (!subject) return;
  context.each_session(*subject, context.claimed(*subject, context.cases(12, kCalls)), [&](ReadyCase& ready) {
    const RunResult alone = ready.run();
    const Facts expected(*subject, ready.session);
    context.progress().restart();
    context.progress().at("questions about a delegate that runs");
    const std::string text = at_once(context.repeats(kCalls, 12), [&](uint32_t t) -> std::string {
      if (t == 0 && !has_same_result(ready.run(), alone))
        return ready.name() + ": a run has another result while other threads ask about its delegate";
      if (t != 0 && Facts(*subject, ready.session) != expected)
        return ready.name() +
               ": query, query_io, op_table or option_schema answers otherwise during runs than before";
      return {};
    });
    if (!text.empty()) context.fail(text);
  });
}

// Makes a delegate and a context for each thread, whose first runs begin together. Returns a text if one is wrong.
std::string run_fresh_contexts(Subject& subject, const ClaimedCase& item, const RunResult& expected) {
  const etb_delegate_table& table = *subject.table().delegate;
  const auto made = CaseSession::make(subject, item.built, item.payload);
  if (!made) return item.item->name + ": create fails: " + made.error().message;
  const uint32_t count = std::min(kThreads, (*made)->info().max_contexts);
  std::vector<etb_context*> contexts(count);
  etb_error error = ETB_ERROR_INIT;
  for (etb_context*& one : contexts)
    if (table.context_create((*made)->delegate(), nullptr, 0, &one, &error) != ETB_OK)
      return item.item->name + ": context_create fails: " + error.text;
  constexpr int kRuns = 4;
  std::string text = at_once(kRuns, [&](uint32_t t) -> std::string {
    if (t >= count) return {};
    const RunResult result = (*made)->run_on(contexts[t], item.built.runs[0]);
    if (has_same_result(result, expected)) return {};
    return item.item->name + ": the first runs of several contexts at once have another result than alone";
  });
  for (etb_context* one : contexts) (void)table.context_destroy(one, &error);
  return text;
}

// A chain of values of 1 MiB: its runs last long enough to overlap on few processors.
Result<BuiltCase> large_chain(std::string_view name) {
  CaseBuilder builder(name);
  const Shape shape{ETB_DTYPE_FLOAT32, {256, 1024}, {}};
  uint32_t x = builder.input(shape, Values::kExact), before = x;
  for (const char* op : {"aten.add.Tensor", "aten.mul.Tensor", "aten.add.Tensor", "aten.sub.Tensor",
                         "aten.mul.Tensor", "aten.add.Tensor"}) {
    const uint32_t made =
        builder.node(op, {graph::value_arg(x, "self"), graph::value_arg(before, "other")}, shape);
    before = std::exchange(x, made);
  }
  builder.output(x);
  return builder.finish({});
}

void first_runs_at_once(CheckContext& context) {
  constexpr int kRounds = 400;
  constexpr std::chrono::milliseconds kTime{400};  // limit for each graph, after a few rounds
  const auto subject = context.open(bare());
  if (!subject) return;
  // Graphs of several layers take longest to prepare.
  std::vector<ClaimedCase> items = context.claimed(*subject, context.cases(6, kRounds));
  for (const char* pattern : {"model.multilayer.*", "model.many_constants.*", "model.two_convolutions.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 2))
      items.push_back(std::move(item));
  static const Case kLarge = {"a chain of large values", "model", ETB_DTYPE_FLOAT32, large_chain};
  if (Result<BuiltCase> built = large_chain(kLarge.name);
      built && subject->table().aot != nullptr && partition(*subject, built->image).is_whole_claim())
    if (Compiled compiled = compile(*subject, built->image); compiled.status == ETB_OK)
      items.push_back({&kLarge, std::move(*built), std::move(compiled.payload)});
  for (const ClaimedCase& item : items) {
    const auto alone = context.make_session(*subject, item);
    if (!alone) return;
    const RunResult expected = alone->run(item.built.runs[0]);
    const auto end = std::chrono::steady_clock::now() + kTime;
    constexpr int kLeastRounds = 4;
    for (int round = 0; round < kLeastRounds || (round < kRounds && std::chrono::steady_clock::now() < end);
         ++round) {
      context.progress().restart();
      context.progress().at("first runs of several contexts at once");
      if (const std::string text = run_fresh_contexts(*subject, item, expected); !text.empty())
        return context.fail(text);
    }
  }
}

// Each thread has inputs of its own. Odd threads run in another instance.
void instances_at_once(CheckContext& context) {
  constexpr int kRuns = 40;
  const auto subject = context.open(bare()), other = context.open(bare());
  if (!subject || !other) return;
  for (const ClaimedCase& item : context.claimed(*subject, context.cases(24, kThreads * 4))) {
    context.progress().restart();
    context.progress().at("runs of two instances at once");
    std::vector<std::unique_ptr<CaseSession>> sessions;
    std::vector<std::vector<TensorData>> inputs;
    std::vector<RunResult> expected;
    for (uint32_t t = 0; t < kThreads; ++t) {
      sessions.push_back(context.make_session(t % 2 == 0 ? *subject : *other, item));
      if (!sessions.back()) return;
      inputs.push_back(rotated(item.built.runs[0], t));
      expected.push_back(sessions[t]->run(inputs[t]));
    }
    const std::string text = at_once(context.repeats(kRuns, kThreads * 24.0), [&](uint32_t t) -> std::string {
      const RunResult result = sessions[t]->run(inputs[t]);
      if (has_same_result(result, expected[t])) return {};
      return item.item->name + ": beside runs of another instance a run has another result than alone";
    });
    if (!text.empty()) return context.fail(text);
  }
}

constexpr Check kChecks[] = {
    {"conc.questions-at-once",
     "Estimate, dry_check, check_payload and enumerate answer at the same time as they do alone.",
     "ABI-THREAD-01", questions_at_once},
    {"conc.first-runs-at-once",
     "The first runs of several contexts of a new delegate begin at the same time.", "ABI-EXEC-03",
     first_runs_at_once},
    {"conc.facts-during-runs",
     "While a delegate runs, query, query_io, op_table and option_schema answer as before.", "ABI-THREAD-01",
     facts_during_runs},
    {"conc.instances-at-once", "Delegates of two instances run at the same time.", "ABI-THREAD-01",
     instances_at_once},
    {"conc.creates-at-once",
     "Delegates of different models, some with large constants, are created at the same time.",
     "ABI-THREAD-01", creates_at_once},
    {"conc.compiles-at-once", "Partition and compile are called for different graphs at the same time.",
     "ABI-THREAD-01", compiles_at_once},
};

}  // namespace

std::span<const Check> concurrent_call_checks() { return kChecks; }

}  // namespace etb::conformance
