// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are rejected, or are a profile whose rows are made with and without a record. Compared with
// itself, no row is faster or slower.
#include <cstdlib>

#include "partitioner_sdk/inspector/allocator_rows.hpp"
#include "partitioner_sdk/inspector/comparison.hpp"
#include "partitioner_sdk/inspector/event_blocks.hpp"
#include "partitioner_sdk/inspector/event_rows.hpp"
#include "partitioner_sdk/inspector/source_rows.hpp"

namespace {

using namespace etb;

// Instructions 0 and 1 are operators, 2 is a call of a delegate.
inspector::RecordIndex make_index() {
  record::Record record;
  record.edge_programs.push_back({"forward",
                                  R"({"graph_module": {"graph": {"nodes": [
      {"name": "a", "target": "torch.ops.aten.add.Tensor", "metadata": {"debug_handle": "1",
       "stack_trace": "File \"m.py\", line 3, in f", "nn_module_stack": "k,a.b,T"}},
      {"name": "b", "target": "torch.ops.aten.convolution.default", "metadata": {"debug_handle": "2"}}]}}})",
                                  {},
                                  {},
                                  {}});
  record::MethodMaps& maps = record.methods.emplace_back();
  maps.name = "forward";
  maps.handles = {{0, {1}}, {1, {2}}, {2, {1, 2}}};
  maps.delegates[2] = {"X", {{"Add (ND) #1", {1}}, {"7", {1, 2}}}};
  auto index = inspector::RecordIndex::make(std::move(record));
  if (!index) std::abort();
  return *std::move(index);
}

void read_all(std::span<const format::EtdumpBlock> blocks, const inspector::RecordIndex* index) {
  for (const auto grouping :
       {inspector::Grouping::kInstruction, inspector::Grouping::kOperator, inspector::Grouping::kEvent}) {
    auto profile = inspector::add_up(blocks, grouping, "Execute", 0, index);
    if (!profile) continue;
    inspector::keep_longest(profile->rows, 3);
    std::vector<inspector::TimedRow> rows;
    for (const auto& row : profile->rows) rows.push_back({row.name, row.name, row.us});
    for (const auto& row : inspector::compare_rows(rows, rows))
      if (row.change == inspector::Change::kFaster || row.change == inspector::Change::kSlower) std::abort();
  }
  for (const auto grouping : {inspector::SourceGrouping::kNode, inspector::SourceGrouping::kModule,
                              inspector::SourceGrouping::kLine, inspector::SourceGrouping::kDelegate})
    static_cast<void>(inspector::add_up_sources(blocks, grouping, "Execute", 0, index));
  const auto events = inspector::inspect_blocks(blocks, index, {});
  if (events) static_cast<void>(inspector::find_total_for_module(*events, "a"));
  static_cast<void>(inspector::to_perfetto(blocks, index));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  static const inspector::RecordIndex index = make_index();
  const auto blocks = format::read_etdump(std::as_bytes(std::span(data, nbytes)));
  if (!blocks) return 0;
  static_cast<void>(index.expect_program_of(*blocks, "profile", "record"));
  read_all(*blocks, nullptr);
  read_all(*blocks, &index);
  static_cast<void>(inspector::add_up_allocations(*blocks));
  return 0;
}
