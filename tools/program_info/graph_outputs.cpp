// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/graph_outputs.hpp"

#include <CLI/CLI.hpp>

#include "tools/pages/graph_document.hpp"
#include "tools/pages/page.hpp"
#include "tools/standard_files.hpp"

namespace etb::tools {

void add_graph_outputs(CLI::App& command, GraphOutputs& outputs, const std::string& what) {
  command.add_option("--html", outputs.html, "Write a page (HTML) with " + what)->type_name("FILE");
  command.add_option("--dot", outputs.dot, "Write the graph for Graphviz")->type_name("FILE");
  command
      .add_option("--model-explorer", outputs.model_explorer,
                  "Write the graph for Google's Model Explorer (JSON)")
      ->type_name("FILE");
}

Status write_graph_outputs(const GraphOutputs& outputs, const ModelPage& page, const std::string& label,
                           Session& session) {
  if (!outputs.html.empty()) ETB_TRY(write_output(outputs.html, pages::make_page(page.document), session));
  if (!outputs.dot.empty())
    ETB_TRY(write_output(outputs.dot, pages::to_dot(page.graphs, page.plugins), session));
  if (!outputs.model_explorer.empty())
    ETB_TRY(write_output(outputs.model_explorer, pages::to_model_explorer(label, page.graphs, page.plugins),
                         session));
  return {};
}

}  // namespace etb::tools
