#include "conformance/runner/case_flow.hpp"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "conformance/judge/judge.hpp"
#include "conformance/runner/aot_calls.hpp"
#include "conformance/runner/session.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

constexpr uint8_t kFills[] = {0xa5, 0x3c};

// The group that a rule of the ABI belongs to, by the words of its id.
struct RuleGroup {
  const char* prefix;
  const char* group;
};
constexpr RuleGroup kRuleGroups[] = {
    {"ABI-TENSOR", "mem"}, {"ABI-OWN", "mem"},     {"ABI-EXEC-01", "err"}, {"ABI-EXEC-03", "conc"},
    {"ABI-EXEC", "mem"},   {"ABI-HYG-03", "leak"}, {"ABI-HYG", "hyg"},     {"ABI-THREAD", "conc"},
    {"ABI-SIZE", "ver"},   {"ABI-VER", "ver"},     {"ABI-EXT", "ver"},     {"ABI-OPT", "opt"},
    {"ABI-PROF", "prof"},  {"ABI-AOT-02", "det"},  {"ABI-AOT", "cap"},     {"ABI-ERR", "err"},
    {"ABI-LIFE", "life"},  {"ABI-BLOB", "blob"},   {"ABI-SYM", "abi"},
};

const char* group_of_rule(const std::string& rule) {
  for (const RuleGroup& row : kRuleGroups)
    if (rule.rfind(row.prefix, 0) == 0) return row.group;
  return "abi";
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

class Flow {
 public:
  Flow(Subject& subject, const BuiltCase& built, const PrecisionContract& contract, Progress& progress,
       Outcome& out)
      : subject_(subject), built_(built), contract_(contract), progress_(progress), out_(out) {}

  void run() {
    progress_.at("partition");
    const Answers answers = partition(subject_, built_.image);
    progress_.at("partition again");
    if (!(partition(subject_, built_.image) == answers))
      return find("cap.same-answer-twice", "the same image got other claims the second time", "ABI-AOT-02");
    if (answers.status != ETB_OK)
      return find("cap.partition-answers", "partition failed: " + answers.error, "ABI-AOT-01");
    if (answers.reasons.size() + answers.claims.size() != answers.node_count)
      return find("cap.partition-answers",
                  fmt::format("{} of {} nodes have an answer", answers.reasons.size() + answers.claims.size(),
                              answers.node_count),
                  "ABI-AOT-01");
    if (!answers.is_whole_claim() &&
        answers.reasons.empty()) {  // a compiler would cut it up; its pieces are cases, too
      out_.state = State::kUnsupported;
      out_.reason = "each claim is for a region of its own";
      return;
    }
    if (!answers.is_whole_claim()) return expect_refusal(answers);
    out_.is_claimed = true;
    expect_rows();
    run_claimed();
  }

 private:
  void find(const char* check, std::string text, const char* rule = "") {
    out_.findings.push_back({check, std::move(text), rule});
  }

  // A forced negative: what is rejected must not compile.
  void expect_refusal(const Answers& answers) {
    out_.state = State::kUnsupported;
    if (!answers.reasons.empty()) out_.reason = answers.reasons.begin()->second;
    progress_.at("dry check of a rejected graph");
    std::string error;
    if (dry_check(subject_, built_.image, error) == ETB_OK)
      find("cap.dry-check-agrees", "partition rejects (" + out_.reason + "), dry check accepts");
    progress_.at("compile of a rejected graph");
    if (compile(subject_, built_.image).status == ETB_OK)
      find("cap.rejected-is-refused",
           "partition rejects (" + out_.reason + "), compile makes a payload of it all the same");
  }

  // What is claimed stands in the op table.
  void expect_rows() {
    const auto& rows = subject_.claimed_rows();
    const auto view = graph::View::open(built_.image.span());
    const graph::Graph method = view->method();
    for (const graph::Node& node : method.nodes()) {
      const std::string op(node.op_name());
      const auto first = rows.lower_bound(op + " ");
      if (first != rows.end() && first->rfind(op + " ", 0) == 0) continue;
      find("cap.op-table-has-claims", "'" + op + "' is claimed and not in the op table");
    }
  }

  void run_claimed() {
    progress_.at("dry check");
    std::string error;
    const etb_status dry = dry_check(subject_, built_.image, error);
    if (dry != ETB_OK && dry != ETB_NOT_IMPLEMENTED)
      find("cap.dry-check-agrees", "partition claims, dry check refuses: " + error);
    progress_.at("compile");
    Compiled compiled = compile(subject_, built_.image);
    if (compiled.status != ETB_OK)
      return find("cap.claimed-compiles", "partition claims, compile answers: " + compiled.error);
    progress_.at("create");
    Result<std::unique_ptr<Session>> session = Session::make(subject_, built_, std::move(compiled.payload));
    if (!session)
      return find("cap.compiled-is-created", "compile succeeds, create answers: " + session.error().message);
    for (size_t run = 0; run < built_.runs.size(); ++run) run_once(**session, run);
    progress_.at("destroy");
    const Status ended = (*session)->end();
    if (!ended) find("life.destroy", ended.error().message, "ABI-LIFE-01");
  }

  void run_once(Session& session, size_t run) {
    RunResult results[2];
    for (size_t i = 0; i < 2; ++i) {
      progress_.at(i == 0 ? "execute" : "execute again");
      RunOptions options;
      options.fill = kFills[i];
      options.has_least_alignment = true;  // else luck decides how far behind a tensor its guard lies
      results[i] = session.run(built_.runs[run], options);
      if (results[i].status != ETB_OK)
        return find("cap.claimed-executes",
                    fmt::format("claimed and compiled, execute{} answers: {}",
                                i == 0 ? "" : " the second time", results[i].error.text));
    }
    out_.is_executed = true;
    compare(session, run, results[0], results[1]);
  }

  // What holds for this graph: rows of the contract for any of its ops.
  PrecisionContract contract_of_graph() const {
    std::vector<std::string> ops;
    std::set<etb_dtype> dtypes;
    const auto view = graph::View::open(built_.image.span());
    const graph::Graph method = view->method();
    for (const graph::Node& node : method.nodes()) ops.emplace_back(node.op_name());
    for (uint32_t i = 0; i < method.values().size(); ++i)
      if (method.value(i).kind == ETB_GRAPH_VALUE_TENSOR)
        dtypes.insert(static_cast<etb_dtype>(method.spec_of(i).dtype));
    PrecisionContract out = contract_;
    out.rows.clear();
    for (const etb_dtype dtype : dtypes) {
      const PrecisionContract one = contract_.narrowed(ops, dtype);
      if (float_format(one.accumulator).significand_bits < float_format(out.accumulator).significand_bits)
        out.accumulator = one.accumulator;
      out.ulps = std::max(out.ulps, one.ulps);
      out.ulps_of_one = std::max(out.ulps_of_one, one.ulps_of_one);
      out.flushes_subnormals = out.flushes_subnormals || one.flushes_subnormals;
      out.is_finite_only = out.is_finite_only || one.is_finite_only;
      out.largest = std::min(out.largest, one.largest);
    }
    return out;
  }

  // Whether the contract says nothing about this run: some operand is larger than it goes.
  bool is_out_of_range(const PrecisionContract& contract, size_t run, size_t index) const {
    if (contract.largest == HUGE_VAL) return false;
    for (const TensorData& input : built_.runs[run]) {
      if (static_cast<int64_t>(index) >= input.shape.numel() || !is_floating(input.shape.dtype)) continue;
      const double value = load_element(input.shape.dtype, input.bytes.data(), static_cast<int64_t>(index));
      if (std::abs(value) > contract.largest) return true;
    }
    return false;
  }

  // Operands that the contract leaves out give what they give.
  ReferenceTensor within_range(const PrecisionContract& contract, size_t run, const TensorData& found,
                               const ReferenceTensor& reference) const {
    ReferenceTensor out = reference;
    for (size_t i = 0; i < out.values.size(); ++i)
      if (is_out_of_range(contract, run, i))
        out.values[i] = load_element(found.shape.dtype, found.bytes.data(), static_cast<int64_t>(i));
    return out;
  }

  // A plugin that flushes subnormals may read them as zeros, too.
  Opinion judge_output(const PrecisionContract& contract, size_t run, uint32_t index, const TensorData& found,
                       const ReferenceTensor& given) const {
    const ReferenceTensor reference =
        contract.largest < HUGE_VAL ? within_range(contract, run, found, given) : given;
    Opinion opinion = judge(built_.judgement, contract, found.shape.dtype, reference, found.bytes.data());
    if (opinion.is_right || !contract.flushes_subnormals) return opinion;
    const auto flushed = make_reference(with_flushed_inputs(built_, run), run);
    if (!flushed) return opinion;
    return judge(built_.judgement, contract, found.shape.dtype,
                 within_range(contract, run, found, (*flushed)[index]), found.bytes.data());
  }

  void compare(Session& session, size_t run, const RunResult& first, const RunResult& second) {
    const Result<std::vector<ReferenceTensor>> references = make_reference(built_, run);
    if (!references) return find("suite.reference", references.error().message);
    const PrecisionContract contract = contract_of_graph();
    for (uint32_t i = 0; i < session.output_count(); ++i) {
      const TensorData& found = first.outputs[i];
      const ReferenceTensor& reference = (*references)[i];
      if (found.shape.sizes != reference.sizes)
        return find(built_.runs.size() > 1 ? "dyn.final-sizes" : "op.final-sizes",
                    fmt::format("output {} has sizes {}, expected {}", i, text(found.shape.sizes),
                                text(reference.sizes)),
                    "ABI-TENSOR-02");
      if (!compare_runs(i, found, second.outputs[i])) return;
      const Opinion opinion = judge_output(contract, run, i, found, reference);
      if (opinion.is_right) {
        out_.margin = std::max(out_.margin, opinion.margin);
        continue;
      }
      const std::string check = group_of(out_.name) + "." + opinion.check;
      return out_.findings.push_back(
          {check,
           fmt::format("output {}{}: {}", i, built_.runs.size() > 1 ? fmt::format(" of run {}", run) : "",
                       opinion.text),
           ""});
    }
  }

  // The same inputs twice, other garbage in the outputs: what differs was never written, or is not a function of the inputs.
  bool compare_runs(uint32_t index, const TensorData& first, const TensorData& second) {
    if (first.bytes == second.bytes) return true;
    for (size_t at = 0; at < first.bytes.size(); ++at) {
      if (at >= second.bytes.size() || first.bytes[at] == second.bytes[at]) continue;
      const bool is_unwritten =
          first.bytes[at] == std::byte{kFills[0]} && second.bytes[at] == std::byte{kFills[1]};
      if (is_unwritten)
        find("mem.unwritten-output",
             fmt::format("output {}: byte {} still holds what the host put there", index, at),
             "ABI-TENSOR-02");
      else
        find("det.same-input-same-output",
             fmt::format("output {}: byte {} differs between two runs of the same inputs", index, at));
      return false;
    }
    return true;
  }

  static std::string text(const std::vector<int64_t>& sizes) {
    return fmt::format("[{}]", fmt::join(sizes, ", "));
  }

  Subject& subject_;
  const BuiltCase& built_;
  const PrecisionContract& contract_;
  Progress& progress_;
  Outcome& out_;
};

}  // namespace

void add_violations(Subject& subject, Outcome& out) {
  constexpr size_t kMaxFindings = 5;
  for (const host::Violation& violation : subject.take_violations()) {
    if (out.findings.size() >= kMaxFindings) break;
    const std::string group = violation.side == host::Side::PLUGIN ? group_of_rule(violation.rule) : "suite";
    out.findings.push_back(
        {group + "." + lower(violation.rule), violation.function + ": " + violation.text, violation.rule});
  }
}

void conclude(Outcome& out) {
  if (out.findings.empty()) {
    if (out.state == State::kNotRun) out.state = State::kPass;
    return;
  }
  bool is_dishonest = true;
  for (const Finding& finding : out.findings) is_dishonest = is_dishonest && group_of(finding.check) == "cap";
  out.state = is_dishonest ? State::kDishonest : State::kFail;
}

void run_built(Subject& subject, const BuiltCase& built, const PrecisionContract& contract,
               Progress& progress, Outcome& out) {
  Flow(subject, built, contract, progress, out).run();
  add_violations(subject, out);
  conclude(out);
}

Outcome run_case(Subject& subject, const Case& item, const std::string& name,
                 const PrecisionContract& contract, Progress& progress) {
  Outcome out;
  out.name = name;
  out.op = item.op;
  out.dtype = short_name(item.dtype);
  progress.at("build");
  const Result<BuiltCase> built = item.build(name);
  if (built) {
    run_built(subject, *built, contract, progress, out);
  } else {
    out.findings.push_back({"suite.build", built.error().message, ""});
    conclude(out);
  }
  return out;
}

}  // namespace etb::conformance
