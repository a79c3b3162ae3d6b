// SPDX-License-Identifier: Apache-2.0
// The smallest whole plugin: claims, compiles and runs aten.neg.default on float32 tensors.
#include "etb/cpp/bytes.hpp"
#include "etb/cpp/plugin.hpp"

namespace {

constexpr uint32_t kVersion = 1;  // the payload is this number

struct Negator;

// Run time: one payload, made ready.
struct Negation {
  static etb::Result<Negation> make(const Negator&, etb::CreateArgs& args) {
    etb::ByteReader payload(args.payload.bytes());
    if (payload.read<uint32_t>() != kVersion)
      return etb::make_error(etb::Code::INCOMPATIBLE, "payload: expected version 1");
    ETB_TRY(payload.finish());
    return Negation{};
  }
  etb::DelegateInfo info() const { return {.input_count = 1, .output_count = 1}; }

  etb::Status execute(const etb::Run& run) const {
    etb::OutputTensor result = run.output(0);
    ETB_TRY(result.resize(run.input(0).sizes()));
    ETB_ASSIGN(const auto from, run.input(0).data<float>());
    ETB_ASSIGN(const auto to, result.data<float>());
    for (size_t i = 0; i < to.size(); ++i) to[i] = -from[i];
    return {};
  }
};

// The plugin: what it takes, and how a region becomes a payload.
struct Negator {
  using Delegate = Negation;

  static constexpr etb::OpRow kOps[] = {{.op = "aten.neg.default", .dynamic_sizes = true}};

  etb::Claim claim(const etb::Node& node) const {
    if (node.operands()[0].is_constant_or_state())
      return etb::Claim::no("com.example.negator.constant", "a constant operand, expected a run-time value");
    return etb::Claim::alone();  // one node a payload
  }
  etb::Result<etb::Artifact> compile(const etb::Region&) const {
    return etb::Artifact{.payload = etb::ByteWriter().write(kVersion).take(), .format_version = kVersion};
  }
};

}  // namespace

ETB_DEFINE_PLUGIN(Negator, "com.example.negator", "Example Inc.", "1.0.0")
