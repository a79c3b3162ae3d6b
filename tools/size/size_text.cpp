// SPDX-License-Identifier: Apache-2.0
// Forms of a size report: text, CSV, JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/format/printable_text.hpp"
#include "tools/bench/table.hpp"
#include "tools/quantity.hpp"
#include "tools/size/size_report.hpp"

namespace etb::tools {
namespace {

using bench::Table;
using Json = nlohmann::ordered_json;

std::string share_of(uint64_t nbytes, uint64_t all) {
  return all == 0 ? "" : bench::format_percent(static_cast<double>(nbytes) / static_cast<double>(all));
}

std::string shape_text(const SizeItem& item) {
  return item.is_tensor() ? fmt::format("{} [{}]", item.dtype, fmt::join(item.shape, ", ")) : item.kind;
}

class Writer {
 public:
  Writer(const SizeReport& report, const SizeView& view) : report_(report), view_(view) {}

  std::string write() {
    out_ = fmt::format("{}: {} of {}\n", format::made_printable(report_.file), report_.kind,
                       nbytes_text(report_.nbytes));
    if (shows("part")) add_parts();
    if (shows("module")) add_modules();
    if (shows("operator")) add_operators();
    if (shows("constant")) add_constants();
    add_duplicates();
    return std::move(out_);
  }

 private:
  bool shows(const char* table) const { return view_.by == "all" || view_.by == table; }

  // Cuts a table at --top rows, and adds the sum of the others.
  size_t rows_of(size_t count) const { return view_.top == 0 ? count : std::min<size_t>(view_.top, count); }

  void add_table(const char* title, const Table& table) {
    out_ += fmt::format("\n{}\n{}", title, table.to_text());
  }

  void add_parts() {
    Table table({"<PART", "SIZE", "SHARE"});
    for (const SizePart& part : report_.parts)
      table.add({part.name, nbytes_text(part.nbytes), share_of(part.nbytes, report_.nbytes)});
    add_table("By part of the file", table);
  }

  template <class Add>
  void add_groups(const std::vector<SizeGroup>& groups, Add add) {
    const size_t shown = rows_of(groups.size());
    for (size_t i = 0; i < shown; ++i) add(groups[i]);
    SizeGroup others{fmt::format("({} more)", groups.size() - shown), "", 0, 0, 0};
    for (size_t i = shown; i < groups.size(); ++i) {
      others.nbytes += groups[i].nbytes;
      others.items += groups[i].items;
      others.calls += groups[i].calls;
    }
    if (shown < groups.size()) add(others);
  }

  void add_modules() {
    Table table({"<MODULE", "<TYPE", "SIZE", "SHARE", "ITEMS"});
    add_groups(by_module(report_, view_.depth), [&](const SizeGroup& group) {
      table.add({group.name, group.type, nbytes_text(group.nbytes), share_of(group.nbytes, report_.nbytes),
                 std::to_string(group.items)});
    });
    if (table.is_empty()) return;
    add_table("By module", table);
    if (!report_.has_modules)
      out_ +=
          "hint: this program has no names of modules; --model MODEL.pt2 finds those of weights that it "
          "stores "
          "unchanged\n";
  }

  void add_operators() {
    Table table({"<OPERATORS THAT READ THEM", "SIZE", "SHARE", "ITEMS", "CALLS"});
    add_groups(by_operator(report_), [&](const SizeGroup& group) {
      table.add({group.name, nbytes_text(group.nbytes), share_of(group.nbytes, report_.nbytes),
                 std::to_string(group.items), group.calls == 0 ? "" : std::to_string(group.calls)});
    });
    if (!table.is_empty()) add_table("By operator", table);
  }

  void add_constants() {
    Table table({"<CONSTANT", "<KIND", "SIZE", "SHARE"});
    const size_t shown = rows_of(report_.items.size());
    uint64_t others = 0;
    for (size_t i = 0; i < report_.items.size(); ++i) {
      const SizeItem& item = report_.items[i];
      if (i < shown)
        table.add({item.target.empty() ? item.name : item.target, shape_text(item), nbytes_text(item.nbytes),
                   share_of(item.nbytes, report_.nbytes)});
      else
        others += item.nbytes;
    }
    if (shown < report_.items.size())
      table.add({fmt::format("({} more)", report_.items.size() - shown), "", nbytes_text(others),
                 share_of(others, report_.nbytes)});
    if (!table.is_empty()) add_table("By constant", table);
  }

  void add_duplicates() {
    if (report_.duplicates.empty()) return;
    out_ += "\nDuplicates\n";
    const size_t shown = rows_of(report_.duplicates.size());
    uint64_t wasted = 0;
    for (size_t i = 0; i < report_.duplicates.size(); ++i) {
      const SizeDuplicates& group = report_.duplicates[i];
      wasted += group.wasted_nbytes();
      if (i >= shown) continue;
      std::vector<std::string> names;
      for (const size_t item : group.items)
        names.push_back(format::made_printable(
            report_.items[item].target.empty() ? report_.items[item].name : report_.items[item].target));
      out_ += fmt::format("  {} of {}: {}\n", count_of(names.size(), "copy"), nbytes_text(group.nbytes),
                          fmt::join(names, ", "));
    }
    out_ += fmt::format("  {} could be saved\n", nbytes_text(wasted));
  }

  const SizeReport& report_;
  const SizeView& view_;
  std::string out_;
};

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(cells[i]);
  return out + "\n";
}

std::string csv_groups(const char* name, const std::vector<SizeGroup>& groups) {
  std::string out = csv_line({name, "type", "nbytes", "items", "calls"});
  for (const SizeGroup& group : groups)
    out += csv_line({group.name, group.type, std::to_string(group.nbytes), std::to_string(group.items),
                     std::to_string(group.calls)});
  return out;
}

Json groups_json(const std::vector<SizeGroup>& groups) {
  Json out = Json::array();
  for (const SizeGroup& group : groups) {
    Json row{{"name", group.name}, {"nbytes", group.nbytes}, {"items", group.items}};
    if (!group.type.empty()) row["type"] = group.type;
    if (group.calls != 0) row["calls"] = group.calls;
    out.push_back(std::move(row));
  }
  return out;
}

uint64_t sum_of(const SizeReport& report, bool is_tensor) {
  uint64_t sum = 0;
  for (const SizeItem& item : report.items)
    if (item.is_tensor() == is_tensor) sum += item.nbytes;
  return sum;
}

Json tensor_json(const SizeItem& item) {
  uint64_t numel = 1;
  for (const int64_t size : item.shape) numel *= static_cast<uint64_t>(size);
  Json row{{"name", item.name},          {"numel", numel},
           {"dtype", item.dtype},        {"element_size", numel == 0 ? 0 : item.nbytes / numel},
           {"shape", item.shape},        {"num_bytes", item.nbytes},
           {"kind", item.kind},          {"sha256", item.digest},
           {"operators", item.operators}};
  if (!item.target.empty()) {
    row["target"] = item.target;
    row["module"] = item.module;
  }
  return row;
}

}  // namespace

std::string size_text(const SizeReport& report, const SizeView& view) { return Writer(report, view).write(); }

std::string size_csv(const SizeReport& report, const SizeView& view) {
  if (view.by == "module") return csv_groups("module", by_module(report, view.depth));
  if (view.by == "operator") return csv_groups("operators", by_operator(report));
  std::string out;
  if (view.by == "part") {
    out = csv_line({"part", "nbytes"});
    for (const SizePart& part : report.parts) out += csv_line({part.name, std::to_string(part.nbytes)});
    return out;
  }
  out = csv_line({"name", "kind", "target", "module", "dtype", "shape", "nbytes", "operators", "sha256"});
  for (const SizeItem& item : report.items)
    out += csv_line({item.name, item.kind, item.target, item.module, item.dtype,
                     fmt::format("{}", fmt::join(item.shape, "x")), std::to_string(item.nbytes),
                     fmt::format("{}", fmt::join(item.operators, " ")), item.digest});
  return out;
}

Json size_json(const SizeReport& report, const SizeView& view) {
  Json parts = Json::array(), tensors = Json::array(), blobs = Json::array(), duplicates = Json::array();
  for (const SizePart& part : report.parts) parts.push_back({{"name", part.name}, {"nbytes", part.nbytes}});
  for (const SizeItem& item : report.items) {
    if (item.is_tensor())
      tensors.push_back(tensor_json(item));
    else
      blobs.push_back(
          {{"name", item.name}, {"num_bytes", item.nbytes}, {"kind", item.kind}, {"sha256", item.digest}});
  }
  for (const SizeDuplicates& group : report.duplicates) {
    Json names = Json::array();
    for (const size_t item : group.items) names.push_back(report.items[item].name);
    duplicates.push_back(
        {{"nbytes", group.nbytes}, {"wasted_nbytes", group.wasted_nbytes()}, {"names", std::move(names)}});
  }
  const uint64_t tensor_sum = sum_of(report, true), blob_sum = sum_of(report, false);
  return {{"file", report.file},
          {"kind", report.kind},
          {"nbytes", report.nbytes},
          {"parts", std::move(parts)},
          {"modules", groups_json(by_module(report, view.depth))},
          {"operators", groups_json(by_operator(report))},
          {"duplicates", std::move(duplicates)},
          {"tensor_data", std::move(tensors)},
          {"delegate_blob_data", std::move(blobs)},
          {"overview",
           {{"total_tensor_data_size", tensor_sum},
            {"total_delegate_blob_data_size", blob_sum},
            {"serialization_metadata_size", report.nbytes - std::min(report.nbytes, tensor_sum + blob_sum)},
            {"model_size", report.nbytes}}}};
}

}  // namespace etb::tools
