// SPDX-License-Identifier: Apache-2.0
// aot: arguments of partition, dry_check, estimate and compile, and the artifacts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>

#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/checks/several_payloads.hpp"
#include "etb/cpp/graph_view.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

// Claimed cases, models first: they have several nodes.
std::vector<ClaimedCase> models_and_nodes(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out = context.find_claimed_like(subject, "model.*", 12);
  for (ClaimedCase& item : context.claimed(subject, 8)) out.push_back(std::move(item));
  return out;
}

struct Reports {
  std::mutex mutex;
  double last = 0;
  bool is_over = false;
  std::string defect;
};

void ETB_CALL take_report(void* ctx, double done, const char* what) {
  auto& out = *static_cast<Reports*>(ctx);
  const std::lock_guard lock(out.mutex);
  if (out.is_over) out.defect = "a report after compile returned";
  if (!(done >= 0 && done <= 1)) out.defect = fmt::format("the report {}, expected 0 to 1", done);
  if (done < out.last) out.defect = fmt::format("the report {} after {}", done, out.last);
  if (what == nullptr || !host::validate::is_utf8(what)) out.defect = "a report without a text";
  out.last = done;
}

void progress_grows(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : models_and_nodes(context, *subject)) {
    Reports reports;
    const etb_progress progress = {ETB_INIT_SIZE(etb_progress), 0, &reports, take_report};
    CompileOptions options;
    options.progress = &progress;
    context.progress().at("compile with progress");
    const Compiled compiled = compile(*subject, item.built.image, options);
    reports.is_over = true;
    if (compiled.status != ETB_OK)
      return context.fail(item.item->name + ": compile with progress fails: " + compiled.error);
    if (!reports.defect.empty()) return context.fail(item.item->name + ": " + reports.defect);
    if (!(compiled.payload == item.payload))
      return context.fail(item.item->name + ": compile with progress writes other bytes");
  }
}

// Requests a stop at the n-th question.
struct StopAt {
  std::atomic<int> count{0};
  int at = 0;
  static uint32_t ETB_CALL is_set(void* ctx) {
    auto& self = *static_cast<StopAt*>(ctx);
    return ++self.count > self.at ? 1 : 0;
  }
};

void compile_is_cancelled(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  for (const ClaimedCase& item : models_and_nodes(context, *subject)) {
    for (const int at : {0, 1, 2, 5}) {
      StopAt stop;
      stop.at = at;
      const etb_cancel_token token = {ETB_INIT_SIZE(etb_cancel_token), 0, &stop, &StopAt::is_set};
      CompileOptions options;
      options.cancel = &token;
      context.progress().at("a compilation that is cancelled");
      const Compiled compiled = compile(*subject, item.built.image, options);
      if (compiled.status != ETB_CANCELLED && compiled.status != ETB_OK)
        return context.fail(
            fmt::format("{}: a cancelled compile returns {}, expected ETB_CANCELLED or ETB_OK",
                        item.item->name, compiled.status));
      if (compiled.status == ETB_OK && !(compiled.payload == item.payload))
        return context.fail(item.item->name +
                            ": a cancelled compile returns ETB_OK, and has not written the payload");
    }
    const Compiled after = compile(*subject, item.built.image);
    if (after.status != ETB_OK || !(after.payload == item.payload))
      return context.fail(item.item->name + ": after cancelled compilations compile writes other bytes");
  }
}

bool has_constants(const BuiltCase& built) {
  const auto view = graph::View::open(built.image.span());
  return !view || view->c().constants.count != 0;
}

// The regions of a program come in one call. Each payload is the one of its own graph.
void several_graphs_of(CheckContext& context, bool has_longer_structs) {
  SubjectOptions host = bare();
  host.has_longer_structs = has_longer_structs;
  const auto subject = context.open(host);
  if (!subject) return;
  // Claimed cases without constants, whose keys are unique in one image only, and one of each payload.
  std::vector<ClaimedCase> items;
  for (ClaimedCase& item : context.find_claimed_like(*subject, "op.*", 60)) {
    const auto has_same = [&](const ClaimedCase& other) { return other.payload.bytes == item.payload.bytes; };
    if (items.size() < 8 && !has_constants(item.built) && std::none_of(items.begin(), items.end(), has_same))
      items.push_back(std::move(item));
  }
  if (items.size() < 2)
    return context.skip("the plugin compiles no two graphs without constants to other bytes");
  std::vector<etb_graph_image> images;
  for (const ClaimedCase& item : items) images.push_back(item.built.image.to_c());
  SeveralPayloads made;
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.backend_id = subject->backend_id().c_str();
  args.graphs = images.data();
  args.graph_count = images.size();
  args.constants = &made.constants;
  args.sink = &made.sink;
  Reports reports;
  const etb_progress progress = {ETB_INIT_SIZE(etb_progress), 0, &reports, take_report};
  args.progress = &progress;
  etb_error error = ETB_ERROR_INIT;
  context.progress().at(has_longer_structs ? "compile of several longer graphs"
                                           : "compile of several graphs");
  if (const etb_status status = subject->table().aot->compile(subject->handle(), &args, &error);
      status != ETB_OK)
    return context.fail(fmt::format("compile of {} graphs{} returns {}: {}", images.size(),
                                    has_longer_structs ? " in longer structs" : "", status, error.text));
  if (!made.defect.empty()) return context.fail("of several graphs " + made.defect);
  if (!reports.defect.empty()) return context.fail("compile of several graphs: " + reports.defect);
  if (made.is_open || made.bytes.size() != items.size())
    return context.fail(
        fmt::format("compile of {} graphs writes {} payloads", items.size(), made.bytes.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].payload.bytes = made.bytes[i];
    const auto session = context.make_session(*subject, items[i]);
    if (!session) return;
    const RunResult result = session->run(items[i].built.runs[0]);
    if (result.status != ETB_OK || !context.is_right(items[i], result))
      return context.fail(fmt::format("{}: compiled as number {} of {} graphs, a run fails or is wrong",
                                      items[i].item->name, i, items.size()));
  }
}

// Compiles two regions with one constant. Each artifact lists the keys that its own payload reads.
void share_a_constant(CheckContext& context, Subject& subject, const std::array<BuiltCase, 2>& built) {
  static const Case kCase{"model.shared_constant", "model", ETB_DTYPE_FLOAT32, {}};
  const auto view = graph::View::open(built[0].image.span());
  for (const BuiltCase& each : built)
    if (!view || !partition(subject, each.image).is_whole_claim()) return;
  SeveralPayloads made;
  made.constants_of = &*view;
  const etb_graph_image images[] = {built[0].image.to_c(), built[1].image.to_c()};
  etb_compile_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_compile_args);
  args.backend_id = subject.backend_id().c_str();
  args.graphs = images;
  args.graph_count = std::size(images);
  args.constants = &made.constants;
  args.sink = &made.sink;
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("compile of two graphs with one constant");
  if (subject.table().aot->compile(subject.handle(), &args, &error) != ETB_OK)
    return context.fail(std::string("compile of two graphs with one constant fails: ") + error.text);
  if (!made.defect.empty()) return context.fail("of two graphs with one constant, " + made.defect);
  for (size_t i = 0; i < made.bytes.size() && i < made.keys.size(); ++i) {
    ClaimedCase item{&kCase, built[i], {}};
    item.payload.bytes = made.bytes[i];
    for (const std::string& key : made.keys[i]) item.payload.named[key] = made.named[key];
    const auto session = CaseSession::make(subject, item.built, item.payload);
    if (!session)
      return context.fail(
          fmt::format("of two graphs with one constant, create of payload {} fails with the "
                      "keys that its artifact lists: {}",
                      i, session.error().message));
    const RunResult result = (*session)->run(item.built.runs[0]);
    if (result.status != ETB_OK || !context.is_right(item, result))
      return context.fail(
          fmt::format("of two graphs with one constant, a run of payload {} fails or is wrong", i));
  }
}

// The second region reads the constant as the first does, or adds it: packed weights beside those that are not.
void graphs_share_a_constant(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  constexpr int64_t kRows = 64;
  for (const ConstantUse use : kConstantUses)
    for (const bool is_added : {false, true}) {
      Result<BuiltCase> first = with_constant(use, kRows, "shared constant"),
                        second = (is_added ? with_same_constant_added : with_constant)(use, kRows,
                                                                                       "shared constant");
      if (first && second && context.outcome().findings.empty())
        share_a_constant(context, *subject, {std::move(*first), std::move(*second)});
    }
}

void several_graphs(CheckContext& context) {
  for (const bool has_longer_structs : {false, true})
    if (context.outcome().findings.empty()) several_graphs_of(context, has_longer_structs);
  if (context.outcome().findings.empty()) graphs_share_a_constant(context);
}

// Each function that takes options rejects unknown ones, and ignores those that start with x-.
void options_are_checked(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const etb_option unknown = make_option("no-plugin-has-this-option", ETB_OPTION_I64),
                   hint = make_option("x-vendor-hint", ETB_OPTION_I64);
  for (const ClaimedCase& item : context.claimed(*subject, 1)) {
    const graph::ImageBytes& image = item.built.image;
    for (const etb_option& option : {unknown, hint}) {
      const bool is_unknown = std::string_view(option.key) == unknown.key;
      const AotOptions aot{nullptr, {option}};
      CompileOptions options;
      options.aot = aot;
      std::string text;
      etb_estimate estimated{};
      const std::pair<const char*, etb_status> answers[] = {
          {"partition", partition(*subject, image, aot).status},
          {"dry_check", dry_check(*subject, image, text, aot)},
          {"estimate", estimate(*subject, image, estimated, aot)},
          {"compile", compile(*subject, image, options).status}};
      for (const auto& [function, status] : answers) {
        if (status == ETB_NOT_IMPLEMENTED) continue;
        if (is_unknown && status == ETB_OK)
          context.fail(fmt::format("{} accepts an unknown option", function));
        if (!is_unknown && status != ETB_OK)
          context.fail(fmt::format("{} rejects an option that starts with x-, with {}", function, status));
      }
    }
  }
}

// The default target, spelled out, is no other target. Targets of the devices and unknown ones must be
// answered, by an error or by claims that hold.
void targets(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  etb_target target{};
  target.struct_size = ETB_INIT_SIZE(etb_target);
  target.kind = target.name = "";
  for (const ClaimedCase& item : context.claimed(*subject, 6)) {
    CompileOptions options;
    options.aot.target = &target;
    target.kind = "";
    context.progress().at("compile for the default target");
    const Compiled same = compile(*subject, item.built.image, options);
    if (same.status != ETB_OK)
      return context.fail(item.item->name + ": compile for the default target fails: " + same.error);
    if (!(same.payload == item.payload))
      return context.fail(item.item->name +
                          ": compile for the default target writes other bytes than without one");
    for (const char* kind : {"cpu", "org.example.nobody-has-this"}) {
      target.kind = kind;
      context.progress().at(kind);
      const Answers first = partition(*subject, item.built.image, options.aot);
      if (!(first == partition(*subject, item.built.image, options.aot)))
        return context.fail(
            fmt::format("{}: claims for the target '{}' differ the second time", item.item->name, kind));
      if (!first.is_whole_claim()) continue;
      const Compiled compiled = compile(*subject, item.built.image, options);
      if (compiled.status != ETB_OK)
        return context.fail(fmt::format("{}: claimed for the target '{}', but compile fails: {}",
                                        item.item->name, kind, compiled.error));
    }
  }
}

std::set<uint32_t> handles_of(const BuiltCase& built) {
  std::set<uint32_t> out;
  if (const auto view = graph::View::open(built.image.span()))
    for (uint32_t g = 0; g < view->graph_count(); ++g)
      for (const graph::Node& node : view->graph(g).nodes()) out.insert(node.debug_handle());
  return out;
}

// Ids of the values that depend on an input of the run. The others may be computed by compile.
std::set<uint32_t> values_of_runs(const graph::Graph& graph) {
  std::set<uint32_t> out;
  for (uint32_t i = 0; i < graph.input_count(); ++i)
    if (graph.input(i).constant == ETB_GRAPH_NONE) out.insert(i);
  for (const graph::Node& node : graph.nodes()) {
    const std::vector<graph::Value> operands = node.operands();
    if (std::any_of(operands.begin(), operands.end(),
                    [&](const graph::Value& operand) { return out.contains(operand.id()); }))
      for (const graph::Value& result : node.results()) out.insert(result.id());
  }
  return out;
}

// Handles of the nodes that a run needs for an output, without those of the host that only give numbers.
std::set<uint32_t> needed_handles_of(const BuiltCase& built) {
  std::set<uint32_t> out;
  const auto view = graph::View::open(built.image.span());
  if (!view) return out;
  const graph::Graph method = view->method();
  const std::set<uint32_t> of_runs = values_of_runs(method);
  std::set<uint32_t> needed;
  for (const etb_graph_output& output : method.outputs()) needed.insert(output.value);
  for (uint32_t i = method.node_count(); i-- > 0;) {
    const graph::Node node = method.node(i);
    const std::vector<graph::Value> results = node.results();
    if (std::none_of(results.begin(), results.end(), [&](const graph::Value& result) {
          return needed.contains(result.id()) && of_runs.contains(result.id());
        }))
      continue;
    if (!node.gives_numbers()) out.insert(node.debug_handle());
    for (const graph::Value& operand : node.operands()) needed.insert(operand.id());
  }
  return out;
}

std::string op_of(const BuiltCase& built, uint32_t handle) {
  if (const auto view = graph::View::open(built.image.span()))
    for (const graph::Node& node : view->method().nodes())
      if (node.debug_handle() == handle) return std::string(node.op_name());
  return "";
}

// Each entry of the debug map joins one work item to nodes of the region, which exist. A plugin may have no
// map. A map joins every node of a run, including nodes that were fused into others.
void debug_map_is_joined(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = models_and_nodes(context, *subject);
  for (const char* several :
       {"op.*.norm*", "op.*.twice.*", "op.*.readers.*", "call.permuted_view.*", "call.two_views.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, several, 12))
      items.push_back(std::move(item));
  // Fused patterns between codes.
  for (ClaimedCase& item : context.find_claimed_of_ops(*subject, "quant.*codes*", 16))
    items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    const std::set<uint32_t> known = handles_of(item.built);
    std::set<std::pair<int64_t, std::string>> seen;
    std::set<uint32_t> joined;
    for (const DebugEntry& entry : item.payload.debug_map) {
      const std::string who = entry.name.empty() ? std::to_string(entry.id) : "'" + entry.name + "'";
      if (entry.name.empty() == (entry.id < 0))
        context.fail(fmt::format("{}: an entry of the debug map has {}", item.item->name,
                                 entry.id < 0 ? "neither name nor id" : "both a name and an id"));
      if (!seen.emplace(entry.name.empty() ? entry.id : -1, entry.name).second)
        context.fail(fmt::format("{}: two entries of the debug map are {}", item.item->name, who));
      if (entry.handles.empty())
        context.fail(fmt::format("{}: the debug map joins {} to no node", item.item->name, who));
      joined.insert(entry.handles.begin(), entry.handles.end());
      for (const uint32_t handle : entry.handles)
        if (!known.contains(handle))
          context.fail(fmt::format("{}: the debug map joins {} to handle {}, which no node of the region has",
                                   item.item->name, who, handle));
      if (!context.outcome().findings.empty()) return;
    }
    if (item.payload.debug_map.empty()) continue;
    for (const uint32_t handle : needed_handles_of(item.built))
      if (handle != 0 && !joined.contains(handle))
        return context.fail(fmt::format("{}: no entry of the debug map joins the node of handle {}, {}",
                                        item.item->name, handle, op_of(item.built, handle)));
  }
}

// The artifact's facts: its version is one that the manifest lists, its keys are those of the blobs.
void artifacts_are_described(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  std::pair<uint32_t, uint32_t> versions = {0, UINT32_MAX};
  if (context.spec().entry.manifest)
    for (const host::ProvidedId& provided : context.spec().entry.manifest->provides)
      if (provided.id == context.spec().backend_id) versions = provided.payload_versions.value_or(versions);
  std::vector<ClaimedCase> items = models_and_nodes(context, *subject);
  for (const char* with_constants : {"op.*_w*", "*.large.*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, with_constants, 24))
      items.push_back(std::move(item));
  for (const ClaimedCase& item : items) {
    const Payload& payload = item.payload;
    if (payload.format_version < versions.first || payload.format_version > versions.second)
      return context.fail(fmt::format("{}: the payload has version {}, the manifest lists {} to {}",
                                      item.item->name, payload.format_version, versions.first,
                                      versions.second));
    std::set<std::string> keys(payload.named_keys.begin(), payload.named_keys.end());
    for (const std::string& key : keys)
      if (!payload.named.contains(key))
        return context.fail(
            fmt::format("{}: the artifact lists the key '{}', but no blob has it", item.item->name, key));
    for (const auto& [key, bytes] : payload.named)
      if (!keys.contains(key))
        return context.fail(
            fmt::format("{}: the artifact lists no key '{}', but a blob has it", item.item->name, key));
  }
  context.take_violations(*subject);
}

constexpr Check kChecks[] = {
    {"aot.progress-grows", "Progress of compile grows from 0 to 1, and changes no byte.", "", progress_grows},
    {"aot.compile-is-cancelled",
     "A cancelled compile returns ETB_CANCELLED or ETB_OK, and the next one its bytes.", "ABI-AOT-02",
     compile_is_cancelled},
    {"aot.several-graphs",
     "A compilation of several graphs writes the payload of each, in their order, also of longer structs, "
     "and its "
     "progress grows to 1 at most.",
     "ABI-AOT-05", several_graphs},
    {"aot.options-are-checked",
     "Partition, dry_check, estimate and compile reject unknown options, and ignore those that start with "
     "x-.",
     "ABI-OPT-01", options_are_checked},
    {"aot.targets", "The default target spelled out changes nothing; claims for other targets hold.",
     "ABI-AOT-03", targets},
    {"aot.debug-map-is-joined",
     "Each entry of the debug map names nodes of the region, and a map leaves out no node of a run.", "",
     debug_map_is_joined},
    {"aot.artifacts-are-described",
     "Payloads have a version of the manifest, and their keys are those of the blobs.", "ABI-AOT-05",
     artifacts_are_described},
};

}  // namespace

std::span<const Check> compile_checks() { return kChecks; }

}  // namespace etb::conformance
