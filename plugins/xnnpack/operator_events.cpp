// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/operator_events.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "plugins/xnnpack/payload/operators.hpp"
#include "plugins/xnnpack/subgraph.hpp"

namespace etb::xnnpack {

namespace {

// Returns the letters of `text` in lower case.
std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

// True if the operator has the payload's name. Newer releases name elementwise operators so: "Square Root
// (NC)", "Add (ND)".
bool is_named_after(XnnOperator op, std::string_view kind) {
  const std::string name = letters_of(to_text(op));
  return letters_of(kind).compare(0, name.size(), name) == 0;
}

bool can_be(XnnOperator op, std::string_view kind) {
  const std::string_view events = facts_of(op).events;
  const auto begins_with = [&](std::string_view text) { return kind.substr(0, text.size()) == text; };
  if (begins_with("Unary Elementwise"))
    return events == "Unary Elementwise" || op == XnnOperator::kConvert ||
           op == XnnOperator::kReciprocalSquareRoot;
  if (begins_with("Dynamic Fully Connected")) return op == XnnOperator::kFullyConnected;
  return begins_with(events) || is_named_after(op, kind);
}

// An operator that XNNPACK may create for a node.
struct Step {
  XnnOperator op;
  size_t node;
};

// True if the node pads height and width of [N, H, W, C] with zeros.
bool is_zero_padding(const XnnNode& node) {
  return node.op == XnnOperator::kConstantPad && node.value == 0 && node.first.size() == 4 &&
         (node.first[0] | node.second[0] | node.first[3] | node.second[3]) == 0;
}

// The nodes that an output needs, and the nodes around each of their values.
class LiveNodes {
 public:
  explicit LiveNodes(const XnnPayload& payload)
      : payload_(payload),
        is_live_(find_live(payload)),
        reader_counts_(payload.value_of_id.size(), 0),
        producers_(payload.value_of_id.size(), nullptr),
        readers_(payload.value_of_id.size(), nullptr) {
    for (size_t i = 0; i < payload.nodes.size(); ++i)
      if (is_live_[i]) add(payload.nodes[i]);
  }

  bool is_live(size_t node) const { return is_live_[node]; }

  // True if XNNPACK fuses the node with a neighbour.
  bool is_fused(const XnnNode& node) const {
    const uint32_t in = node.inputs[0], out = node.outputs[0];
    if (node.op == XnnOperator::kClamp)
      return is_inner(in) && producers_[in] != nullptr && fuses_clamp(*producers_[in]);
    if (!is_zero_padding(node) || !is_inner(out) || readers_[out]->inputs[0] != out) return false;
    return readers_[out]->op == XnnOperator::kConv2d || readers_[out]->op == XnnOperator::kDepthwiseConv2d;
  }

 private:
  void add(const XnnNode& node) {
    for (uint32_t o = 0; o < node.output_count; ++o) producers_[node.outputs[o]] = &node;
    for (uint32_t n = 0; n < node.input_count; ++n) {
      const uint32_t id = node.inputs[n];
      if (id == kXnnNoValue) continue;
      ++reader_counts_[id];
      readers_[id] = &node;
    }
  }
  // True if one node reads the value, and no output is it.
  bool is_inner(uint32_t id) const { return reader_counts_[id] == 1 && !payload_.value(id).is_output; }

  const XnnPayload& payload_;
  std::vector<bool> is_live_;                        // by node
  std::vector<uint32_t> reader_counts_;              // by id, as the next ones
  std::vector<const XnnNode*> producers_, readers_;  // one reader of each value
};

// Returns the operators that XNNPACK creates for a node.
std::vector<XnnOperator> operators_of(const XnnNode& node) {
#ifndef ETB_XNNPACK_HAS_ATTENTION
  if (node.op == XnnOperator::kScaledDotProductAttention)  // expanded into these; see define_node.cpp
    return {XnnOperator::kMultiply, XnnOperator::kBatchMatrixMultiply, XnnOperator::kAdd,
            XnnOperator::kSoftmax, XnnOperator::kBatchMatrixMultiply};
#endif
  if (has_clamp_operator(node)) return {node.op, XnnOperator::kClamp};
  return {node.op};
}

// Returns steps in XNNPACK's order. Unary operators share one name, so the list must be exact: nodes that no
// output needs create no operator. With `fuses`, nodes that XNNPACK fuses with their neighbours are left out.
std::vector<Step> steps_of(const XnnPayload& payload, bool fuses) {
  const LiveNodes live(payload);
  std::vector<Step> steps;
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnNode& node = payload.nodes[i];
    if (!live.is_live(i) || (fuses && live.is_fused(node))) continue;
    for (const XnnOperator op : operators_of(node)) steps.push_back({op, i});
  }
  return steps;
}

// Finds the step of each operator, kNoStep if it has none. Returns the number of unmatched entries on both
// sides.
constexpr size_t kNoStep = SIZE_MAX;
size_t match(const std::vector<std::string>& kinds, const std::vector<Step>& steps,
             std::vector<size_t>& step_of) {
  step_of.assign(kinds.size(), kNoStep);
  size_t cursor = 0, alone_count = steps.size();
  for (size_t i = 0; i < kinds.size(); ++i) {
    size_t next = cursor;
    while (next < steps.size() && !can_be(steps[next].op, kinds[i])) ++next;
    if (next == steps.size()) {
      ++alone_count;
      continue;
    }
    --alone_count;
    step_of[i] = next;
    cursor = next + 1;
  }
  return alone_count;
}

// Calls XNNPACK twice: for the size, then for the data.
template <class T>
Status read(xnn_runtime_t runtime, xnn_profile_info what, std::vector<T>& out) {
  size_t nbytes = 0;
  for (int round = 0; round < 2; ++round) {
    const xnn_status status =
        xnn_get_runtime_profiling_info(runtime, what, out.size() * sizeof(T), out.data(), &nbytes);
    if (status == xnn_status_success) return {};
    if (status != xnn_status_out_of_memory) return from_xnn(status, "profile");
    out.resize((nbytes + sizeof(T) - 1) / sizeof(T));
  }
  return make_error(Code::INTERNAL, "profile: its size changes while it is read");
}

}  // namespace

std::string event_name(const XnnNode& node, size_t position) {
  return std::string(to_text(node.op)) + " #" + std::to_string(position);
}

Result<OperatorEvents> OperatorEvents::make(xnn_runtime_t runtime, const XnnPayload& payload) {
  std::vector<char> text;
  ETB_TRY(read(runtime, xnn_profile_info_operator_name, text));
  std::vector<std::string> kinds;
  for (size_t at = 0; at < text.size(); ++at) {
    const auto first = text.begin() + static_cast<std::ptrdiff_t>(at);
    kinds.emplace_back(first, std::find(first, text.end(), '\0'));
    at += kinds.back().size();
    if (kinds.back().empty()) kinds.pop_back();
  }
  // Releases fuse different nodes. The variant with fewer unmatched operators is used.
  std::vector<Step> steps = steps_of(payload, true);
  std::vector<size_t> step_of;
  if (const size_t alone_count = match(kinds, steps, step_of); alone_count > 0) {
    std::vector<Step> all = steps_of(payload, false);
    std::vector<size_t> step_of_all;
    if (match(kinds, all, step_of_all) < alone_count) {
      steps = std::move(all);
      step_of = std::move(step_of_all);
    }
  }
  OperatorEvents made;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_known = step_of[i] != kNoStep;
    const size_t node = is_known ? steps[step_of[i]].node : 0;
    made.operators_.push_back({is_known ? event_name(payload.nodes[node], node) : kinds[i], kinds[i]});
  }
  made.micros_.resize(made.operators_.size());
  return made;
}

Status OperatorEvents::put(const Run& run, xnn_runtime_t runtime, uint64_t begin_ns) {
  ETB_TRY(read(runtime, xnn_profile_info_operator_timing, micros_));
  const uint64_t end_ns = run.host().now_ns();
  uint64_t now_ns = begin_ns;
  for (size_t i = 0; i < operators_.size() && i < micros_.size(); ++i) {
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.flags = ETB_EVENT_LOSSY;
    event.name = operators_[i].name.c_str();
    event.debug_id = -1;
    event.begin_ticks = now_ns;
    now_ns = std::min(now_ns + micros_[i] * 1000, end_ns);
    event.end_ticks = now_ns;
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    event.metadata = {reinterpret_cast<const uint8_t*>(operators_[i].kind.data()), operators_[i].kind.size()};
    ETB_TRY(from_host(run.raw().events->put(run.raw().events->ctx, &event), "event sink"));
  }
  return {};
}

}  // namespace etb::xnnpack
