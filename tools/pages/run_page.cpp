// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/pages/memory_lanes.hpp"
#include "tools/pages/reports.hpp"

namespace etb::pages {
namespace {

using format::EtdumpBlock;
using format::EtdumpEvent;

// A page with more events would be slow to open.
constexpr size_t kMaxEvents = 60000;

constexpr std::string_view kNativeCall = "native_call_", kOperatorCall = "OPERATOR_CALL",
                           kDelegateCall = "DELEGATE_CALL";

double us_of(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string place_of(const EtdumpEvent& event) {
  if (event.chain_index < 0) return "";
  return (event.chain_index == 0 ? "instruction " : fmt::format("instruction {}:", event.chain_index)) +
         std::to_string(event.instruction_index);
}

std::string delegate_name(const EtdumpEvent& event) {
  return event.delegate_debug_name.empty() ? "debug id " + std::to_string(event.delegate_debug_id)
                                           : event.delegate_debug_name;
}

// The lanes of the timeline: the run time's thread, and one for each delegate call that reports events. A delegate may have
// another clock: its events are moved so that the first begins with the call.
class Lanes {
 public:
  // `start_ns` is the zero of the timeline.
  Lanes(const RunProfile& profile, uint64_t start_ns) : start_ns_(start_ns) {
    for (const RunRow& row : profile.rows)
      if (!row.place.empty() && !row.plugin.empty() && !row.is_inside_delegate)
        plugin_at_[row.place] = row.plugin;
    for (const RunRow& row : profile.rows)
      if (!row.source.empty()) sources_[row.place + "\n" + row.name] = row.source;
  }

  void add(const EtdumpBlock& block, size_t number) {
    std::vector<const EtdumpEvent*> inside;
    std::string kernel;
    for (const EtdumpEvent& event : block.events) {
      if (event_count_ > kMaxEvents) return;
      if (event.is_of_delegate()) {
        inside.push_back(&event);
      } else if (event.name.starts_with(kNativeCall)) {
        kernel = event.name.substr(kNativeCall.size());
      } else {
        const bool is_delegate = event.name == kDelegateCall;
        const std::string plugin = is_delegate ? plugin_of(event) : "";
        std::string name = event.name == kOperatorCall && !kernel.empty() ? kernel : event.name;
        if (is_delegate && !plugin.empty()) name = plugin;
        if (event.name == "Method::execute") name = fmt::format("{} {}", block.name, number);
        put(runtime_, name, event, event.begin_ns, plugin);
        if (!inside.empty() && event.chain_index >= 0) put_inside(inside, event, plugin);
        if (event.chain_index >= 0) inside.clear();
        kernel.clear();
      }
    }
  }

  Json take() {
    Json lanes = Json::array();
    lanes.push_back({{"name", "run time, calling thread"}, {"events", std::move(runtime_)}});
    for (auto& [name, events] : inside_)
      lanes.push_back({{"name", "inside " + name}, {"events", std::move(events)}});
    return lanes;
  }
  bool is_cut() const { return event_count_ > kMaxEvents; }

 private:
  std::string plugin_of(const EtdumpEvent& event) const {
    const std::string place = (event.chain_index == 0 ? "" : std::to_string(event.chain_index) + ":") +
                              std::to_string(event.instruction_index);
    const auto found = plugin_at_.find(place);
    return found == plugin_at_.end() ? "" : found->second;
  }
  void put(Json& lane, const std::string& name, const EtdumpEvent& event, uint64_t begin_ns,
           const std::string& plugin) {
    const std::string place = place_of(event);
    const auto source = sources_.find((place.empty() ? "" : place.substr(place.find(' ') + 1)) + "\n" + name);
    lane.push_back({name, (static_cast<double>(begin_ns) - static_cast<double>(start_ns_)) / 1e3,
                    us_of(event.end_ns - event.begin_ns), place,
                    source == sources_.end() ? "" : source->second, plugin});
    ++event_count_;
  }
  void put_inside(const std::vector<const EtdumpEvent*>& inside, const EtdumpEvent& call,
                  const std::string& plugin) {
    uint64_t first = UINT64_MAX, last = 0;
    for (const EtdumpEvent* event : inside) {
      first = std::min(first, event->begin_ns);
      last = std::max(last, event->end_ns);
    }
    const bool is_same_clock = first >= call.begin_ns && last <= call.end_ns;
    Json& lane = inside_[plugin.empty() ? "delegate" : plugin];
    if (lane.is_null()) lane = Json::array();
    for (const EtdumpEvent* event : inside)
      put(lane, delegate_name(*event), *event,
          is_same_clock ? event->begin_ns : call.begin_ns + (event->begin_ns - first), plugin);
  }

  std::map<std::string, std::string> plugin_at_;  // by place
  std::map<std::string, std::string> sources_;    // by place and name
  Json runtime_ = Json::array();
  std::map<std::string, Json> inside_;
  uint64_t start_ns_;
  size_t event_count_ = 0;
};

// Rows whose time is not a part of another row's.
std::vector<const RunRow*> whole_rows(const RunProfile& profile) {
  std::vector<const RunRow*> rows;
  for (const RunRow& row : profile.rows)
    if (!row.is_inside_delegate && !row.place.empty()) rows.push_back(&row);
  return rows;
}
// Rows of the finest grain: events inside of a delegate, and the rest of its call's time.
std::vector<RunRow> fine_rows(const RunProfile& profile) {
  std::vector<RunRow> rows;
  for (size_t i = 0; i < profile.rows.size(); ++i) {
    const RunRow& row = profile.rows[i];
    if (row.place.empty() || row.is_inside_delegate) continue;
    double inside_us = 0;
    size_t next = i + 1;
    for (; next < profile.rows.size() && profile.rows[next].is_inside_delegate; ++next) {
      inside_us += profile.rows[next].us;
      rows.push_back(profile.rows[next]);
    }
    if (next == i + 1) {
      rows.push_back(row);
    } else if (inside_us < row.us) {
      RunRow& rest = rows.emplace_back(row);
      rest.name = "no event of the delegate";
      rest.op = "";
      rest.us = row.us - inside_us;
    }
  }
  return rows;
}

double share_of(double us, const RunProfile& profile) {
  return profile.run_us == 0 ? 0 : us / profile.run_us;
}

Json bars_of(const RunProfile& profile, std::string title, std::string short_name, std::string note,
             const std::function<std::string(const RunRow&)>& key) {
  struct Sum {
    double us = 0;
    std::string plugin;
    size_t count = 0;
  };
  std::map<std::string, Sum> sums;
  for (const RunRow& row : fine_rows(profile)) {
    const std::string name = key(row);
    if (name.empty() || row.us == 0) continue;
    Sum& sum = sums[name];
    sum.us += row.us;
    sum.plugin = row.plugin;
    ++sum.count;
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  Json rows = Json::array();
  for (const auto& [name, sum] : sorted) {
    Json row{{"name", name}, {"value", sum.us}, {"share", share_of(sum.us, profile)}};
    row["detail"] = (sum.count > 1 ? fmt::format("{} rows", sum.count) : "") +
                    (sum.plugin.empty() ? "" : (sum.count > 1 ? ", " : "") + sum.plugin);
    if (!sum.plugin.empty()) row["plugin"] = sum.plugin;
    rows.push_back(std::move(row));
  }
  Json part = make_part("bars", std::move(title), std::move(note));
  part["short"] = std::move(short_name);
  part["unit"] = "us";
  part["rows"] = std::move(rows);
  return part;
}

// Time by module; without modules by delegate. Paths have a bounded depth, since names are of files.
class TimeTree {
 public:
  void add(const std::vector<std::string>& path, double us, const std::string& plugin) {
    Branch* at = &root_;
    for (const std::string& name : path) {
      if (at->children.count(name) == 0) at->order.push_back(name);
      at = &at->children[name];
    }
    at->us += us;
    at->plugin = plugin;
  }
  Json take(const std::string& name) const { return to_json(root_, name); }

 private:
  struct Branch {
    double us = 0;
    std::string plugin;
    std::vector<std::string> order;
    std::map<std::string, Branch> children;
  };
  static Json to_json(const Branch& branch, const std::string& name) {
    Json out{{"name", name}};
    if (branch.us != 0) out["value"] = branch.us;
    if (!branch.plugin.empty() && branch.order.empty()) out["plugin"] = branch.plugin;
    if (branch.order.empty()) return out;
    Json children = Json::array();
    // The time of the branch itself beside that of its parts.
    if (branch.us != 0) {
      children.push_back({{"name", "itself"}, {"value", branch.us}});
      out.erase("value");
    }
    for (const std::string& child : branch.order)
      children.push_back(to_json(branch.children.at(child), child));
    out["children"] = std::move(children);
    return out;
  }
  Branch root_;
};

Json flame_part(const RunProfile& profile) {
  constexpr size_t kMaxDepth = 24;
  TimeTree tree;
  bool has_modules = false;
  std::string call;
  for (const RunRow& row : profile.rows) has_modules = has_modules || !row.module.empty();
  for (const RunRow& row : fine_rows(profile)) {
    std::vector<std::string> path;
    for (size_t begin = 0; begin < row.module.size() && path.size() < kMaxDepth;) {
      const size_t end = std::min(row.module.find('.', begin), row.module.size());
      path.push_back(row.module.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!has_modules && !row.plugin.empty())
      path.push_back(row.plugin + (row.place.empty() ? "" : ", instruction " + row.place));
    path.push_back(row.name + (row.place.empty() || row.is_inside_delegate ? "" : " #" + row.place));
    tree.add(path, row.us, row.plugin);
  }
  Json part =
      make_part("flame", has_modules ? "Time by module" : "Time by delegate and operator",
                has_modules ? "The width of a bar is the time of a module and all that is inside of it."
                            : "A record of the compilation (--etrecord) groups by module instead.");
  part["short"] = "Flame";
  part["unit"] = "us";
  part["of"] = has_modules ? "module" : "part";
  part["root"] = tree.take("run");
  return part;
}

Json line_bars(const RunProfile& profile) {
  Json rows = Json::array();
  for (const RunLine& line : profile.lines)
    rows.push_back({{"name", line.name},
                    {"detail", line.detail},
                    {"value", line.us},
                    {"share", share_of(line.us, profile)}});
  Json part = make_part("bars", "Hot lines",
                        "Average time of a run, by line of the model's source. An event of several lines is "
                        "divided evenly between them.");
  part["short"] = "Lines";
  part["unit"] = "us";
  part["rows"] = std::move(rows);
  return part;
}

Json row_table(const RunProfile& profile) {
  Json rows = Json::array();
  for (const RunRow& row : profile.rows)
    rows.push_back({row.place, (row.is_inside_delegate ? "· " : "") + row.name, row.plugin,
                    share_of(row.us, profile), row.us, row.p50_us, row.p90_us, row.min_us, row.max_us,
                    row.calls, row.module, row.source});
  Json part = make_table("Instructions and events",
                         "Events inside of a delegate are below its call, and a part of its time.",
                         {{"instruction", "text", true},
                          {"operator or event", "text", true},
                          {"plugin", "plugin"},
                          {"share", "percent"},
                          {"average", "us"},
                          {"median", "us"},
                          {"p90", "us"},
                          {"least", "us"},
                          {"most", "us"},
                          {"calls", "number"},
                          {"module"},
                          {"source"}},
                         std::move(rows));
  part["short"] = "Table";
  return part;
}

// The runs that the page shows, with their numbers from 1.
std::vector<std::pair<size_t, const EtdumpBlock*>> shown_runs(const RunProfile& profile,
                                                              std::span<const EtdumpBlock> blocks) {
  std::vector<std::pair<size_t, const EtdumpBlock*>> runs;
  size_t number = 0;
  for (const EtdumpBlock& block : blocks)
    if (block.name == profile.block && number++ >= profile.skip) runs.emplace_back(number, &block);
  return runs;
}

Json timeline_part(const RunProfile& profile, std::span<const EtdumpBlock> blocks, Json& warnings) {
  const auto runs = shown_runs(profile, blocks);
  uint64_t start_ns = UINT64_MAX;
  for (const auto& [number, block] : runs)
    for (const EtdumpEvent& event : block->events)
      if (!event.is_of_delegate()) start_ns = std::min(start_ns, event.begin_ns);
  Lanes lanes(profile, start_ns);
  MemoryLanes memory(kMaxEvents);
  for (const auto& [number, block] : runs) {
    if (lanes.is_cut()) break;
    lanes.add(*block, number);
    memory.add(*block, start_ns);
  }
  const auto warn = [&](std::string_view what) {
    warnings.push_back(
        fmt::format("the timeline has the first {} {}; the other parts have all", kMaxEvents, what));
  };
  if (lanes.is_cut()) warn("events");
  if (memory.is_cut()) warn("levels of memory");
  Json part = make_part(
      "timeline", "Timeline",
      "Events inside of a delegate have a clock of their own where they do not fit into the call. Memory "
      "is what was taken from an allocator since the begin of a run, for the temp allocator since the begin "
      "of an instruction; profiles record no release.");
  part["lanes"] = lanes.take();
  memory.append_to(part["lanes"]);
  return part;
}

}  // namespace

Json run_document(const RunProfile& profile, std::span<const EtdumpBlock> blocks, const Facts& facts) {
  Json document =
      make_document("run", "Runs in " + facts.model, "Where the time of the recorded runs went.", facts);
  if (!facts.model.empty()) document["facts"][0][0] = "profile";
  if (!profile.record.empty()) document["facts"].push_back({"record", profile.record});
  add_card(document, "Runs", profile.run_count);
  if (profile.run_us != 0) add_card(document, "Average run", profile.run_us, "us");
  const std::vector<const RunRow*> rows = whole_rows(profile);
  double delegated = 0, all = 0;
  for (const RunRow* row : rows) {
    all += row->us;
    if (!row->plugin.empty()) delegated += row->us;
  }
  add_card(document, "In delegates", share_of(delegated, profile), "percent");
  if (profile.run_us != 0)
    add_card(document, "Between instructions", std::max(0.0, profile.run_us - all), "us");
  const auto slowest =
      std::max_element(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->us < b->us; });
  if (slowest != rows.end())
    add_card(document, "Slowest instruction", (*slowest)->place + " " + (*slowest)->name, "text");
  Json plugins = Json::array();
  for (const RunRow* row : rows)
    if (!row->plugin.empty() && std::find(plugins.begin(), plugins.end(), row->plugin) == plugins.end())
      plugins.push_back(row->plugin);
  document["plugins"] = plugins;
  Json& sections = document["sections"];
  sections.push_back(timeline_part(profile, blocks, document["warnings"]));
  if (Json memory = allocator_table(blocks); !memory.is_null()) sections.push_back(std::move(memory));
  sections.push_back(flame_part(profile));
  sections.push_back(bars_of(profile, "Operators", "Operators",
                             "Average time of a run, by operator or event.",
                             [](const RunRow& row) { return row.op.empty() ? row.name : row.op; }));
  Json lines = line_bars(profile);
  if (lines["rows"].empty())
    lines["empty"] =
        "The profile was read without a record of the compilation, so lines are unknown: --etrecord FILE.";
  sections.push_back(std::move(lines));
  sections.push_back(row_table(profile));
  return document;
}

}  // namespace etb::pages
