// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/run_profile.hpp"

#include "tools/run/timing.hpp"

namespace etb::inspect {
namespace {

std::string place_of(const EventRow& row) {
  if (row.chain_index < 0) return "";
  return (row.chain_index == 0 ? "" : std::to_string(row.chain_index) + ":") +
         std::to_string(row.instruction_index);
}

}  // namespace

pages::RunProfile run_profile(std::span<const format::EtdumpBlock> blocks, const std::string& block_name,
                              size_t skip) {
  const Profile profile = add_up(blocks, Grouping::kInstruction, block_name, skip);
  pages::RunProfile out;
  out.block = block_name;
  out.run_count = profile.run_count;
  out.run_us = profile.run_us;
  for (const EventRow& row : profile.rows) {
    pages::RunRow& made = out.rows.emplace_back();
    made.name = row.name;
    made.place = place_of(row);
    made.is_inside_delegate = row.is_inside_delegate;
    // The file does not name the delegate.
    if (row.is_inside_delegate || row.name == "DELEGATE_CALL") made.plugin = "delegate";
    made.us = row.average_us();
    made.p50_us = tools::percentile(row.us, 0.5);
    made.p90_us = tools::percentile(row.us, 0.9);
    made.min_us = tools::percentile(row.us, 0);
    made.max_us = tools::percentile(row.us, 1);
    made.calls = row.calls;
  }
  return out;
}

}  // namespace etb::inspect
