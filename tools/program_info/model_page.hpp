// SPDX-License-Identifier: Apache-2.0
// The pages of `etbackend info FILE --html`: the graph, weights by layer, and for a program its memory over time.
#pragma once

#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "tools/pages/document.hpp"
#include "tools/program_info/program_report.hpp"

namespace etb::tools {

// A model as documents and as graphs for other viewers.
struct ModelPage {
  pages::Json document;
  pages::Json graphs;
  std::vector<std::string> plugins;
};

ModelPage program_page(const ProgramFile& file, const nlohmann::ordered_json& report,
                       const pages::Facts& facts);
// `nbytes` is the size of the file. `report` has the answers of plugins about `module`, where they were asked.
ModelPage archive_page(const ir::Module& module, const pages::Facts& facts, uint64_t nbytes,
                       const partition::Report* report = nullptr);

// The tensors of an arena over the instructions, and its peak with the cause.
pages::Json arena_part(const format::MethodView& method, uint32_t memory_id);

}  // namespace etb::tools
