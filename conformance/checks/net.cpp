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

// One network with one variant.
class Trial {
 public:
  Trial(CheckContext& context, Subject& subject, const Network& network, const Variant& variant)
      : context_(context), subject_(subject), network_(network), variant_(variant) {}

  Status run() {
    context_.progress().at("compile");
    ETB_ASSIGN(BuiltNetwork built, build_network(network_, variant_.batch));
    ETB_ASSIGN(compiled_, compile_network(std::move(built.module), subject_, context_.spec().evaluate));
    for (const std::string& fault : compiled_.faults)
      context_.fail(fmt::format("{}: claimed, and not compiled: {}", network_.what, fault));
    if (compiled_.regions.empty()) {
      if (compiled_.faults.empty()) context_.skip("the plugin claims no node of this network");
      return {};
    }
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
    ETB_ASSIGN(BuiltNetwork fixed, build_network(network_, {size, false}));
    const uint32_t round = round_of(context_.outcome().name);
    const std::vector<TensorData> inputs =
        make_network_inputs(network_, fixed, size, fmt::format("{}@{}", run, round));
    ETB_ASSIGN(const NetworkGraph whole,
               make_network_graph(std::move(fixed.module), context_.spec().evaluate));
    ETB_ASSIGN(
        const std::vector<ExpectedTensor> expected,
        expect_results(whole.image.span(), whole.reader(), inputs, context_.contract(), network_.name));
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
      context_.fail(fmt::format("{}: run {} with a batch of {}: {}", network_.what, run, size,
                                outputs.error().message));
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
        expect_results(region.image.span(), region.reader(), call.inputs, context_.contract(), network_.name);
    if (!expected) return {};  // an op that the portable kernels have only in parts; the whole was compared
    for (size_t i = 0; i < expected->size() && i < call.outputs.size(); ++i)
      compare((*expected)[i], call.outputs[i],
              fmt::format("output {} of region {} in run {}", i, call.region, run));
    return {};
  }

  void compare(const ExpectedTensor& expected, const TensorData& found, const std::string& where) {
    if (const std::string difference = describe_difference(expected, found); !difference.empty())
      context_.fail(fmt::format("{}: {}: {}", network_.what, where, difference));
  }

  CheckContext& context_;
  Subject& subject_;
  const Network& network_;
  const Variant& variant_;
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
    if (const Status done = Trial(context, *subject, *network, variant).run(); !done)
      context.fail(done.error().message);
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
