// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/check.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "conformance/checks/groups.hpp"
#include "conformance/judge/judge.hpp"

namespace etb::conformance {
namespace {

bool try_claim(Subject& subject, const Case& item, std::vector<ClaimedCase>& out) {
  if (!subject.lists(item)) return false;  // building it would take most of a search's time
  Result<BuiltCase> built = item.build(item.name);
  if (!built || !partition(subject, built->image).is_whole_claim()) return false;
  Compiled compiled = compile(subject, built->image);
  if (compiled.status != ETB_OK) return false;
  out.push_back({&item, std::move(*built), std::move(compiled.payload)});
  return true;
}

// Returns the first case of each of some kinds of graphs.
const std::vector<const Case*>& plain_graphs() {
  static const std::vector<const Case*> cases = [] {
    std::vector<const Case*> out;
    for (const char* kind :
         {"model.chain.", "model.long_lives.", "model.residual.", "model.two_convolutions.",
          "model.multilayer.", "model.gated.", "model.attention.", "model.added_product.",
          "model.output_with_readers.", "model.operand_lives."})
      for (const Case& item : all_cases())
        if (item.dtype == ETB_DTYPE_FLOAT32 && item.name.starts_with(kind)) {
          out.push_back(&item);
          break;
        }
    return out;
  }();
  return cases;
}

// Returns the first case of each op with constants of some size.
const std::vector<const Case*>& plain_layers() {
  static const std::vector<const Case*> cases = [] {
    std::vector<const Case*> out;
    for (const char* pattern : {"op.linear.f32.*constant*", "op.convolution.f32.*constant*",
                                "op.addmm.f32.*constant*", "op.native_layer_norm.f32.*constant*"})
      for (const Case& item : all_cases())
        if (matches_pattern(item.name, pattern)) {
          out.push_back(&item);
          break;
        }
    return out;
  }();
  return cases;
}

}  // namespace

std::unique_ptr<Subject> CheckContext::open(const SubjectOptions& options) {
  progress_.at("open");
  Result<std::unique_ptr<Subject>> subject = Subject::open(spec_, options);
  if (subject) return std::move(*subject);
  fail("opening the plugin: " + subject.error().message);
  return nullptr;
}

std::vector<ClaimedCase> CheckContext::find_claimed(Subject& subject, size_t count) {
  progress_.at("looking for claimed cases");
  std::vector<ClaimedCase> out;
  if (subject.table().aot == nullptr) return out;
  const auto take = [&](const std::vector<const Case*>& cases, size_t most) {
    for (const Case* item : cases)
      if (out.size() >= most || (try_claim(subject, *item, out) && out.size() == most)) break;
  };
  // One of four is a layer with constants, which delegates pack. A quarter are graphs: values between nodes, fused ones, codes.
  if (count >= 4) take(plain_layers(), 1);
  take(plain_cases(), count - count / 4);
  if (out.empty()) take(plain_patterns(), count - count / 4);
  take(plain_graphs(), count - count / 8);
  if (out.size() < count && count >= 4) take(plain_patterns(), count);
  return out;
}

std::vector<ClaimedCase> CheckContext::find_claimed_like(Subject& subject, const char* pattern,
                                                         size_t count) {
  progress_.at("looking for claimed cases");
  std::vector<ClaimedCase> out;
  if (subject.table().aot == nullptr) return out;
  for (const Case& item : all_cases())
    if (matches_pattern(item.name, pattern) && try_claim(subject, item, out) && out.size() == count) break;
  return out;
}

std::vector<ClaimedCase> CheckContext::find_claimed_of_ops(Subject& subject, const char* pattern,
                                                           size_t count) {
  constexpr int kMostTries = 4;  // for each op and dtype
  progress_.at("looking for claimed cases");
  std::vector<ClaimedCase> out;
  if (subject.table().aot == nullptr) return out;
  std::set<std::string> found;
  std::map<std::pair<std::string, etb_dtype>, int> tries;
  for (const bool is_float : {true, false})
    for (const Case& item : all_cases()) {
      if (out.size() == count) return out;
      if ((item.dtype == ETB_DTYPE_FLOAT32) != is_float || found.contains(item.op) ||
          !matches_pattern(item.name, pattern) || ++tries[{item.op, item.dtype}] > kMostTries)
        continue;
      if (try_claim(subject, item, out)) found.insert(item.op);
    }
  return out;
}

std::vector<ClaimedCase> CheckContext::claimed(Subject& subject, size_t count) {
  std::vector<ClaimedCase> out = find_claimed(subject, count);
  if (subject.table().aot == nullptr)
    skip("the plugin has no ahead-of-time functions, so nothing can be compiled for it");
  else if (out.empty())
    skip("the plugin claims none of the sample cases");
  return out;
}

std::vector<ClaimedCase> CheckContext::claimed_like(Subject& subject, const char* pattern, size_t count) {
  std::vector<ClaimedCase> out = find_claimed_like(subject, pattern, count);
  if (out.empty()) skip(std::string("the plugin claims no case like ") + pattern);
  return out;
}

std::unique_ptr<CaseSession> CheckContext::make_session(Subject& subject, const ClaimedCase& item) {
  progress_.at("create");
  Result<std::unique_ptr<CaseSession>> session = CaseSession::make(subject, item.built, item.payload);
  if (session) return std::move(*session);
  fail(item.item->name + ": create fails: " + session.error().message);
  return nullptr;
}

void CheckContext::each_session(const SubjectOptions& options, size_t count,
                                const std::function<void(ReadyCase&)>& body) {
  if (const auto subject = open(options)) each_session(*subject, claimed(*subject, count), body);
}

void CheckContext::each_session(Subject& subject, const std::vector<ClaimedCase>& items,
                                const std::function<void(ReadyCase&)>& body) {
  for (const ClaimedCase& item : items) {
    const auto session = make_session(subject, item);
    if (!session) break;
    ReadyCase ready{subject, item, *session};
    body(ready);
    if (!out_.findings.empty()) break;
  }
  take_violations(subject);
}

bool CheckContext::is_right(const ClaimedCase& item, const RunResult& result, size_t number) const {
  const Result<std::vector<ReferenceTensor>> references = make_reference(item.built, number);
  if (!references) return true;
  const PrecisionContract contract = contract_.narrowed({item.item->op}, item.item->dtype);
  for (size_t i = 0; i < references->size(); ++i) {
    const TensorData& found = result.outputs[i];
    if (found.shape.sizes != (*references)[i].sizes ||
        !judge(item.built.error_model, contract, found.shape.dtype, (*references)[i], found.bytes.data())
             .is_right)
      return false;
  }
  return true;
}

namespace {

// Time that the repetitions of one check may take on a slow device. A run has about 150 checks, and each opens the
// plugin at least once.
constexpr double kBudgetMs = 8000;
constexpr int kLeast = 4;  // one may be right by chance

// Returns how many steps of `step_ms` fit into the budget: at most `wanted`, at least a few.
int affordable(int wanted, double step_ms) {
  const double fitting = kBudgetMs / std::max(step_ms, 1e-9);
  return fitting >= wanted ? wanted : std::min(wanted, std::max(kLeast, static_cast<int>(fitting)));
}

}  // namespace

int CheckContext::repeats(int wanted, double others) const {
  return is_slow(latency_) ? affordable(wanted, latency_.run_ms * others) : wanted;
}

size_t CheckContext::cases(size_t wanted, double runs_of_each) const {
  return is_slow(latency_)
             ? static_cast<size_t>(affordable(static_cast<int>(wanted), latency_.run_ms * runs_of_each))
             : wanted;
}

std::chrono::milliseconds CheckContext::patience() const {
  constexpr double kLeastMs = 5000, kRuns = 100;
  return std::chrono::milliseconds(
      static_cast<int64_t>(kLeastMs + kRuns * latency_.run_ms + latency_.open_ms));
}

int CheckContext::opens(int wanted) const { return affordable(wanted, latency_.open_ms); }

void CheckContext::fail(const std::string& text) {
  out_.findings.push_back({std::string(without_round(out_.name)), text, ""});
}
void CheckContext::warn(const std::string& text) {
  out_.state = State::kWarning;
  out_.reason = text;
}
void CheckContext::skip(const std::string& reason) {
  out_.state = State::kUnsupported;
  out_.reason = reason;
}

bool has_same_outputs(const std::vector<TensorData>& a, const std::vector<TensorData>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].shape.sizes != b[i].shape.sizes || a[i].bytes != b[i].bytes) return false;
  return true;
}

bool has_same_result(const RunResult& a, const RunResult& b) {
  return a.status == b.status && has_same_outputs(a.outputs, b.outputs);
}

std::vector<Check> all_checks() {
  std::vector<Check> out;
  for (const auto group : {abi_checks,
                           ver_checks,
                           life_checks,
                           random_walk_checks,
                           cap_checks,
                           dyn_checks,
                           mem_checks,
                           hyg_checks,
                           worker_checks,
                           stopped_thread_checks,
                           leak_checks,
                           leak_loop_checks,
                           conc_checks,
                           concurrent_call_checks,
                           concurrent_option_checks,
                           many_checks,
                           reason_checks,
                           det_checks,
                           blob_checks,
                           payload_verdict_checks,
                           newer_version_checks,
                           opt_checks,
                           err_checks,
                           unload_checks,
                           net_checks,
                           prof_checks,
                           event_span_checks,
                           perf_checks,
                           device_checks,
                           reserve_checks,
                           cancel_checks,
                           stop_checks,
                           async_checks,
                           info_checks,
                           op_table_checks,
                           row_end_checks,
                           constraint_checks,
                           blamed_property_checks,
                           aot_checks,
                           compile_checks,
                           large_region_checks,
                           extension_checks,
                           device_memory_checks,
                           device_target_checks,
                           device_account_checks,
                           named_data_checks,
                           promise_checks,
                           option_life_checks,
                           option_owner_checks,
                           option_list_checks,
                           sink_checks,
                           host_checks,
                           loan_checks,
                           callback_checks,
                           wrong_struct_checks,
                           aot_option_checks,
                           default_option_checks,
                           option_value_checks,
                           worker_number_checks,
                           description_checks,
                           status_checks,
                           restricted_checks,
                           cache_checks,
                           option_file_checks})
    for (const Check& check : group()) out.push_back(check);
  return out;
}

const Check* find_check(const std::string& id) {
  static const std::vector<Check> checks = all_checks();
  for (const Check& check : checks)
    if (without_round(id) == check.id) return &check;
  return nullptr;
}

Outcome run_check(const Check& check, const std::string& name, const SubjectSpec& spec,
                  const PrecisionContract& contract, const Latency& latency, Progress& progress) {
  Outcome out;
  out.name = name;
  CheckContext context(spec, contract, latency, progress, out);
  (void)Subject::take_failed_end();
  check.run(context);
  add_failed_end(out);
  for (Finding& finding : out.findings)
    if (finding.rule.empty()) finding.rule = check.rule;
  conclude(out);
  return out;
}

}  // namespace etb::conformance
