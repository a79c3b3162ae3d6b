// SPDX-License-Identifier: Apache-2.0
// leak: resources that remain. growth.hpp describes the difference between a leak and a cache.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/growth.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

// Compares one account of the process between windows of repeated calls.
void per_delegate(CheckContext& context, std::string_view account) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject))
    expect_no_growth(context, 1,
                     [&](size_t) {
                       const auto session = context.make_session(*subject, item);
                       if (session) (void)session->run(item.built.runs[0]);
                     },
                     "delegate that was created, run and destroyed", {.account = account});
}

void descriptors(CheckContext& context) { per_delegate(context, "open descriptors"); }
void threads(CheckContext& context) { per_delegate(context, "threads"); }
void mappings(CheckContext& context) { per_delegate(context, "mappings"); }
void heap_of_delegates(CheckContext& context) { per_delegate(context, "heap bytes"); }

void heap_of_runs(CheckContext& context) {
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    expect_no_growth(context, 1, [&](size_t) { (void)ready.run(); }, "run", {.account = "heap bytes"});
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

// Returns the threads that an instance leaves beyond `before`. A thread that is ending may need a moment.
size_t threads_left(CheckContext& context, size_t before) {
  context.each_session(bare(), 1, [](ReadyCase& ready) { (void)ready.run(); });
  for (int i = 0; i < 200 && thread_count() > before; ++i) ::usleep(10000);
  return thread_count() - std::min(before, thread_count());
}

// Drivers have threads that no call ends. A plugin that declares threads of its own, and not that it leaves nothing in the
// process, may keep those; a second instance must not add any.
void threads_after_deinit(CheckContext& context) {
  size_t before = thread_count();
  const auto subject = context.open(bare());
  if (!subject) return;
  const uint32_t flags = subject->table().ident->flags;
  subject->close();
  const bool may_keep = (flags & ETB_PLUGIN_OWN_THREADS) != 0 && (flags & ETB_PLUGIN_UNLOADABLE) == 0;
  if (may_keep) before += threads_left(context, before);
  if (const size_t left = threads_left(context, before); left > 0)
    context.fail(fmt::format("{} {}threads still run after deinit", left, may_keep ? "more " : ""));
}

// Models that are gone, each with weights of its own: a cache that never forgets would keep all of them.
void weights_of_models(CheckContext& context) {
  constexpr int kFirst = 8, kModels = 24;
  constexpr int64_t kRows = 512;
  constexpr uint64_t kWeightBytes = kRows * kRows * sizeof(float);
  const auto subject = context.open(bare());
  if (!subject || subject->table().aot == nullptr) return;
  const Result<BuiltCase> first = with_constant(ConstantUse::kLinear, kRows, "weights");
  const bool is_linear = first && partition(*subject, first->image).is_whole_claim();
  const ConstantUse use = is_linear ? ConstantUse::kLinear : ConstantUse::kProduct;
  size_t before = 0;
  for (int i = 0; i < kModels; ++i) {
    const Result<BuiltCase> built = with_constant(use, kRows, "weights of model " + std::to_string(i));
    if (!built || !partition(*subject, built->image).is_whole_claim())
      return context.skip("the plugin claims no product with constant weights");
    Compiled compiled = compile(*subject, built->image);
    if (compiled.status != ETB_OK) return context.skip("a product with constant weights does not compile");
    context.progress().restart();
    context.progress().at("models with other weights");
    const Result<std::unique_ptr<CaseSession>> made =
        CaseSession::make(*subject, *built, std::move(compiled.payload));
    if (!made)
      return context.fail("create of a product with constant weights fails: " + made.error().message);
    (void)(*made)->run(built->runs[0]);
    if (i + 1 == kFirst) before = held_bytes();
  }
  const size_t now = held_bytes();
  const uint64_t grown = now > before ? now - before : 0;
  context.outcome().measured.emplace_back("weights.grown_bytes", static_cast<double>(grown));
  if (grown > kWeightBytes * (kModels - kFirst) / 2)
    context.fail(fmt::format("{} bytes are held more after {} models with weights of {} bytes have ended",
                             grown, kModels - kFirst, kWeightBytes));
}

// Many small models, each with a constant of its own: what is kept for each by its contents is small, and grows with the
// number of models.
void of_other_weights(CheckContext& context) {
  constexpr int64_t kRows = 16;
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  size_t count = 0;
  const auto use_model = [&](ConstantUse use) {
    const Result<BuiltCase> built = with_constant(use, kRows, "small model " + std::to_string(count++));
    if (!built || !partition(*subject, built->image).is_whole_claim()) return false;
    Compiled compiled = compile(*subject, built->image);
    if (compiled.status != ETB_OK) return false;
    const auto session = CaseSession::make(*subject, *built, std::move(compiled.payload));
    if (session) (void)(*session)->run(built->runs[0]);
    return session.has_value();
  };
  bool has_any = false;
  for (const ConstantUse use : kConstantUses) {
    if (!use_model(use)) continue;
    has_any = true;
    context.progress().restart();
    expect_no_growth(
        context, 1, [&](size_t) { (void)use_model(use); }, "model with other weights");
    if (!context.outcome().findings.empty()) return;
  }
  if (!has_any) context.skip("the plugin claims no node with a constant");
}

constexpr Check kChecks[] = {
    {"leak.descriptors", "Creating, running and destroying delegates leaves no open descriptor.", "",
     descriptors},
    {"leak.threads", "Creating, running and destroying delegates leaves no thread.", "ABI-HYG-02", threads},
    {"leak.mappings", "Creating, running and destroying delegates leaves no mapping.", "", mappings},
    {"leak.heap-of-delegates", "Creating, running and destroying delegates leaves no heap memory.", "",
     heap_of_delegates},
    {"leak.heap-of-runs", "Repeated runs use no additional memory.", "", heap_of_runs},
    {"leak.weights-of-models", "Models with other weights leave nothing when they end.", "",
     weights_of_models},
    {"leak.of-other-weights", "Hundreds of models, each with other weights, leave nothing when they end.", "",
     of_other_weights},
    {"leak.host-memory", "After deinit all memory of alloc/1 is released.", "ABI-HYG-03", host_memory},
    {"leak.threads-after-deinit",
     "After deinit no thread runs; a plugin with threads of its own may keep those of its first instance.",
     "ABI-HYG-02", threads_after_deinit},
};

}  // namespace

std::span<const Check> leak_checks() { return kChecks; }

}  // namespace etb::conformance
