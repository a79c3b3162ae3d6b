// SPDX-License-Identifier: Apache-2.0
// Reports for programs: JSON and JSON lines. report_rows.cpp has CSV and SQL.
#include <fmt/format.h>

#include "tools/bench/report.hpp"
#include "tools/bench/report_json.hpp"

namespace etb::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json machine_json(const Machine& machine) {
  return {{"name", machine.name},
          {"cpu", machine.cpu},
          {"system", machine.system},
          {"processors", machine.processors},
          {"processors_of_machine", machine.cores_of_machine},
          {"memory_bytes", machine.memory_nbytes},
          {"governor", machine.governor},
          {"load", machine.load}};
}

Json header_json(const Options& options, const Results& results) {
  Json context = Json::object();
  for (const std::string& text : options.context) {
    const size_t equals = text.find('=');
    context[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return {{"schema", kSchema},
          {"version", results.version},
          {"date", results.date},
          {"command", results.command_line},
          {"machine", machine_json(results.machine)},
          {"context", std::move(context)}};
}

void add_times(const Options& options, const VariantResult& result, Json& out) {
  const Summary& summary = result.summary;
  out["samples"] = result.turns.size();
  out["runs"] = summary.count;
  if (summary.count == 0) return;
  out["mean_us"] = summary.mean;
  out["sd_us"] = summary.sd;
  out["variation"] = summary.variation;
  out["sample_variation"] = result.sample_variation;
  out["min_us"] = summary.min;
  out["median_us"] = summary.median;
  out["max_us"] = summary.max;
  Json percentiles = Json::object();
  for (size_t i = 0; i < options.percents.size(); ++i)
    percentiles[percent_name(options.percents[i])] = summary.percentiles[i];
  out["percentiles_us"] = std::move(percentiles);
  out["cpu_us"] = result.cpu_us;
  out["runs_per_s"] = result.runs_per_second;
  if (options.items) out["items_per_s"] = result.runs_per_second * *options.items;
  if (!options.counters.empty()) {
    Json counts = Json::object();
    for (size_t i = 0; i < options.counters.size(); ++i) counts[options.counters[i]] = result.counts[i];
    out["counters"] = std::move(counts);
    out["counters_of_user_code_alone"] = result.counts_user_only;
  }
  Json raw = Json::array(), begins = Json::array();
  for (const Turn& turn : result.turns) {
    raw.push_back(turn.wall_us);
    begins.push_back(turn.begin_seconds);
  }
  out["sample_begin_s"] = std::move(begins);
  out["sample_us"] = result.sample_times(1);  // medians
  if (options.has_raw_times) out["run_us"] = std::move(raw);
}

void add_start(const VariantResult& result, Json& out) {
  if (result.compile_us) out["compile_us"] = *result.compile_us;
  if (result.starts.empty()) return;
  const Start median = result.median_start();
  out["load_us"] = median.load_us;
  out["init_us"] = median.init_us;
  out["first_us"] = median.first_us;
  out["peak_memory_bytes"] = result.memory_nbytes;
  Json starts = Json::array(), delegates = Json::array();
  for (const Start& start : result.starts)
    starts.push_back({{"load_us", start.load_us}, {"init_us", start.init_us}, {"first_us", start.first_us}});
  out["starts"] = std::move(starts);
  for (const DelegateUse& use : result.delegates)
    delegates.push_back(
        {{"id", use.id}, {"plugin", use.plugin}, {"version", use.version}, {"count", use.count}});
  out["delegates"] = std::move(delegates);
}

}  // namespace

Json variant_json(const Options& options, const Results& results, size_t index) {
  const Variant& variant = results.list.variants[index];
  const VariantResult& result = results.variants[index];
  Json out{{"label", result.label},
           {"file", variant.title},
           {"file_bytes", result.file_nbytes},
           {"backend", variant.backend},
           {"threads", variant.threads},
           {"parallel", variant.parallel},
           {"input_shapes", variant.shapes},
           {"load_mode", variant.load_mode},
           {"method", result.method},
           {"status", result.error ? "error" : "ok"}};
  if (result.error) out["error"] = {{"message", result.error->message}};
  add_start(result, out);
  add_times(options, result, out);
  if (result.ratio) {
    const PairedRatio& ratio = *result.ratio;
    out["against"] = {{"label", results.variants[*results.list.baselines[index]].label},
                      {"pairs", ratio.pair_count},
                      {"ratio", ratio.ratio},
                      {"low", ratio.low},
                      {"high", ratio.high},
                      {"verdict", to_text(ratio.verdict)}};
  }
  if (!result.profile.empty()) {
    Json rows = Json::array();
    for (const ProfileRow& row : result.profile)
      rows.push_back({{"name", row.name},
                      {"kind", row.kind},
                      {"calls", row.calls},
                      {"us", row.us},
                      {"share", row.share}});
    out["profile"] = std::move(rows);
  }
  if (!result.notes.empty()) out["notes"] = result.notes;
  return out;
}

namespace {

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string to_json(const Options& options, const Results& results) {
  Json out = header_json(options, results);
  out["settings"] = {{"samples", options.samples},
                     {"repeat", options.repeat},
                     {"min_time_s", options.min_time},
                     {"max_time_s", options.max_time},
                     {"warmup", options.warmup},
                     {"warmup_time_s", options.warmup_time},
                     {"keeps_loaded", options.keeps_loaded},
                     {"delay_ms", options.delay_ms},
                     {"cpus", options.cpus},
                     {"pins_threads", options.pins_threads},
                     {"spins", options.spins},
                     {"seed", options.seed},
                     {"excludes_inputs", options.excludes_inputs}};
  if (options.numa_node) out["settings"]["numa_node"] = *options.numa_node;
  if (options.priority) out["settings"]["priority"] = *options.priority;
  out["seconds"] = results.seconds;
  out["other_processors"] = results.other_processors;
  out["is_interrupted"] = results.is_interrupted;
  out["warnings"] = results.warnings;
  Json variants = Json::array();
  for (size_t i = 0; i < results.variants.size(); ++i) variants.push_back(variant_json(options, results, i));
  out["variants"] = std::move(variants);
  return dump(out, 2);
}

std::string to_jsonl(const Options& options, const Results& results) {
  std::string out;
  for (size_t i = 0; i < results.variants.size(); ++i) {
    Json line = header_json(options, results);
    line.update(variant_json(options, results, i));
    out += dump(line, -1);
  }
  return out;
}

std::string_view format_of(std::string_view path) {
  const auto ends = [path](std::string_view ending) { return path.ends_with(ending); };
  if (ends(".json")) return "json";
  if (ends(".jsonl")) return "jsonl";
  if (ends(".csv")) return "csv";
  if (ends(".md")) return "markdown";
  if (ends(".sql")) return "sql";
  return "text";
}

std::string to_report(std::string_view format, const Options& options, const Results& results) {
  if (format == "json") return to_json(options, results);
  if (format == "jsonl") return to_jsonl(options, results);
  if (format == "csv") return to_csv(options, results);
  if (format == "sql") return to_sql(options, results);
  if (format == "markdown") return to_markdown(options, results);
  return to_text(options, results);
}

}  // namespace etb::bench
