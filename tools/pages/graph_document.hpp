// SPDX-License-Identifier: Apache-2.0
// Graphs as a page draws them. A graph is {name, nodes}; a node is {op, name, spec, needs: [indices of nodes]}, and where
// known {module, type, source, handle, plugin: index, region, constants: [text], attrs: [[name, text]],
// reasons: [[plugin, reason, text]]}.
#pragma once

#include <functional>
#include <string>

#include "api/format/program_view.hpp"
#include "partitioner_sdk/ir/module.hpp"
#include "partitioner_sdk/partition/report.hpp"
#include "tools/pages/document.hpp"

namespace etb::pages {

// Returns the graphs of a method, its inputs and results as nodes of their own. `mark` adds to the row of a node, by the
// indices of graph and node.
Json module_graphs(const ir::Module& module,
                   const std::function<void(uint32_t graph, uint32_t node, Json& row)>& mark = {});

// As above, with the plugins, regions and reasons of a report on the same modules.
Json reported_graphs(std::span<const ir::Module> modules, const partition::Report& report);

// Returns the graphs of a program's methods: instructions as nodes. The indices of plugins refer to `plugins`, the
// delegate ids.
Json program_graphs(const format::ProgramView& program, std::vector<std::string>& plugins);

// Returns the part of a page that draws graphs.
Json graph_part(Json graphs, const std::vector<std::string>& plugins, std::string_view none);

// Graphviz: groups are clusters, plugins are colours.
std::string to_dot(const Json& graphs, const std::vector<std::string>& plugins);

// The JSON of Google's Model Explorer.
std::string to_model_explorer(const std::string& label, const Json& graphs,
                              const std::vector<std::string>& plugins);

}  // namespace etb::pages
