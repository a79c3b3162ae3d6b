// SPDX-License-Identifier: Apache-2.0
// net: whole networks through the compiler with the plugin's own claims, and each region by itself.
#include <fmt/format.h>

#include <array>
#include <deque>

#include "conformance/checks/groups.hpp"
#include "conformance/judge/expected.hpp"
#include "conformance/networks/compile_network.hpp"
#include "conformance/networks/networks.hpp"
#include "conformance/networks/recording_delegates.hpp"
#include "host/module/module.hpp"

namespace etb::conformance {
namespace {

struct Variant {
  const char* name;
  Batch batch;
  std::vector<int64_t> sizes;  // batches of the runs, in order, on one program
};
const std::array<Variant, 3>& variants() {
  static const std::array<Variant, 3> list = {{{"batch1", {1, false}, {1, 1}},
                                               {"batch3", {3, false}, {3, 3}},
                                               {"dynamic", {6, true}, {2, 6, 1, 5, 6}}}};
  return list;
}

// Returns "add.Tensor relu mm", the ops of a network in order.
std::string ops_of(const ir::Module& module) {
  std::string out;
  for (const ir::Node& node : module.main().nodes) {
    const std::string_view name = module.op(node).name;
    out += (out.empty() ? "" : " ") + std::string(name.substr(name.find('.') + 1));
  }
  return out;
}

// One network with one variant.
class Trial {
 public:
  // `graph`: the number of a random one.
  Trial(CheckContext& context, Subject& subject, const Network& network, const Variant& variant,
        uint32_t graph)
      : context_(context),
        subject_(subject),
        network_(network),
        variant_(variant),
        round_(round_of(context.outcome().name)),
        seed_(seed_of(network, graph, round_)),
        what_(network.graph_count == 1 ? network.what : fmt::format("{}, graph {}", network.what, graph)) {}

  const std::string& what() const { return what_; }
  bool has_regions() const { return !compiled_.regions.empty() || !compiled_.faults.empty(); }

  Status run() {
    context_.progress().at("compile");
    ETB_ASSIGN(BuiltNetwork built, build_network(network_, variant_.batch, seed_));
    if (network_.graph_count > 1) ops_ = "; its ops: " + ops_of(built.module);
    ETB_ASSIGN(compiled_, compile_network(std::move(built.module), subject_, context_.spec().evaluate));
    for (const std::string& fault : compiled_.faults)
      context_.fail(fmt::format("{}: claimed, and not compiled: {}{}", what_, fault, ops_));
    if (compiled_.regions.empty()) return {};
    RecordingDelegates delegates(subject_);
    context_.progress().at("load");
    ETB_ASSIGN(host::Module module,
               host::Module::from_bytes(compiled_.program->bytes(), {.delegates = &delegates}));
    for (size_t i = 0; i < variant_.sizes.size(); ++i) ETB_TRY(run_once(module, delegates, i));
    return {};
  }

 private:
  Status run_once(host::Module& module, RecordingDelegates& delegates, size_t run) {
    const int64_t size = variant_.sizes[run];
    ETB_ASSIGN(BuiltNetwork fixed, build_network(network_, {size, false}, seed_));
    const std::vector<TensorData> inputs =
        make_network_inputs(fixed, size, fmt::format("{}/{}@{}", seed_, run, round_));
    ETB_ASSIGN(const NetworkGraph whole,
               make_network_graph(std::move(fixed.module), context_.spec().evaluate));
    ETB_ASSIGN(const std::vector<ExpectedTensor> expected,
               expect_results(whole.image.span(), whole.reader(), inputs, context_.contract(), seed_));
    context_.progress().at(fmt::format("run {} with a batch of {}", run, size).c_str());
    std::vector<host::OwnedTensor> tensors;
    std::vector<host::EValue> values;
    for (const TensorData& input : inputs) {
      tensors.emplace_back(static_cast<host::Dtype>(input.shape.dtype), input.shape.sizes);
      std::copy(input.bytes.begin(), input.bytes.end(), tensors.back().bytes().begin());
      values.push_back(tensors.back().value());
    }
    const Result<std::vector<host::EValue>> outputs = module.execute("forward", values);
    if (!outputs) {
      context_.fail(
          fmt::format("{}: run {} with a batch of {}: {}", what_, run, size, outputs.error().message));
      return {};
    }
    const std::vector<RegionCall> calls = delegates.take_calls();
    for (size_t i = 0; i < expected.size(); ++i)
      compare(expected[i], copy_of((*outputs)[i].tensor()),
              fmt::format("output {} of run {} (batch {})", i, run, size));
    // A region of dynamic sizes has symbols, which the reference does not run.
    if (!variant_.batch.is_dynamic)
      for (const RegionCall& call : calls) ETB_TRY(compare_region(call, run));
    return {};
  }

  Status compare_region(const RegionCall& call, size_t run) {
    if (call.region >= compiled_.regions.size())
      return make_error(Code::INTERNAL, "a call of an unknown region");
    const NetworkGraph& region = compiled_.regions[call.region];
    const Result<std::vector<ExpectedTensor>> expected =
        expect_results(region.image.span(), region.reader(), call.inputs, context_.contract(), seed_);
    if (!expected) return {};  // an op that the portable kernels have only in parts; the whole was compared
    for (size_t i = 0; i < expected->size() && i < call.outputs.size(); ++i)
      compare((*expected)[i], call.outputs[i],
              fmt::format("output {} of region {} in run {}", i, call.region, run));
    return {};
  }

  void compare(const ExpectedTensor& expected, const TensorData& found, const std::string& where) {
    if (const std::string difference = describe_difference(expected, found); !difference.empty())
      context_.fail(fmt::format("{}: {}: {}{}", what_, where, difference, ops_));
  }

  CheckContext& context_;
  Subject& subject_;
  const Network& network_;
  const Variant& variant_;
  uint32_t round_;
  std::string seed_;
  std::string what_, ops_;  // for messages
  CompiledNetwork compiled_;
};

// The name of the check names network and variant: net.cnn.batch3.
void run_network(CheckContext& context) {
  const std::string name(without_round(context.outcome().name));
  const size_t dot = name.rfind('.');
  const Network* const network = find_network(name.substr(4, dot - 4));
  for (const Variant& variant : variants()) {
    if (network == nullptr || name.substr(dot + 1) != variant.name) continue;
    const std::unique_ptr<Subject> subject = context.open();
    if (subject == nullptr) return;
    bool has_any = false;
    for (uint32_t graph = 0; graph < network->graph_count; ++graph) {
      context.progress().restart();
      Trial trial(context, *subject, *network, variant, graph);
      if (const Status done = trial.run(); !done) context.fail(trial.what() + ": " + done.error().message);
      has_any = has_any || trial.has_regions();
    }
    if (!has_any && context.outcome().findings.empty())
      context.skip("the plugin claims no node of this network");
    context.take_violations(*subject);
    return;
  }
}

}  // namespace

std::span<const Check> net_checks() {
  static std::deque<std::string> texts;  // checks point into it
  static const std::vector<Check> checks = [] {
    std::vector<Check> out;
    for (const Network& network : all_networks())
      for (const Variant& variant : variants()) {
        // Random ones have the same nodes for each batch; the other variants see more of them.
        if (network.graph_count > 1 && !variant.batch.is_dynamic && variant.batch.size == 1) continue;
        const std::string& id = texts.emplace_back(fmt::format("net.{}.{}", network.name, variant.name));
        const std::string& sentence = texts.emplace_back(
            fmt::format("A network of {} computes right results, {}.", network.what,
                        variant.batch.is_dynamic ? "with a batch of any size"
                                                 : fmt::format("batch {}", variant.batch.size)));
        out.push_back({id.c_str(), sentence.c_str(), "", run_network});
      }
    return out;
  }();
  return checks;
}

}  // namespace etb::conformance
