// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/observe.hpp"

#include "conformance/subject/case_session.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMaxBreaches = 16;

std::vector<std::string> unlisted_ops(Subject& subject, const BuiltCase& built) {
  std::vector<std::string> out;
  const auto& rows = subject.claimed_rows();
  const auto view = graph::View::open(built.image.span());
  if (!view) return out;
  const graph::Graph method = view->method();
  for (const graph::Node& node : method.nodes()) {
    const std::string op(node.op_name());
    const auto first = rows.lower_bound(op + " ");
    if (first == rows.end() || first->rfind(op + " ", 0) != 0) out.push_back(op);
  }
  return out;
}

void observe_compile(Subject& subject, const BuiltCase& built, CaseFacts& facts, Payload& out_payload) {
  Compiled compiled = compile(subject, built.image);
  facts.has_compiled = true;
  facts.compile_status = compiled.status;
  facts.compile_error = std::move(compiled.error);
  out_payload = std::move(compiled.payload);
}

void observe_run(CaseSession& session, const std::vector<TensorData>& inputs, Progress& progress,
                 std::array<RunFacts, 2>& out) {
  for (size_t i = 0; i < 2; ++i) {
    progress.at(i == 0 ? "execute" : "execute again");
    RunOptions options;
    options.fill = kFills[i];
    if (i != 0) options.cancel = &kNeverCancelled;
    options.has_least_alignment = true;  // else the offset between tensor and guard page is random
    RunResult result = session.run(inputs, options);
    out[i].status = result.status;
    if (result.status != ETB_OK) {
      out[i].error = result.error.text;
      return;
    }
    out[i].outputs = std::move(result.outputs);
  }
}

void observe_runs(Subject& subject, const BuiltCase& built, Payload payload, Progress& progress,
                  CaseFacts& facts) {
  progress.at("create");
  Result<std::unique_ptr<CaseSession>> session = CaseSession::make(subject, built, std::move(payload));
  if (!session) {
    facts.create_error = session.error().message.empty() ? "no text" : session.error().message;
    return;
  }
  facts.runs.resize(built.runs.size());
  for (size_t run = 0; run < built.runs.size(); ++run)
    observe_run(**session, built.runs[run], progress, facts.runs[run]);
  progress.at("destroy");
  const Status ended = (*session)->end();
  if (!ended) facts.end_error = ended.error().message.empty() ? "no text" : ended.error().message;
}

void observe_calls(Subject& subject, const BuiltCase& built, Progress& progress, CaseFacts& facts) {
  progress.at("partition");
  facts.first = partition(subject, built.image);
  progress.at("partition again");
  facts.second = partition(subject, built.image);
  const Answers& answers = facts.first;
  if (!(facts.second == answers) || answers.status != ETB_OK) return;
  const bool is_claimed = answers.is_whole_claim();
  if (!is_claimed && answers.reasons.empty()) return;
  if (is_claimed) facts.unlisted_ops = unlisted_ops(subject, built);
  progress.at(is_claimed ? "dry check" : "dry check of a rejected graph");
  facts.dry_status = dry_check(subject, built.image, facts.dry_error);
  progress.at(is_claimed ? "compile" : "compile of a rejected graph");
  Payload payload;
  observe_compile(subject, built, facts, payload);
  if (is_claimed && facts.compile_status == ETB_OK)
    observe_runs(subject, built, std::move(payload), progress, facts);
}

}  // namespace

CaseFacts observe_case(Subject& subject, const BuiltCase& built, Progress& progress) {
  CaseFacts facts;
  observe_calls(subject, built, progress, facts);
  facts.breaches = take_breaches(subject);
  return facts;
}

std::vector<Breach> take_breaches(Subject& subject) {
  std::vector<Breach> out;
  for (host::Violation& violation : subject.take_violations()) {
    if (out.size() >= kMaxBreaches) break;
    out.push_back({violation.side == host::Side::PLUGIN, std::move(violation.rule),
                   std::move(violation.function), std::move(violation.text)});
  }
  return out;
}

}  // namespace etb::conformance
