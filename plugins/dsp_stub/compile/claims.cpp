// SPDX-License-Identifier: Apache-2.0
// Claims whole patterns. Patterns that share a dequantize node are one group, because a node has one group.
#include <algorithm>
#include <numeric>

#include "plugins/dsp_stub/compile/lowering.hpp"
#include "plugins/dsp_stub/plan/memory_plan.hpp"

namespace etb::dsp_stub {

namespace {

constexpr const char* kKnownReasons[] = {"op", "dtype", "rank", "layout", "dynamic", "quant", "attribute"};

std::string reason_of(const Error& error) {
  for (const char* reason : kKnownReasons)
    if (error.reason == reason) return reason;
  if (error.reason == "constant") return "org.etbackend.dsp-stub.constant";
  if (error.code == Code::OUT_OF_RESOURCES) return kMemoryReason;
  return error.reason.empty() ? "attribute" : error.reason;
}

// Lowers a pattern alone, and checks that its layers fit.
Status try_pattern(const GraphFacts& facts, const Pattern& pattern, uint32_t tcm_bytes) {
  NetworkBuilder builder(facts, nullptr, tcm_bytes);
  ETB_TRY(PatternLowering(builder, pattern).lower());
  const Network& network = builder.network();
  if (network.inputs.size() + 1 > DSP_MAX_IO) return reject("attribute", "more inputs than a payload has");
  return check_tiles(network, tcm_bytes);
}

class Claims {
 public:
  Claims(const GraphFacts& facts, uint32_t tcm_bytes) : facts_(facts), answers_(facts.graph().node_count()) {
    const Graph& graph = facts.graph();
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const std::string op(graph.node(i).op_name());
      const bool is_listed =
          std::any_of(op_rows().begin(), op_rows().end(), [&](const OpRow& row) { return op == row.op; });
      answers_[i].reason = is_listed ? kPatternReason : "op";
      answers_[i].text = is_listed ? op + ": outside of a pattern dequantize -> op -> quantize"
                                   : op + ": not in the op table";
      if (is_quantize(graph.node(i))) add_pattern(i, tcm_bytes);
    }
  }

  std::vector<Answer> finish() {
    do {
      while (drop_torn_patterns()) {
      }
    } while (!make_groups());
    for (uint32_t node = 0; node < answers_.size(); ++node)
      if (owner_[node] != graph::kNone) answers_[node] = {true, root_of(owner_[node]) + 1, {}, {}};
    return std::move(answers_);
  }

 private:
  void add_pattern(uint32_t quantize, uint32_t tcm_bytes) {
    std::vector<uint32_t> seen;
    auto pattern = match_pattern(facts_, quantize, seen);
    Status tried = {};
    if (!pattern) {
      tried = tl::make_unexpected(pattern.error());
    } else {
      tried = try_pattern(facts_, *pattern, tcm_bytes);
    }
    if (tried)
      patterns_.push_back(*std::move(pattern));
    else
      reject_nodes(seen, reason_of(tried.error()), tried.error().message);
  }

  void reject_nodes(const std::vector<uint32_t>& nodes, const std::string& reason, const std::string& text) {
    for (const uint32_t node : nodes) {
      answers_[node].reason = reason;
      answers_[node].text = text;
    }
  }

  // A dequantize node may have readers in several patterns. If one reader is in none, no pattern may have it.
  bool drop_torn_patterns() {
    std::vector<bool> is_taken(answers_.size());
    for (const Pattern& pattern : patterns_)
      for (const uint32_t node : pattern.nodes) is_taken[node] = true;
    const auto torn = std::find_if(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) {
      return std::any_of(pattern.nodes.begin(), pattern.nodes.end(), [&](uint32_t index) {
        const Node node = facts_.graph().node(index);
        if (index == pattern.quantize) return false;
        const std::vector<Value> results = node.results();
        return std::any_of(results.begin(), results.end(), [&](const Value& made) {
          const auto& readers = facts_.readers(made.id());
          return facts_.is_output(made.id()) ||
                 std::any_of(readers.begin(), readers.end(), [&](uint32_t r) { return !is_taken[r]; });
        });
      });
    });
    if (torn == patterns_.end()) return false;
    reject_nodes(torn->nodes, kSharedReason,
                 "a float value of the pattern is also read outside of claimed patterns");
    patterns_.erase(torn);
    return true;
  }

  uint32_t root_of(uint32_t pattern) {
    while (root_[pattern] != pattern) pattern = root_[pattern] = root_[root_[pattern]];
    return pattern;
  }

  // Joins patterns that share a node, and those between nodes of one group, as a region runs at once. Returns
  // false after it dropped a pattern.
  bool make_groups() {
    root_.resize(patterns_.size());
    std::iota(root_.begin(), root_.end(), 0);
    owner_.assign(answers_.size(), graph::kNone);
    for (uint32_t p = 0; p < patterns_.size(); ++p)
      for (const uint32_t node : patterns_[p].nodes) {
        if (owner_[node] == graph::kNone) owner_[node] = p;
        root_[root_of(p)] = root_of(owner_[node]);
      }
    for (uint32_t p = 0; p < patterns_.size(); ++p) {
      if (root_of(p) != p) continue;
      for (const uint32_t node : nodes_between(p)) {
        if (owner_[node] == graph::kNone) return drop_last_of(p, node);
        root_[root_of(owner_[node])] = root_of(p);
      }
    }
    return true;
  }

  // Returns the nodes outside of a group that depend on it and that it depends on.
  std::vector<uint32_t> nodes_between(uint32_t group) {
    const Graph& graph = facts_.graph();
    std::vector<bool> is_after(answers_.size()), is_before(answers_.size());
    const auto is_inside = [&](uint32_t node) {
      return owner_[node] != graph::kNone && root_of(owner_[node]) == group;
    };
    for (uint32_t i = 0; i < answers_.size(); ++i)
      for (const Value& operand : graph.node(i).operands()) {
        const uint32_t above = facts_.producer(operand.id());
        if (above != graph::kNone && (is_after[above] || is_inside(above))) is_after[i] = true;
      }
    std::vector<uint32_t> out;
    for (uint32_t i = static_cast<uint32_t>(answers_.size()); i-- > 0;) {
      if (is_before[i] && is_after[i] && !is_inside(i)) out.push_back(i);
      if (!is_before[i] && !is_inside(i)) continue;
      for (const Value& operand : graph.node(i).operands())
        if (const uint32_t above = facts_.producer(operand.id()); above != graph::kNone)
          is_before[above] = true;
    }
    return out;
  }

  bool drop_last_of(uint32_t group, uint32_t between) {
    uint32_t last = group;
    for (uint32_t p = 0; p < patterns_.size(); ++p)
      if (root_of(p) == group && patterns_[p].quantize > patterns_[last].quantize) last = p;
    reject_nodes(patterns_[last].nodes, kSharedReason,
                 "patterns share a float value, and " + std::string(facts_.graph().node(between).op_name()) +
                     " between them is not claimed");
    patterns_.erase(patterns_.begin() + last);
    return false;
  }

  const GraphFacts& facts_;
  std::vector<Answer> answers_;
  std::vector<Pattern> patterns_;
  std::vector<uint32_t> root_;   // a pattern of the same group, for each pattern
  std::vector<uint32_t> owner_;  // a pattern that has the node, for each node
};

}  // namespace

std::vector<Answer> answer_nodes(const GraphFacts& facts, uint32_t tcm_bytes) {
  return Claims(facts, tcm_bytes).finish();
}

Result<Network> lower_region(const GraphFacts& facts, const Region* region, uint32_t tcm_bytes) {
  const Graph& graph = facts.graph();
  NetworkBuilder builder(facts, region, tcm_bytes);
  std::vector<bool> is_lowered(graph.node_count());
  for (uint32_t i = 0; i < graph.input_count(); ++i) builder.add_input(i);
  for (uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!is_quantize(graph.node(i))) continue;
    std::vector<uint32_t> seen;
    ETB_ASSIGN(const Pattern pattern, match_pattern(facts, i, seen));
    ETB_TRY(PatternLowering(builder, pattern).lower());
    for (const uint32_t node : pattern.nodes) is_lowered[node] = true;
    if (region != nullptr && region->is_cancelled())
      return make_error(Code::CANCELLED, "compilation was cancelled");
  }
  for (uint32_t i = 0; i < graph.node_count(); ++i)
    if (!is_lowered[i])
      return make_error(Code::NOT_SUPPORTED, "node " + std::to_string(graph.node(i).id()) + " (" +
                                                 std::string(graph.node(i).op_name()) +
                                                 "): in no whole pattern");
  for (uint32_t i = 0; i < graph.output_count(); ++i) ETB_TRY(builder.add_output(graph.output(i).id()));
  if (builder.network().inputs.size() + builder.network().outputs.size() > DSP_MAX_IO)
    return make_error(Code::NOT_SUPPORTED, "more than 64 inputs and outputs");
  return std::move(builder.network());
}

}  // namespace etb::dsp_stub
