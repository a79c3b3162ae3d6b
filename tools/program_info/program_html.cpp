// SPDX-License-Identifier: Apache-2.0
// The page of `etbackend info FILE.pte --html`: draws each arena, time to the right, addresses upwards.
#include <fmt/format.h>

#include "api/format/page_text.hpp"
#include "api/format/tensor_layout.hpp"
#include "tools/program_info/memory_timeline.hpp"
#include "tools/program_info/program_report.hpp"
#include "tools/run/array.hpp"

namespace etb::tools {

using format::escape_page_text;

namespace {

constexpr double kWidth = 1000;
constexpr double kHeight = 320;

// Neighbours get different hues.
std::string color_of(const TensorLife& life) {
  const uint32_t hue = life.value_index * 47 % 360;
  return fmt::format("hsl({},{}%,{}%)", hue, life.is_io ? 75 : 45, life.is_io ? 55 : 70);
}

std::string describe(const format::MethodView& method, const TensorLife& life) {
  const auto tensor = method.value(life.value_index).as_tensor();
  std::vector<int64_t> sizes(tensor.sizes.begin(), tensor.sizes.end());
  return fmt::format("value {}: {} {}, {} bytes at {}, instructions {} to {}", life.value_index,
                     format_shape(static_cast<host::Dtype>(tensor.dtype), sizes), std::string(tensor.name),
                     life.nbytes, life.offset, life.first, life.last);
}

std::string draw_arena(const format::MethodView& method, const MemoryTimeline& timeline, uint32_t memory_id) {
  const auto size = static_cast<double>(method.arena_sizes()[memory_id]);
  const double columns = std::max<double>(timeline.instruction_count, 1);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"100%\"><rect width=\"{0}\" height=\"{1}\" fill=\"#f4f4f4\"/>\n",
      kWidth, kHeight);
  for (const TensorLife& life : timeline.lives) {
    if (life.memory_id != memory_id || size == 0) continue;
    const double x = life.first / columns * kWidth;
    const double width = (life.last - life.first + 1) / columns * kWidth;
    const double height = static_cast<double>(life.nbytes) / size * kHeight;
    const double y = kHeight - static_cast<double>(life.offset) / size * kHeight - height;
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" stroke=\"#333\" "
        "stroke-width=\"0.4\"><title>{}</title></rect>\n",
        x, y, width, height, color_of(life), escape_page_text(describe(method, life)));
  }
  return svg + "</svg>\n";
}

std::string draw_method(const format::MethodView& method) {
  const MemoryTimeline timeline = trace_memory(method);
  std::string html = fmt::format("<h2>{}</h2>\n", escape_page_text(method.name()));
  for (uint32_t id = 1; id < method.arena_sizes().size(); ++id) {
    html += fmt::format(
        "<h3>arena {}: {} bytes</h3>\n<p>{} instructions to the right, addresses upwards; point at a box for "
        "its "
        "tensor.</p>\n",
        id - 1, method.arena_sizes()[id], timeline.instruction_count);
    html += draw_arena(method, timeline, id);
  }
  return html;
}

}  // namespace

std::string format_html(const ProgramFile& file, const nlohmann::ordered_json& report) {
  std::string html = fmt::format(
      "<!doctype html>\n<meta "
      "charset=\"utf-8\">\n<title>{0}</title>\n<style>body{{font-family:sans-serif;max-width:70em;"
      "margin:2em auto}}pre{{overflow:auto}}</style>\n<h1>{0}</h1>\n<pre>{1}</pre>\n",
      escape_page_text(file.path), escape_page_text(format_report(report)));
  for (uint32_t i = 0; i < file.view.method_count(); ++i) html += draw_method(file.view.method(i));
  return html;
}

}  // namespace etb::tools
