// SPDX-License-Identifier: Apache-2.0
// leak: resources that remain after repeated calls, in every account of the process, for calls that succeed and
// calls that fail. growth.hpp describes the difference between a leak and a cache.
#include <atomic>
#include <memory>
#include <thread>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/growth.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/monotonic_clock.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostItems = 40;

// One case of each op, and some with other layouts, dynamic sizes and several nodes.
std::vector<ClaimedCase> varied_cases(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out = context.claimed(subject, kMostItems);
  if (out.empty()) return out;
  const auto add = [&](std::vector<ClaimedCase> items) {
    for (ClaimedCase& item : items) out.push_back(std::move(item));
  };
  add(context.find_claimed_of_ops(subject, "dyn.*", 6));
  add(context.find_claimed_like(subject, "model.*", 4));
  add(context.find_claimed_of_ops(subject, "op.*_cl.*", 4));
  return out;
}

using Sessions = std::vector<std::unique_ptr<CaseSession>>;

struct Ready {
  std::unique_ptr<Subject> subject;
  std::vector<ClaimedCase> items;
  Sessions sessions;

  // Runs all of a case's inputs.
  void run(size_t i, const RunOptions& options = {}) const {
    for (const std::vector<TensorData>& inputs : items[i].built.runs) (void)sessions[i]->run(inputs, options);
  }
};

// Runs a case for a while. A cache of runs is then full before slow calls are repeated, each with a run.
void fill_caches(CheckContext& context, const Ready& ready) {
  constexpr int kRuns = 1000;
  constexpr uint64_t kMostNs = 2000000000;
  if (ready.items.empty()) return;
  const auto session = context.make_session(*ready.subject, ready.items[0]);
  const uint64_t begin = monotonic_ns();
  for (int i = 0; session && i < kRuns && monotonic_ns() - begin < kMostNs; ++i)
    (void)session->run(ready.items[0].built.runs[0]);
}

// Returns no items if the plugin claims none, or if a delegate cannot be created.
Ready open_ready(CheckContext& context, bool has_sessions) {
  Ready out;
  out.subject = context.open(bare());
  if (!out.subject) return out;
  out.items = varied_cases(context, *out.subject);
  for (size_t i = 0; has_sessions && i < out.items.size(); ++i) {
    out.sessions.push_back(context.make_session(*out.subject, out.items[i]));
    if (out.sessions.back()) continue;
    out.items.clear();
  }
  if (!has_sessions) fill_caches(context, out);
  return out;
}

etb_option unknown_option() { return make_option("no-plugin-has-this-option", ETB_OPTION_I64); }

void of_runs(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  expect_no_growth(context, ready.items.size(), [&](size_t i) { ready.run(i); }, "run",
                   {.has_octaves = true});
}

// One context at a time: a leak in every hundredth run of one context needs hundreds of its runs.
void of_long_sessions(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  constexpr double kBudgetMs = 4000;
  const uint64_t begin = monotonic_ns();
  const double budget_ms = kBudgetMs / std::max<double>(static_cast<double>(ready.items.size()), 1);
  for (size_t item = 0; item < ready.items.size() && context.outcome().findings.empty() &&
                        static_cast<double>(monotonic_ns() - begin) / 1e6 < 2 * kBudgetMs;
       ++item)
    expect_no_growth(context, 1, [&](size_t) { ready.run(item); }, "run of one context",
                     {.budget_ms = std::max(budget_ms, 100.0)});
}

void of_profiled_runs(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, nullptr,
                               [](void*, const etb_event*) { return etb_status{ETB_OK}; }};
  expect_no_growth(
      context, ready.items.size(), [&](size_t i) { ready.run(i, {.events = &sink}); },
      "run with an event sink");
}

// Requests the stop at once, or when the plugin asks for the second time.
void of_cancelled_runs(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  uint32_t left = 0;
  const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &left, [](void* ctx) {
                                    auto& asked = *static_cast<uint32_t*>(ctx);
                                    return asked == 0 ? 1u : (--asked, 0u);
                                  }};
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        for (const uint32_t first : {0u, 1u}) {
          left = first;
          ready.run(i, {.cancel = &token});
        }
      },
      "cancelled run");
}

void of_failed_runs(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        for (const Damage damage : {Damage::kRank, Damage::kCapacity})
          (void)ready.sessions[i]->run_damaged(ready.items[i].built.runs[0], damage);
        ready.run(i, {.options = {unknown_option()}});
      },
      "failed run");
}

// Memory of a thread is released with the thread.
void of_threads(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  expect_no_growth(
      context, ready.items.size(), [&](size_t i) { std::thread([&] { ready.run(i); }).join(); },
      "run on a new thread");
}

void of_delegates(CheckContext& context) {
  const Ready ready = open_ready(context, false);
  expect_no_growth(context, ready.items.size(),
                   [&](size_t i) {
                     if (const auto session = context.make_session(*ready.subject, ready.items[i]))
                       (void)session->run(ready.items[i].built.runs[0]);
                   },
                   "delegate that was created, run and destroyed", {.has_octaves = true});
}

void of_contexts(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  const etb_event_sink sink = {ETB_INIT_SIZE(etb_event_sink), 0, nullptr,
                               [](void*, const etb_event*) { return etb_status{ETB_OK}; }};
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        const etb_delegate_table& table = *ready.subject->table().delegate;
        const etb_option unknown = unknown_option();
        for (const uint64_t option_count : {0, 1}) {
          etb_context* made = nullptr;
          etb_error error = ETB_ERROR_INIT;
          if (table.context_create(ready.sessions[i]->delegate(), &unknown, option_count, &made, &error) !=
              ETB_OK)
            continue;
          (void)ready.sessions[i]->run_on(made, ready.items[i].built.runs[0]);
          (void)ready.sessions[i]->run_on(made, ready.items[i].built.runs[0], {.events = &sink});
          (void)table.context_destroy(made, &error);
        }
      },
      "context that was created, run with and without an event sink, and destroyed");
}

// Payloads that are cut or changed at several places, so that several steps of create have to be undone.
void of_refused_payloads(CheckContext& context) {
  const Ready ready = open_ready(context, false);
  constexpr size_t kParts = 8;
  expect_no_growth(
      context, ready.items.size() * kParts,
      [&](size_t i) {
        const ClaimedCase& item = ready.items[i / kParts];
        Payload payload = item.payload;
        const size_t at = payload.bytes.size() * (i % kParts) / kParts;
        Payload cut = payload;
        cut.bytes.resize(at);
        (void)CaseSession::make(*ready.subject, item.built, std::move(cut));
        if (at < payload.bytes.size()) payload.bytes[at] ^= std::byte{0x41};
        (void)CaseSession::make(*ready.subject, item.built, std::move(payload));
      },
      "refused payload");
}

// With two large constants: the second cannot be read after the first was.
void of_failed_creates(CheckContext& context) {
  Ready ready = open_ready(context, false);
  if (!ready.subject) return;
  for (ClaimedCase& item : context.find_claimed_like(*ready.subject, "model.near_constants.*", 2))
    ready.items.push_back(std::move(item));
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        const ClaimedCase& item = ready.items[i];
        (void)CaseSession::make(*ready.subject, item.built, item.payload, {unknown_option()});
        const auto last = static_cast<int>(std::min<size_t>(item.payload.named.size(), 64));
        if (last > 1)
          (void)CaseSession::make(*ready.subject, item.built, item.payload,
                                  SessionOptions{.failing_get = last});
        Payload without_named = item.payload;
        without_named.named.clear();
        if (!item.payload.named.empty())
          (void)CaseSession::make(*ready.subject, item.built, std::move(without_named));
      },
      "create that fails");
}

void of_compilations(CheckContext& context) {
  const Ready ready = open_ready(context, false);
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        std::string error;
        const graph::ImageBytes& image = ready.items[i].built.image;
        (void)partition(*ready.subject, image);
        (void)dry_check(*ready.subject, image, error);
        (void)compile(*ready.subject, image);
      },
      "compilation");
}

// Graphs that the plugin rejects, and a host that wants compile to stop.
void of_failed_compilations(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  constexpr size_t kMost = 12;
  std::vector<BuiltCase> rejected;
  for (const Case* item : plain_cases()) {
    if (rejected.size() == kMost) break;
    Result<BuiltCase> built = item->build(item->name);
    if (built && !partition(*subject, built->image).is_whole_claim()) rejected.push_back(std::move(*built));
  }
  const std::vector<ClaimedCase> claimed = context.find_claimed(*subject, kMost);
  const etb_cancel_token stop = {ETB_INIT_SIZE(etb_cancel_token), 0, nullptr, [](void*) { return 1u; }};
  expect_no_growth(
      context, rejected.size() + claimed.size(),
      [&](size_t i) {
        std::string error;
        if (i >= rejected.size()) {
          (void)compile(*subject, claimed[i - rejected.size()].built.image, {.cancel = &stop});
          return;
        }
        (void)partition(*subject, rejected[i].image);
        (void)dry_check(*subject, rejected[i].image, error);
        (void)compile(*subject, rejected[i].image);
      },
      "failed compilation");
}

// Every function that only reports.
void call_queries(Subject& subject, CaseSession* session) {
  const etb_plugin_table& table = subject.table();
  etb_error error = ETB_ERROR_INIT;
  const etb_option_schema_sink schemas = {ETB_INIT_SIZE(etb_option_schema_sink), 0, nullptr,
                                          [](void*, const etb_option_schema*) { return etb_status{ETB_OK}; }};
  (void)table.option_schema(subject.handle(), &schemas, &error);
  const etb_option_sink values = {ETB_INIT_SIZE(etb_option_sink), 0, nullptr,
                                  [](void*, const etb_option*) { return etb_status{ETB_OK}; }};
  for (const char* key : {"no-plugin-has-this-option", "threads"})
    (void)table.get_option(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), key, &values, &error);
  const etb_option unknown = unknown_option();
  (void)table.set_option(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), &unknown, &error);
  (void)table.get_extension(subject.handle(), ETB_OBJECT_PLUGIN, subject.handle(), "no/extension");
  const etb_device_sink devices = {ETB_INIT_SIZE(etb_device_sink), 0, nullptr,
                                   [](void*, const etb_device_info*) { return etb_status{ETB_OK}; }};
  if (table.device != nullptr) (void)table.device->enumerate(subject.handle(), &devices, &error);
  const etb_op_sink ops = {ETB_INIT_SIZE(etb_op_sink), 0, nullptr,
                           [](void*, const etb_op_capability*) { return etb_status{ETB_OK}; }};
  if (table.aot != nullptr) (void)table.aot->op_table(subject.handle(), &ops, &error);
  if (session == nullptr) return;
  etb_delegate_info info{};
  info.struct_size = sizeof(info);
  (void)table.delegate->query(session->delegate(), &info, &error);
  const etb_io_req_sink requirements = {ETB_INIT_SIZE(etb_io_req_sink), 0, nullptr,
                                        [](void*, const etb_io_req*) { return etb_status{ETB_OK}; }};
  (void)table.delegate->query_io(session->delegate(), &requirements, &error);
}

void check_payloads(Subject& subject, const ClaimedCase& item) {
  etb_error error = ETB_ERROR_INIT;
  for (const uint64_t nbytes : {std::min<uint64_t>(item.payload.bytes.size(), 4096), uint64_t{3}}) {
    etb_payload_check check{};
    check.struct_size = sizeof(check);
    check.backend_id = subject.backend_id().c_str();
    check.prefix = {item.payload.bytes.data(), std::min<uint64_t>(nbytes, item.payload.bytes.size())};
    check.payload_nbytes = item.payload.bytes.size();
    etb_verdict verdict{};
    verdict.struct_size = sizeof(verdict);
    (void)subject.table().delegate->check_payload(subject.handle(), &check, &verdict, &error);
  }
}

void of_queries(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        call_queries(*ready.subject, ready.sessions[i].get());
        check_payloads(*ready.subject, ready.items[i]);
      },
      "query");
}

// Another instance stays open: the library is loaded once.
void of_instances(CheckContext& context) {
  const Ready ready = open_ready(context, false);
  if (ready.items.empty()) return;
  SubjectOptions with_unknown = bare();
  with_unknown.init_options = {unknown_option()};
  expect_no_growth(
      context, std::min<size_t>(ready.items.size(), 4),
      [&](size_t i) {
        (void)Subject::open(context.spec(), with_unknown);
        const Result<std::unique_ptr<Subject>> subject = Subject::open(context.spec(), bare());
        if (!subject) return;
        const Result<std::unique_ptr<CaseSession>> session =
            CaseSession::make(**subject, ready.items[i].built, ready.items[i].payload);
        if (session) (void)(*session)->run(ready.items[i].built.runs[0]);
      },
      "instance");
}

// The same sizes again, and those of each run of dynamic cases.
void of_reserves(CheckContext& context) {
  const Ready ready = open_ready(context, true);
  if (ready.items.empty()) return;
  const etb_delegate_table& table = *ready.subject->table().delegate;
  if (table.context_reserve == nullptr) return context.skip("the plugin has no context_reserve");
  expect_no_growth(
      context, ready.items.size(),
      [&](size_t i) {
        etb_error error = ETB_ERROR_INIT;
        CaseSession& session = *ready.sessions[i];
        for (const std::vector<TensorData>& inputs : ready.items[i].built.runs) {
          const std::unique_ptr<PreparedRun> run = session.prepare(inputs);
          (void)table.context_reserve(session.context(), run->args.inputs, run->args.input_count, &error);
        }
      },
      "reserve");
}

constexpr Check kChecks[] = {
    {"leak.of-reserves", "context_reserve of one context again and again leaves nothing.", "", of_reserves},
    {"leak.of-runs", "Hundreds of runs of every claimed op leave nothing in any account of the process.", "",
     of_runs},
    {"leak.of-long-sessions", "Hundreds of runs of one context leave nothing.", "", of_long_sessions},
    {"leak.of-profiled-runs", "Runs with an event sink leave nothing.", "", of_profiled_runs},
    {"leak.of-cancelled-runs", "Cancelled runs leave nothing.", "", of_cancelled_runs},
    {"leak.of-failed-runs", "Runs that fail leave nothing.", "", of_failed_runs},
    {"leak.of-threads", "A thread that ran and ended leaves nothing.", "", of_threads},
    {"leak.of-delegates", "Delegates of every claimed op leave nothing after their end.", "", of_delegates},
    {"leak.of-contexts", "Contexts leave nothing after their end.", "", of_contexts},
    {"leak.of-refused-payloads", "A create that rejects its payload leaves nothing.", "",
     of_refused_payloads},
    {"leak.of-failed-creates", "A create that fails for other reasons leaves nothing.", "",
     of_failed_creates},
    {"leak.of-compilations", "Compilations of every claimed op leave nothing.", "", of_compilations},
    {"leak.of-failed-compilations", "Compilations that fail leave nothing.", "", of_failed_compilations},
    {"leak.of-queries", "Functions that only report leave nothing.", "", of_queries},
    {"leak.of-instances", "Instances, and those that fail to start, leave nothing.", "ABI-HYG-03",
     of_instances},
};

}  // namespace

std::span<const Check> leak_loop_checks() { return kChecks; }

}  // namespace etb::conformance
