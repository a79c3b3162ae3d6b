// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/assess.hpp"

#include <fmt/format.h>

#include <set>

#include "conformance/judge/judge.hpp"
#include "conformance/subject/node_rows.hpp"
#include "conformance/subject/observe.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {
namespace {

// Maps a rule of the ABI to its group, by the prefix of its id.
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

class Assessment {
 public:
  Assessment(const BuiltCase& built, const CaseFacts& facts, const PrecisionContract& contract, Outcome& out)
      : built_(built),
        facts_(facts),
        contract_(contract),
        out_(out),
        view_(graph::View::open(built.image.span())) {}

  void run() {
    if (!view_) return find("suite.build", view_.error().message);
    if (!facts_.open_error.empty()) return find("life.opens", facts_.open_error);
    Answers answers = facts_.first;
    answers.node_count = node_count();
    if (!(facts_.second == answers))
      return find("cap.same-answer-twice", "a second partition of the same image returns other claims",
                  "ABI-AOT-02");
    if (answers.status != ETB_OK)
      return find("cap.partition-answers", "partition failed: " + answers.error, "ABI-AOT-01");
    if (answers.reasons.size() + answers.claims.size() != answers.node_count)
      return find("cap.partition-answers",
                  fmt::format("{} of {} nodes have an answer", answers.reasons.size() + answers.claims.size(),
                              answers.node_count),
                  "ABI-AOT-01");
    if (!answers.is_whole_claim() &&
        answers.reasons.empty()) {  // a compiler would split it; the pieces are cases, too
      out_.state = State::kUnsupported;
      out_.reason = "each claim is a separate region";
      return;
    }
    if (!facts_.has_compiled) return tampering("no fact about compile");
    if (!answers.is_whole_claim()) return expect_refusal(answers);
    out_.is_claimed = true;
    for (const std::string& op : facts_.unlisted_ops)
      find("cap.op-table-has-claims", "'" + op + "' is claimed, but not in the op table");
    expect_runs();
  }

 private:
  void find(const char* check, std::string text, const char* rule = "") {
    out_.findings.push_back({check, std::move(text), rule});
  }
  // A plugin cannot cause such facts by its answers.
  void tampering(const std::string& text) {
    find(kTampering, "the process of the plugin sent facts that do not fit the case: " + text);
  }

  uint32_t node_count() const {
    size_t count = 0;
    for (uint32_t i = 0; i < view_->graph_count(); ++i) count += view_->graph(i).nodes().size();
    return static_cast<uint32_t>(count);
  }

  // A negative test: a rejected graph must not compile.
  void expect_refusal(const Answers& answers) {
    out_.state = State::kUnsupported;
    if (!answers.reasons.empty()) out_.reason = answers.reasons.begin()->second;
    if (facts_.dry_status == ETB_OK)
      find("cap.dry-check-agrees", "partition rejects (" + out_.reason + "), but dry check accepts");
    if (facts_.compile_status == ETB_OK)
      find("cap.rejected-is-refused",
           "partition rejects (" + out_.reason + "), but compile returns a payload");
    if (!answers.reasons.empty()) expect_statuses_of_refusal();
  }

  // The dry check returns the error that compile would return; that of a node which was not claimed has a status of its own.
  void expect_statuses_of_refusal() {
    if (facts_.compile_status == ETB_OK || facts_.dry_status == ETB_OK) return;
    if (facts_.compile_status != ETB_NOT_SUPPORTED)
      find("cap.rejected-is-refused",
           fmt::format("partition rejects ({}), and compile returns {}, expected ETB_NOT_SUPPORTED",
                       out_.reason, facts_.compile_status));
    if (facts_.dry_status != facts_.compile_status && facts_.dry_status != ETB_NOT_IMPLEMENTED)
      find("cap.dry-check-agrees", fmt::format("partition rejects ({}), dry check returns {} and compile {}",
                                               out_.reason, facts_.dry_status, facts_.compile_status));
  }

  void expect_runs() {
    if (facts_.dry_status != ETB_OK && facts_.dry_status != ETB_NOT_IMPLEMENTED)
      find("cap.dry-check-agrees", "partition claims, but dry check rejects: " + facts_.dry_error);
    if (facts_.compile_status != ETB_OK)
      return find("cap.claimed-compiles", "partition claims, but compile fails: " + facts_.compile_error);
    if (!facts_.create_error.empty())
      return find("cap.compiled-is-created", "compile succeeds, but create fails: " + facts_.create_error);
    if (facts_.runs.size() != built_.runs.size())
      return tampering(fmt::format("{} runs, expected {}", facts_.runs.size(), built_.runs.size()));
    for (size_t run = 0; run < built_.runs.size(); ++run) expect_run(run);
    if (!facts_.end_error.empty()) find("life.destroy", facts_.end_error, "ABI-LIFE-01");
  }

  void expect_run(size_t run) {
    for (size_t i = 0; i < 2; ++i)
      if (facts_.runs[run][i].status != ETB_OK)
        return find("cap.claimed-executes",
                    fmt::format("claimed and compiled, but execute{} fails: {}",
                                i == 0 ? "" : " the second time", facts_.runs[run][i].error));
    if (!expect_outputs(facts_.runs[run][0]) || !expect_outputs(facts_.runs[run][1])) return;
    if (!out_.is_executed) note_nodes();
    out_.is_executed = true;
    compare(run);
  }

  // A case has the op and the dtype of its name. Other nodes of its graph are executed, too.
  void note_nodes() {
    const graph::Graph method = view_->method();
    if (method.nodes().size() < 2) return;
    for (ClaimRow& row : rows_of_nodes(method))
      if (row.op != out_.op || row.dtype != out_.dtype) out_.nodes.push_back(std::move(row));
  }

  // Checks outputs: as many as the graph has, of its dtypes, with the bytes that their sizes require.
  bool expect_outputs(const RunFacts& facts) {
    const graph::Graph method = view_->method();
    if (facts.outputs.size() != method.outputs().size()) {
      tampering(fmt::format("{} outputs, expected {}", facts.outputs.size(), method.outputs().size()));
      return false;
    }
    for (uint32_t i = 0; i < facts.outputs.size(); ++i)
      if (static_cast<uint32_t>(facts.outputs[i].shape.dtype) !=
          static_cast<uint32_t>(method.output(i).spec().dtype)) {
        tampering(fmt::format("output {} has another dtype than the graph", i));
        return false;
      }
    return true;
  }

  // Returns the contract of this graph: rows for any of its ops.
  PrecisionContract contract_of_graph() const {
    std::vector<std::string> ops;
    std::set<etb_dtype> dtypes;
    const graph::Graph method = view_->method();
    for (const graph::Node& node : method.nodes()) ops.emplace_back(node.op_name());
    for (const graph::Value& value : method.values())
      if (value.is_tensor()) dtypes.insert(static_cast<etb_dtype>(value.spec().dtype));
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
      out.codes = std::max(out.codes, one.codes);
    }
    return out;
  }

  // True if an operand of this run is beyond the contract's range.
  bool is_out_of_range(const PrecisionContract& contract, size_t run, size_t index) const {
    if (contract.largest == HUGE_VAL) return false;
    for (const TensorData& input : built_.runs[run]) {
      if (static_cast<int64_t>(index) >= input.shape.numel() || !is_floating(input.shape.dtype)) continue;
      const double value = load_element(input.shape.dtype, input.bytes.data(), static_cast<int64_t>(index));
      if (std::abs(value) > contract.largest) return true;
    }
    return false;
  }

  // Accepts any result for operands beyond the contract's range.
  ReferenceTensor within_range(const PrecisionContract& contract, size_t run, const TensorData& found,
                               const ReferenceTensor& reference) const {
    ReferenceTensor out = reference;
    for (size_t i = 0; i < out.values.size(); ++i)
      if (is_out_of_range(contract, run, i))
        out.values[i] = load_element(found.shape.dtype, found.bytes.data(), static_cast<int64_t>(i));
    return out;
  }

  // A plugin that flushes subnormals may also read them as zeros.
  Comparison judge_output(const PrecisionContract& contract, size_t run, uint32_t index,
                          const TensorData& found, const ReferenceTensor& given) const {
    const ReferenceTensor reference =
        contract.largest < HUGE_VAL ? within_range(contract, run, found, given) : given;
    Comparison comparison =
        judge(built_.error_model, contract, found.shape.dtype, reference, found.bytes.data());
    if (comparison.is_right || !contract.flushes_subnormals) return comparison;
    const auto flushed = make_reference(with_flushed_inputs(built_, run), run);
    if (!flushed) return comparison;
    return judge(built_.error_model, contract, found.shape.dtype,
                 within_range(contract, run, found, (*flushed)[index]), found.bytes.data());
  }

  void compare(size_t run) {
    const Result<std::vector<ReferenceTensor>> references = make_reference(built_, run);
    if (!references) return find("suite.reference", references.error().message);
    const PrecisionContract contract = contract_of_graph();
    const auto& [first, second] = facts_.runs[run];
    for (uint32_t i = 0; i < first.outputs.size(); ++i) {
      const TensorData& found = first.outputs[i];
      const ReferenceTensor& reference = (*references)[i];
      if (found.shape.sizes != reference.sizes)
        return find(built_.runs.size() > 1 ? "dyn.final-sizes" : "op.final-sizes",
                    fmt::format("output {} has sizes {}, expected {}", i, text(found.shape.sizes),
                                text(reference.sizes)),
                    "ABI-TENSOR-02");
      if (found.bytes.size() != nbytes_of(found))
        return tampering(
            fmt::format("output {} has {} bytes, expected {}", i, found.bytes.size(), nbytes_of(found)));
      if (!compare_runs(i, found, second.outputs[i])) return;
      const Comparison comparison = judge_output(contract, run, i, found, reference);
      if (comparison.is_right) {
        out_.margin = std::max(out_.margin, comparison.margin);
        continue;
      }
      const std::string check = group_of(out_.name) + "." + comparison.check;
      return out_.findings.push_back(
          {check,
           fmt::format("output {}{}: {}", i, built_.runs.size() > 1 ? fmt::format(" of run {}", run) : "",
                       comparison.text),
           ""});
    }
  }

  // For sizes that equal the reference's.
  static size_t nbytes_of(const TensorData& tensor) {
    return static_cast<size_t>(tensor.shape.numel()) * element_nbytes(tensor.shape.dtype);
  }

  // Two runs have the same inputs and other garbage in the outputs. Bytes that differ were never written, or
  // do not depend on inputs only.
  bool compare_runs(uint32_t index, const TensorData& first, const TensorData& second) {
    if (first.bytes == second.bytes && first.shape.sizes == second.shape.sizes) return true;
    if (first.bytes.size() != second.bytes.size() || first.shape.sizes != second.shape.sizes) {
      find("det.same-input-same-output",
           fmt::format("output {}: two runs of the same inputs return different sizes", index));
      return false;
    }
    for (size_t at = 0; at < first.bytes.size(); ++at) {
      if (first.bytes[at] == second.bytes[at]) continue;
      const bool is_unwritten =
          first.bytes[at] == std::byte{kFills[0]} && second.bytes[at] == std::byte{kFills[1]};
      if (is_unwritten)
        find("mem.unwritten-output",
             fmt::format("output {}: byte {} still has the value that the host stored before the run", index,
                         at),
             "ABI-TENSOR-02");
      else
        find("det.same-input-same-output",
             fmt::format("output {}: byte {} differs between two runs of the same inputs", index, at));
      break;
    }
    return false;
  }

  static std::string text(const std::vector<int64_t>& sizes) {
    return fmt::format("[{}]", fmt::join(sizes, ", "));
  }

  const BuiltCase& built_;
  const CaseFacts& facts_;
  const PrecisionContract& contract_;
  Outcome& out_;
  const Result<graph::View> view_;
};

}  // namespace

void assess(const BuiltCase& built, const CaseFacts& facts, const PrecisionContract& contract, Outcome& out) {
  Assessment(built, facts, contract, out).run();
  add_breaches(facts.breaches, out);
  conclude(out);
}

void add_breaches(const std::vector<Breach>& breaches, Outcome& out) {
  constexpr size_t kMaxFindings = 5;
  for (const Breach& breach : breaches) {
    if (out.findings.size() >= kMaxFindings) break;
    const std::string group = breach.is_of_plugin ? group_of_rule(breach.rule) : "suite";
    out.findings.push_back(
        {group + "." + lower(breach.rule), breach.function + ": " + breach.text, breach.rule});
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

}  // namespace etb::conformance
