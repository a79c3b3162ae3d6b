// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/run_profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "partitioner_sdk/inspector/event_rows.hpp"
#include "partitioner_sdk/inspector/source_rows.hpp"
#include "tools/run/timing.hpp"

namespace etb::tools {
namespace {

using inspector::EventRow;

std::string place_of(const EventRow& row) {
  if (row.chain_index < 0) return "";
  return (row.chain_index == 0 ? "" : std::to_string(row.chain_index) + ":") +
         std::to_string(row.instruction_index);
}

// The innermost module that holds all nodes of an event.
std::string module_of(const EventRow& row) {
  std::string common;
  bool is_first = true;
  for (const record::RecordedNode* node : row.origin.nodes) {
    const std::string path = node->modules.empty() ? "" : node->modules.back().path;
    if (is_first) common = path;
    is_first = false;
    while (!common.empty() && path != common && !path.starts_with(common + ".")) {
      const size_t dot = common.rfind('.');
      common.resize(dot == std::string::npos ? 0 : dot);
    }
  }
  return common;
}

// "conv + relu": the ops of an event, each once.
std::string ops_of(const EventRow& row) {
  std::vector<std::string> ops;
  for (const record::RecordedNode* node : row.origin.nodes) {
    std::string op = inspector::base_of_op(node->op);
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(std::move(op));
  }
  return fmt::format("{}", fmt::join(ops, " + "));
}

std::string lines_of(const EventRow& row) {
  std::set<std::string> lines;
  for (const record::RecordedNode* node : row.origin.nodes)
    if (std::string line = inspector::line_of(*node); !line.empty()) lines.insert(std::move(line));
  return fmt::format("{}", fmt::join(lines, ", "));
}

pages::RunRow to_row(const EventRow& row) {
  pages::RunRow out;
  out.name = row.name;
  out.place = place_of(row);
  out.is_inside_delegate = row.is_inside_delegate;
  out.plugin = row.origin.backend_id;
  // A file of itself does not name the delegate.
  if (out.plugin.empty() && (row.is_inside_delegate || row.name == "DELEGATE_CALL")) out.plugin = "delegate";
  out.us = row.average_us();
  out.p50_us = percentile(row.us, 0.5);
  out.p90_us = percentile(row.us, 0.9);
  out.min_us = percentile(row.us, 0);
  out.max_us = percentile(row.us, 1);
  out.calls = row.calls;
  // The nodes of a call are those of all events inside.
  if (row.name == "DELEGATE_CALL") return out;
  out.op = ops_of(row);
  out.module = module_of(row);
  out.source = lines_of(row);
  return out;
}

}  // namespace

Result<pages::RunProfile> run_profile(const Inspection& inspection,
                                      std::span<const format::EtdumpBlock> blocks,
                                      const std::string& block_name, size_t skip) {
  ETB_ASSIGN(const auto profile, inspector::add_up(blocks, inspector::Grouping::kInstruction, block_name,
                                                   skip, inspection.index()));
  pages::RunProfile out;
  out.block = block_name;
  out.skip = skip;
  out.run_count = profile.run_count;
  out.run_us = profile.run_us;
  out.record = inspection.record_file;
  for (const EventRow& row : profile.rows) out.rows.push_back(to_row(row));
  if (inspection.index() == nullptr) return out;
  ETB_ASSIGN(const auto lines, inspector::add_up_sources(blocks, inspector::SourceGrouping::kLine, block_name,
                                                         skip, inspection.index()));
  for (const inspector::SourceRow& row : lines.rows) {
    std::string detail = fmt::format("{}", fmt::join(row.ops, ", "));
    if (!row.backends.empty())
      detail += fmt::format("{}{}", detail.empty() ? "" : ", ", fmt::join(row.backends, ", "));
    out.lines.push_back({row.name, std::move(detail), row.average_us()});
  }
  return out;
}

}  // namespace etb::tools
