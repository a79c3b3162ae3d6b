// SPDX-License-Identifier: Apache-2.0
// The report as one page. Boxes are nodes in layers, in the order of execution from top to bottom. Lines come
// from the nodes that a box needs.
#include <algorithm>
#include <cstdio>

#include "api/format/page_text.hpp"
#include "partitioner_sdk/partition/report.hpp"

namespace etb::partition {

using format::escape_page_text;

namespace {

constexpr int kBoxWidth = 190, kBoxHeight = 34, kGapX = 20, kGapY = 26;
// A larger graph is drawn with each region as one box: browsers need too long for more.
constexpr size_t kMaxDrawnNodes = 4000;

// Different colours for neighbours: steps of the golden angle on the colour wheel.
std::string colour_of(uint32_t region) {
  char text[32];
  std::snprintf(text, sizeof text, "hsl(%u,70%%,%u%%)", region * 137u % 360u, 72u + region % 3u * 6u);
  return text;
}

// A node or region drawn as one box.
struct Box {
  std::string title;
  std::string tooltip;
  uint32_t region = kNoRegion;
  std::vector<uint32_t> needs;
  uint32_t layer = 0;
  uint32_t column = 0;
};

std::string tooltip_of(const Report& report, const ReportNode& node) {
  std::string text = "%" + node.name + ": " + node.spec + " = " + node.op;
  if (!node.source.empty()) text += "\n" + node.source;
  if (node.region != kNoRegion)
    text +=
        "\nregion " + std::to_string(node.region) + ", " + report.plugins[report.regions[node.region].plugin];
  for (const Rejection& rejection : node.rejections)
    text += "\n" + report.plugins[rejection.compiler] + ": " + rejection.reason + ": " + rejection.text;
  return text;
}

std::string short_name(const std::string& op) {
  const size_t dot = op.find('.');
  const std::string name = dot == std::string::npos ? op : op.substr(dot + 1);
  return name.size() > 26 ? name.substr(0, 25) + "…" : name;
}

std::vector<Box> boxes_of_nodes(const Report& report, const ReportGraph& graph) {
  std::vector<Box> boxes;
  for (const ReportNode& node : graph.nodes)
    boxes.push_back({short_name(node.op), tooltip_of(report, node), node.region, node.needs, 0, 0});
  return boxes;
}

// Returns each region as one box, in the order in which their last nodes run.
std::vector<Box> boxes_of_regions(const Report& report, const ReportGraph& graph) {
  std::map<uint32_t, uint32_t> last_of_region;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].region != kNoRegion) last_of_region[graph.nodes[i].region] = i;
  std::vector<Box> boxes;
  std::vector<uint32_t> box_of_node(graph.nodes.size(), kNoRegion);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const ReportNode& node = graph.nodes[i];
    if (node.region != kNoRegion && last_of_region[node.region] != i) continue;
    const bool is_region = node.region != kNoRegion;
    box_of_node[i] = static_cast<uint32_t>(boxes.size());
    const std::string title = is_region ? "region " + std::to_string(node.region) : short_name(node.op);
    boxes.push_back({title, tooltip_of(report, node), node.region, {}, 0, 0});
  }
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const uint32_t region = graph.nodes[i].region;
    const uint32_t to = box_of_node[region == kNoRegion ? i : last_of_region[region]];
    for (const uint32_t need : graph.nodes[i].needs) {
      const uint32_t need_region = graph.nodes[need].region;
      const uint32_t from = box_of_node[need_region == kNoRegion ? need : last_of_region[need_region]];
      if (from < to) boxes[to].needs.push_back(from);
    }
  }
  return boxes;
}

struct Size {
  uint32_t layers = 0, columns = 0;
};

// Places a box one layer below the lowest that it needs, as near as possible to its first operand's column.
Size lay_out(std::vector<Box>& boxes) {
  Size size;
  std::vector<uint32_t> next_column;
  for (Box& box : boxes) {
    uint32_t wish = 0;
    for (const uint32_t need : box.needs) {
      if (boxes[need].layer + 1 <= box.layer) continue;
      box.layer = boxes[need].layer + 1;
      wish = boxes[need].column;
    }
    if (next_column.size() <= box.layer) next_column.resize(box.layer + 1, 0);
    box.column = std::max(next_column[box.layer], std::min(wish, next_column[box.layer] + 3));
    next_column[box.layer] = box.column + 1;
    size.layers = std::max(size.layers, box.layer + 1);
    size.columns = std::max(size.columns, box.column + 1);
  }
  return size;
}

std::string draw(const Report& report, const ReportGraph& graph) {
  std::vector<Box> boxes =
      graph.nodes.size() > kMaxDrawnNodes ? boxes_of_regions(report, graph) : boxes_of_nodes(report, graph);
  const Size size = lay_out(boxes);
  const auto x = [](const Box& box) { return static_cast<int>(box.column) * (kBoxWidth + kGapX) + kGapX; };
  const auto y = [](const Box& box) { return static_cast<int>(box.layer) * (kBoxHeight + kGapY) + kGapY; };
  std::string out = "<svg width=\"" + std::to_string(size.columns * (kBoxWidth + kGapX) + kGapX) +
                    "\" height=\"" + std::to_string(size.layers * (kBoxHeight + kGapY) + kGapY) + "\">\n";
  for (const Box& box : boxes) {
    for (const uint32_t need : box.needs) {
      const Box& from = boxes[need];
      const int x1 = x(from) + kBoxWidth / 2, y1 = y(from) + kBoxHeight, x2 = x(box) + kBoxWidth / 2,
                y2 = y(box);
      out += "<path d=\"M" + std::to_string(x1) + " " + std::to_string(y1) + "C" + std::to_string(x1) + " " +
             std::to_string(y1 + kGapY) + " " + std::to_string(x2) + " " + std::to_string(y2 - kGapY) + " " +
             std::to_string(x2) + " " + std::to_string(y2) + "\"/>\n";
    }
  }
  for (const Box& box : boxes) {
    const std::string fill = box.region == kNoRegion ? "#fff" : colour_of(box.region);
    out += "<g><title>" + escape_page_text(box.tooltip) + "</title><rect x=\"" + std::to_string(x(box)) +
           "\" y=\"" + std::to_string(y(box)) + "\" width=\"" + std::to_string(kBoxWidth) + "\" height=\"" +
           std::to_string(kBoxHeight) + "\" rx=\"5\" fill=\"" + fill + "\"/><text x=\"" +
           std::to_string(x(box) + kBoxWidth / 2) + "\" y=\"" + std::to_string(y(box) + kBoxHeight / 2 + 4) +
           "\">" + escape_page_text(box.title) + "</text></g>\n";
  }
  return out + "</svg>\n";
}

std::string region_table(const Report& report) {
  std::string out =
      "<table><tr><th>region<th>plugin<th>method<th>nodes<th>operands<th>results<th>payload "
      "bytes<th>constant "
      "bytes</tr>\n";
  for (uint32_t i = 0; i < report.regions.size(); ++i) {
    const ReportRegion& region = report.regions[i];
    out += "<tr><td style=\"background:" + colour_of(i) + "\">" + std::to_string(i) + "<td>" +
           escape_page_text(report.plugins[region.plugin]) + "<td>" + escape_page_text(region.method) +
           "<td>" + std::to_string(region.node_count) + "<td>" + std::to_string(region.operand_count) +
           "<td>" + std::to_string(region.result_count) + "<td>" + std::to_string(region.payload_nbytes) +
           "<td>" + std::to_string(region.constant_nbytes) + "</tr>\n";
  }
  return out + "</table>\n";
}

std::string refusal_table(const Report& report) {
  std::string out = "<table><tr><th>node<th>op<th>where<th>plugin<th>reason<th>what</tr>\n";
  for (const ReportGraph& graph : report.graphs) {
    for (const ReportNode& node : graph.nodes) {
      if (node.region != kNoRegion) continue;
      const std::string row = "<tr><td>%" + escape_page_text(node.name) + "<td>" + escape_page_text(node.op) +
                              "<td>" + escape_page_text(node.source) + "<td>";
      if (node.rejections.empty()) out += row + "<td><td></tr>\n";
      for (const Rejection& rejection : node.rejections)
        out += row + escape_page_text(report.plugins[rejection.compiler]) + "<td>" +
               escape_page_text(rejection.reason) + "<td>" + escape_page_text(rejection.text) + "</tr>\n";
    }
  }
  return out + "</table>\n";
}

constexpr const char* kHead =
    R"(<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Delegation</title><style>
body{font:14px sans-serif;margin:1.5em;color:#222}table{border-collapse:collapse;margin:1em 0}
td,th{border:1px solid #ccc;padding:.25em .6em;text-align:left}svg{font:12px sans-serif;background:#fafafa}
rect{stroke:#555}path{fill:none;stroke:#999}text{text-anchor:middle;pointer-events:none}.fault{color:#b00}
div{overflow:auto;max-height:90vh;border:1px solid #ddd}</style></head><body>
)";

}  // namespace

std::string to_html(const Report& report) {
  std::string out = kHead;
  out += "<h1>Delegation</h1><p>" + std::to_string(report.regions.size()) + " delegated subgraphs, " +
         std::to_string(report.delegated_count) + " delegated nodes, " + std::to_string(report.other_count) +
         " others</p>\n";
  for (const PluginError& error : report.plugin_errors)
    out += "<p class=\"fault\">skipped plugin '" + escape_page_text(error.plugin) +
           "': " + escape_page_text(error.text) + "</p>\n";
  for (const FailedClaim& claim : report.failed_claims)
    out += "<p class=\"fault\">" + escape_page_text(to_text(claim)) + "</p>\n";
  out += region_table(report);
  for (const ReportGraph& graph : report.graphs) {
    out += "<h2>" + escape_page_text(graph.method) +
           (graph.name == graph.method ? std::string() : " @" + escape_page_text(graph.name)) +
           "</h2>\n<div>" + draw(report, graph) + "</div>\n";
  }
  out += "<h2>Per op</h2><table><tr><th>op<th>delegated<th>not delegated</tr>\n";
  for (const auto& [op, counts] : report.ops)
    out += "<tr><td>" + escape_page_text(op) + "<td>" + std::to_string(counts.delegated) + "<td>" +
           std::to_string(counts.other) + "</tr>\n";
  out += "</table>\n";
  if (report.other_count != 0) out += "<h2>Not delegated, and why</h2>\n" + refusal_table(report);
  return out + "</body></html>\n";
}

}  // namespace etb::partition
