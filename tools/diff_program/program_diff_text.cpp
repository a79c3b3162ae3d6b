// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/format/printable_text.hpp"
#include "tools/diff_program/program_diff.hpp"
#include "tools/quantity.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const Json& text) {
  return text.is_string() ? format::made_printable(text.get_ref<const std::string&>()) : text.dump();
}

class Writer {
 public:
  explicit Writer(uint32_t top) : top_(top) {}

  std::string write(const Json& diff) {
    for (const char* side : {"a", "b"})
      line(fmt::format("{}: {} ({})", side[0] == 'a' ? "A" : "B", shown(diff[side]["file"]),
                       nbytes_text(diff[side]["nbytes"].get<uint64_t>())));
    if (diff["is_equal"].get<bool>()) {
      line(diff["are_bytes_equal"].get<bool>() ? "the files are equal"
                                               : "the programs are equal; their files have other bytes");
      return std::move(out_);
    }
    add_pair(diff, "version", "version");
    for (const char* list : {"methods", "named_data"}) add_only(diff, list);
    if (diff.contains("named_data_with_other_bytes"))
      add_list("named data with other bytes", diff["named_data_with_other_bytes"],
               [](const Json& key) { return shown(key); });
    for (const Json& method : diff.value("methods", Json::array())) add_method(method);
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += indent_ + text + "\n"; }

  // Adds a title and at most `top` lines.
  template <class Format>
  void add_list(const std::string& title, const Json& rows, Format format) {
    line(fmt::format("{} ({}):", title, rows.size()));
    const size_t count = top_ == 0 ? rows.size() : std::min<size_t>(top_, rows.size());
    for (size_t i = 0; i < count; ++i) line("  " + format(rows[i]));
    if (count < rows.size()) line(fmt::format("  ... and {} more", rows.size() - count));
  }

  void add_pair(const Json& json, const std::string& name, const std::string& title) {
    if (json.contains(name + "_a"))
      line(fmt::format("{}: {} in A, {} in B", title, json[name + "_a"].dump(), json[name + "_b"].dump()));
  }

  void add_only(const Json& json, const std::string& name) {
    std::string title = name;
    std::replace(title.begin(), title.end(), '_', ' ');
    for (const char* side : {"a", "b"}) {
      const std::string key = name + "_only_in_" + side;
      if (json.contains(key))
        add_list(fmt::format("{} only in {}", title, side[0] == 'a' ? "A" : "B"), json[key],
                 [](const Json& text) { return shown(text); });
    }
  }

  void add_method(const Json& method) {
    out_ += fmt::format("\nmethod {}\n", shown(method["name"]));
    indent_ = "  ";
    for (const auto& [list, noun] : {std::pair("inputs", "input"), std::pair("outputs", "output")})
      for (const Json& row : method.value(list, Json::array()))
        line(fmt::format("{} {}: {} in A, {} in B", noun, row["index"].dump(),
                         row["a"].is_null() ? "missing" : shown(row["a"]),
                         row["b"].is_null() ? "missing" : shown(row["b"])));
    for (const char* list : {"operators", "delegates"}) add_only(method, list);
    add_pair(method, "non_const_buffer_sizes", "sizes of arenas");
    add_pair(method, "value_count", "values");
    add_pair(method, "instruction_count", "instructions");
    if (method.contains("instructions"))
      add_list("changed instructions", method["instructions"], [](const Json& row) {
        const std::string chain = row["chain"] == 0 ? "" : "chain " + row["chain"].dump() + ", ";
        return fmt::format("{} {}{}: {}", row["only_in"] == "a" ? '-' : '+', chain, row["index"].dump(),
                           shown(row["text"]));
      });
    add_constants(method);
    add_payloads(method);
    if (method.contains("tensors_at_other_offsets"))
      line(count_of(method["tensors_at_other_offsets"].get<uint64_t>(), "tensor") +
           " at other offsets of an arena");
    indent_.clear();
  }

  void add_constants(const Json& method) {
    if (!method.contains("constants")) return;
    add_list("constants with other elements", method["constants"], [this](const Json& row) {
      std::string text = fmt::format(
          "{}{} of {} (instruction {}): {} of {} elements differ, by {:.6g} at most, {:.6g} on average",
          row.contains("name") ? shown(row["name"]) + ": " : "", shown(row["tensor"]), shown(row["read_by"]),
          row["instruction"].dump(), row["num_differing"].dump(), row["num_elements"].dump(),
          row["max_abs_diff"].get<double>(), row["mean_abs_diff"].get<double>());
      for (const Json& sample : row["first_differences"])
        text += fmt::format("\n{}      element {}: {} in A, {} in B", indent_, sample["index"].dump(),
                            sample["a"].dump(), sample["b"].dump());
      return text;
    });
  }

  void add_payloads(const Json& method) {
    if (!method.contains("payloads")) return;
    add_list("delegates with another payload", method["payloads"], [](const Json& row) {
      std::string text =
          fmt::format("{} (instruction {})", shown(row["delegate"]), row["instruction"].dump());
      if (row.contains("nbytes_a"))
        text += fmt::format(": {} in A, {} in B, different from byte {} on",
                            nbytes_text(row["nbytes_a"].get<uint64_t>()),
                            nbytes_text(row["nbytes_b"].get<uint64_t>()), row["first_different_byte"].dump());
      for (const char* side : {"a", "b"})
        for (const Json& spec : row.value(std::string("compile_specs_only_in_") + side, Json::array()))
          text += fmt::format("; compile spec {} only in {}", shown(spec), side[0] == 'a' ? "A" : "B");
      return text;
    });
  }

  uint32_t top_;
  std::string out_, indent_;
};

}  // namespace

std::string format_program_diff(const Json& diff, uint32_t top) { return Writer(top).write(diff); }

}  // namespace etb::tools
