// SPDX-License-Identifier: Apache-2.0
// The options that write a model's graph: as a page, for Graphviz, for Model Explorer.
#pragma once

#include <string>

#include "tools/cli11_fwd.hpp"
#include "tools/command.hpp"
#include "tools/program_info/model_page.hpp"

namespace etb::tools {

struct GraphOutputs {
  std::string html, dot, model_explorer;  // files
  bool any() const { return !html.empty() || !dot.empty() || !model_explorer.empty(); }
};

// `what` completes the help of --html: "Write a page (HTML) with ...".
void add_graph_outputs(CLI::App& command, GraphOutputs& outputs, const std::string& what);

// `label` names the model in Model Explorer.
[[nodiscard]] Status write_graph_outputs(const GraphOutputs& outputs, const ModelPage& page,
                                         const std::string& label, Session& session);

}  // namespace etb::tools
