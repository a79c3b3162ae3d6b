// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/inspector/source_rows.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "partitioner_sdk/inspector/times.hpp"

namespace etb::inspector {
namespace {

using format::EtdumpBlock;
using format::EtdumpEvent;
using record::RecordedNode;

double us_of(const EtdumpEvent& event) { return static_cast<double>(event.elapsed_ns()) / 1e3; }

// A piece of a run's time that is counted once.
struct Work {
  double us = 0;
  Origin origin;
  std::string label;  // its row if no node caused it
};

// A call of a delegate or kernel, for rows of delegates.
struct Call {
  double us = 0, own_us = 0;
  int32_t instruction = -1;
  bool is_delegate = false;
  std::string backend_id;
};

// Divides a run into its pieces: kernels, events inside delegates, and the rest of each.
class RunWork {
 public:
  RunWork(const EtdumpBlock& block, const MethodIndex* method) : method_(method) {
    for (const EtdumpEvent& event : block.events) add(event);
    if (run_us_ > instructions_us_)
      works_.push_back({run_us_ - instructions_us_, {}, "(run time between instructions)"});
  }

  const std::vector<Work>& works() const { return works_; }
  const std::vector<Call>& calls() const { return calls_; }
  double run_us() const { return run_us_; }

 private:
  Origin origin_of(const EtdumpEvent& event) const {
    return method_ == nullptr ? Origin{} : method_->find(event);
  }

  void add(const EtdumpEvent& event) {
    if (event.is_of_delegate()) return inside_.push_back(&event);
    if (event.name == "Method::execute") run_us_ += us_of(event);
    if (event.chain_index < 0) return inside_.clear();
    if (event.name.starts_with("native_call_")) {
      kernel_ = &event;
      return;
    }
    instructions_us_ += us_of(event);
    if (event.name == "DELEGATE_CALL")
      add_delegate(event);
    else
      add_kernel(event);
    kernel_ = nullptr;
    inside_.clear();
  }

  void add_kernel(const EtdumpEvent& event) {
    // The kernel's own event is inside of OPERATOR_CALL, which also has the time to call it.
    works_.push_back({us_of(event), origin_of(event),
                      kernel_ != nullptr ? "(" + base_of_op(kernel_->name) + ", added by the compiler)"
                                         : "(" + event.name + ")"});
    calls_.push_back({us_of(event), us_of(event), event.instruction_index, false, ""});
  }

  void add_delegate(const EtdumpEvent& event) {
    const Origin call = origin_of(event);
    const std::string who = call.backend_id.empty() ? "delegate" : call.backend_id;
    double inside_us = 0;
    for (const EtdumpEvent* inner : inside_) inside_us += us_of(*inner);
    // On another clock, events may seem to last longer than their call.
    const double scale = inside_us > us_of(event) ? us_of(event) / inside_us : 1;
    for (const EtdumpEvent* inner : inside_)
      works_.push_back({us_of(*inner) * scale, origin_of(*inner), "(" + who + ", events without nodes)"});
    const double rest = us_of(event) - inside_us * scale;
    const bool has_parts = !inside_.empty();
    works_.push_back({rest, has_parts ? Origin{} : call, "(" + who + ", outside of its events)"});
    if (!has_parts) works_.back().label = "(" + who + ", without events)";
    calls_.push_back(
        {us_of(event), has_parts ? rest : us_of(event), event.instruction_index, true, call.backend_id});
  }

  const MethodIndex* method_;
  const EtdumpEvent* kernel_ = nullptr;
  std::vector<const EtdumpEvent*> inside_;
  std::vector<Work> works_;
  std::vector<Call> calls_;
  double run_us_ = 0, instructions_us_ = 0;
};

void add_once(std::vector<std::string>& to, const std::string& text) {
  if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
}

// The module and those around it: "a.b.c" is inside "a.b", "a" and the model.
std::vector<std::string> modules_around(const std::string& path) {
  std::vector<std::string> out = {path};
  for (size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.', dot - 1)) {
    out.push_back(path.substr(0, dot));
    if (dot == 0) break;
  }
  if (!path.empty()) out.emplace_back();
  return out;
}

class SourceRows {
 public:
  explicit SourceRows(SourceGrouping grouping) : grouping_(grouping) {}

  void add_run(const RunWork& run) {
    ++run_count_;
    run_us_ += run.run_us();
    if (grouping_ == SourceGrouping::kDelegate)
      for (const Call& call : run.calls()) add_call(call);
    else
      for (const Work& work : run.works()) add(work);
    if (grouping_ == SourceGrouping::kDelegate && !run.works().empty() &&
        run.works().back().label == "(run time between instructions)")
      add_time(row("(run time between instructions)", ""), run.works().back().us, run.works().back().us);
  }

  SourceProfile take() {
    SourceProfile out;
    out.run_count = run_count_;
    const auto runs = static_cast<double>(std::max<size_t>(run_count_, 1));
    out.run_us = run_us_ / runs;
    for (SourceRow& row : rows_) {
      row.us.resize(run_count_);
      row.own_us.resize(run_count_);
      row.calls /= runs;
      row.shared_us /= runs;
    }
    out.rows = std::move(rows_);
    std::stable_sort(out.rows.begin(), out.rows.end(),
                     [](const SourceRow& a, const SourceRow& b) { return a.average_us() > b.average_us(); });
    return out;
  }

 private:
  // Files of one name in two folders have two rows.
  SourceRow& row(const std::string& name, const std::string& detail, const std::string& key = "") {
    const auto [found, is_new] = indices_.try_emplace(key.empty() ? name : key, rows_.size());
    if (is_new) rows_.emplace_back().name = name;
    SourceRow& row = rows_[found->second];
    if (row.detail.empty()) row.detail = detail;
    return row;
  }

  void add_time(SourceRow& row, double us, double own_us) {
    row.us.resize(run_count_);
    row.own_us.resize(run_count_);
    row.us.back() += us;
    row.own_us.back() += own_us;
  }

  std::string key_of(const RecordedNode& node) const {
    switch (grouping_) {
      case SourceGrouping::kNode:
        return node.name;
      case SourceGrouping::kModule:
        return node.modules.empty() ? "" : node.modules.back().path;
      default:
        return node.file.empty() ? "" : node.file + ":" + std::to_string(node.line);
    }
  }
  SourceRow& row_of(const RecordedNode& node, const std::string& key) {
    if (key.empty()) return row("(nodes without a source)", "");
    if (grouping_ == SourceGrouping::kNode) return row(key, node.op);
    SourceRow& line = row(line_of(node), node.function, key);
    line.file = node.file;
    line.line = node.line;
    return line;
  }

  void add(const Work& work) {
    if (work.origin.nodes.empty()) {
      if (work.us <= 0) return;
      add_time(row(work.label, ""), work.us, work.us);
      row(work.label, "").calls += 1;
      return;
    }
    std::map<std::string, std::vector<const RecordedNode*>> parts;
    for (const RecordedNode* node : work.origin.nodes) parts[key_of(*node)].push_back(node);
    const double us = work.us / static_cast<double>(parts.size());
    for (const auto& [key, nodes] : parts)
      if (grouping_ == SourceGrouping::kModule)
        add_modules(key, nodes, us, work, parts.size() > 1);
      else
        add_part(row_of(*nodes.front(), key), nodes, us, us, work, parts.size() > 1);
  }

  void add_part(SourceRow& to, const std::vector<const RecordedNode*>& nodes, double us, double own_us,
                const Work& work, bool is_shared) {
    add_time(to, us, own_us);
    to.calls += 1;
    if (is_shared) to.shared_us += us;
    for (const RecordedNode* node : nodes) add_once(to.ops, node->op);
    add_once(to.backends, work.origin.backend_id);
  }

  void add_modules(const std::string& path, const std::vector<const RecordedNode*>& nodes, double us,
                   const Work& work, bool is_shared) {
    for (const std::string& module : modules_around(path)) {
      std::string type;
      for (const record::ModuleFrame& frame : nodes.front()->modules)
        if (frame.path == module) type = frame.type;
      add_part(row(module.empty() ? "(model)" : module, type), nodes, us, module == path ? us : 0, work,
               is_shared);
    }
  }

  void add_call(const Call& call) {
    const std::string name = !call.is_delegate ? "(portable kernels)"
                             : call.backend_id.empty()
                                 ? "delegate at instruction " + std::to_string(call.instruction)
                                 : call.backend_id + " at instruction " + std::to_string(call.instruction);
    SourceRow& to = row(name, "");
    add_time(to, call.us, call.own_us);
    to.calls += 1;
    add_once(to.backends, call.backend_id);
  }

  SourceGrouping grouping_;
  size_t run_count_ = 0;
  double run_us_ = 0;
  std::vector<SourceRow> rows_;
  std::map<std::string, size_t> indices_;
};

}  // namespace

double SourceRow::average_us() const { return mean(us); }

std::string line_of(const RecordedNode& node) {
  if (node.file.empty()) return "";
  return node.file.substr(node.file.rfind('/') + 1) + ":" + std::to_string(node.line);
}

Result<SourceProfile> add_up_sources(std::span<const EtdumpBlock> blocks, SourceGrouping grouping,
                                     const std::string& block_name, size_t first, const RecordIndex* record) {
  SourceRows rows(grouping);
  for (const EtdumpBlock& block : blocks) {
    if (block.name != block_name) continue;
    if (first != 0) {
      --first;
      continue;
    }
    const MethodIndex* method = nullptr;
    if (record != nullptr) {
      ETB_ASSIGN(method, record->find_method(block));
    }
    rows.add_run(RunWork(block, method));
  }
  return rows.take();
}

}  // namespace etb::inspector
