// SPDX-License-Identifier: Apache-2.0
// aot: regions of hundreds of nodes, about which dry_check and compile say the same.
#include <fmt/format.h>

#include <string_view>

#include "conformance/cases/case_builder.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Nodes of one op in a chain; one of two operands reads the same second one each time.
Result<BuiltCase> long_chain(const char* op, int nodes) {
  CaseBuilder builder("long chain");
  const Shape shape{ETB_DTYPE_FLOAT32, {2, 8}, {}};
  const bool is_binary = std::string_view(op).ends_with(".Tensor");
  uint32_t last = builder.input(shape, Values::kExact);
  const uint32_t second = is_binary ? builder.input(shape, Values::kExact) : last;
  for (int i = 0; i < nodes; ++i) {
    std::vector<graph::ArgumentDesc> args = {graph::value_arg(last, "self")};
    if (is_binary) args.push_back(graph::value_arg(second, "other"));
    last = builder.node(op, std::move(args), shape);
  }
  builder.output(last);
  return builder.finish({});
}

// Compares the answers about a region. Returns true if it was claimed and both functions are there.
bool compare(CheckContext& context, Subject& subject, const char* op, int nodes) {
  static const Case kChain{"a long chain", "model", ETB_DTYPE_FLOAT32, {}};
  ClaimedCase item{&kChain, {}, {}};
  Result<BuiltCase> built = long_chain(op, nodes);
  if (!built || !partition(subject, built->image).is_whole_claim()) return false;
  item.built = std::move(*built);
  context.progress().restart();
  context.progress().at(fmt::format("compile of {} nodes", nodes).c_str());
  Compiled compiled = compile(subject, item.built.image);
  std::string text;
  const etb_status dry = dry_check(subject, item.built.image, text);
  if (dry != ETB_NOT_IMPLEMENTED && dry != compiled.status) {
    context.fail(fmt::format("{} nodes of {}: dry_check returns {} ({}) and compile {} ({})", nodes, op, dry,
                             text, compiled.status, compiled.error));
    return true;
  }
  if (compiled.status != ETB_OK) return dry != ETB_NOT_IMPLEMENTED;
  item.payload = std::move(compiled.payload);
  const auto session = context.make_session(subject, item);
  if (!session) return true;
  const RunResult result = session->run(item.built.runs[0]);
  if (result.status != ETB_OK || !context.is_right(item, result))
    context.fail(fmt::format("{} nodes of {}: a run fails or is wrong", nodes, op));
  return true;
}

void large_regions(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  if (subject->table().aot == nullptr) return context.skip("the plugin has no ahead-of-time functions");
  bool has_any = false;
  for (const char* op : {"aten.neg.default", "aten.abs.default", "aten.relu.default", "aten.add.Tensor"})
    for (const int nodes : {40, 129, 260, 600}) {
      has_any = compare(context, *subject, op, nodes) || has_any;
      if (!context.outcome().findings.empty()) return;
    }
  if (!has_any) context.skip("the plugin claims none of the chains that the check needs");
}

constexpr Check kChecks[] = {
    {"aot.large-regions-compile",
     "Of regions of hundreds of nodes, dry_check accepts those that compile accepts, and they run.", "",
     large_regions},
};

}  // namespace

std::span<const Check> large_region_checks() { return kChecks; }

}  // namespace etb::conformance
