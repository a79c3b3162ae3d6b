// SPDX-License-Identifier: Apache-2.0
// A plugin for etbackend. It supports aten.add.Tensor, ahead of time and at run time. Change the three parts
// marked 1, 2 and 3.
#include <algorithm>

#include "etb/cpp/bytes.hpp"
#include "etb/cpp/plugin.hpp"
#include "etb/cpp/values.hpp"

namespace {

// 1. The payload: compile writes it and the delegate reads it. Five u32: magic, version, number of inputs,
// and the two inputs to add.
constexpr uint32_t kMagic = 0x504e594d;  // "MYNP"
constexpr uint32_t kVersion = 1;
constexpr const char* kEventName = "my_npu.add";  // of the profiling event, and of the recorded value

struct MyNpu;

// 2. Run time: one payload, ready to run. Runs keep no state, so any number of contexts may share the
// delegate.
class MyNpuDelegate {
 public:
  // A payload may hold any bytes: check every number before use.
  static etb::Result<MyNpuDelegate> make(const MyNpu&, etb::CreateArgs& args) {
    etb::ByteReader payload(args.payload.bytes());
    if (payload.read<uint32_t>() != kMagic)
      return etb::make_error(etb::Code::INVALID_DATA, "payload: not of my_npu");
    if (const auto version = payload.read<uint32_t>(); version != kVersion)
      return etb::make_error(etb::Code::INCOMPATIBLE, "payload: version " + std::to_string(version) +
                                                          ", plugin reads " + std::to_string(kVersion));
    MyNpuDelegate made;
    made.input_count_ = payload.read<uint32_t>();
    made.left_ = payload.read<uint32_t>();
    made.right_ = payload.read<uint32_t>();
    ETB_TRY(payload.finish());
    if (made.input_count_ > 2 || std::max(made.left_, made.right_) >= made.input_count_)
      return etb::make_error(etb::Code::INVALID_DATA, "payload: input out of range");
    made.limit_ = static_cast<float>(args.options.get_f64("limit"));
    return made;
  }

  etb::DelegateInfo info() const { return {.input_count = input_count_, .output_count = 1}; }

  etb::Status execute(const etb::Run& run) const {
    return run.timed(kEventName, [&]() -> etb::Status {
      const etb::Tensor left = run.input(left_), right = run.input(right_);
      if (!left.has_sizes(right.sizes()))
        return etb::make_error(etb::Code::INVALID_ARGUMENT,
                               "input " + std::to_string(left_) + ": sizes " + etb::sizes_text(left.sizes()) +
                                   ", expected those of input " + std::to_string(right_) + ", " +
                                   etb::sizes_text(right.sizes()));
      etb::OutputTensor sum = run.output(0);
      ETB_TRY(sum.resize(left.sizes()));
      ETB_ASSIGN(const auto a, left.data<float>());
      ETB_ASSIGN(const auto b, right.data<float>());
      ETB_ASSIGN(const auto out, sum.data<float>());
      for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
      // A value inside of the delegate: the sum before it saturates. Only for a host that records values.
      if (const etb::ValueReport values(run); values.wants(kEventName)) ETB_TRY(values.put(kEventName, sum));
      if (limit_ > 0)
        for (float& value : out) value = std::clamp(value, -limit_, limit_);
      return {};
    });
  }

 private:
  uint32_t input_count_ = 0;
  uint32_t left_ = 0;
  uint32_t right_ = 0;
  float limit_ = 0;
};

// 3. The plugin: its options, the supported ops, and compilation.
struct MyNpu {
  using Delegate = MyNpuDelegate;

  static constexpr etb::OptionRow kOptions[] = {
      etb::f64_option("limit", 0, 0, 1e30, ETB_OBJECT_DELEGATE,
                      "Sums saturate at plus and minus this, as in fixed-point hardware; 0: they do not.")};

  static constexpr etb::OpRow kOps[] = {
      {.op = "aten.add.Tensor",
       .dynamic_sizes = true,
       .constraint = "Both operands have the same sizes and are no constants; alpha is 1."}};

  // Checks that the row above cannot express. The base has already checked dtype, rank, layout and
  // quantisation.
  etb::Claim claim(const etb::Node& node) const {
    const auto operands = node.operands();
    if (operands.size() == 2 && operands[1].spec().dtype != ETB_DTYPE_FLOAT32)
      return etb::Claim::no("dtype", "second operand, expected float32");  // the table has the first one
    if (operands.size() != 2 || !operands[0].has_sizes_of(operands[1]))
      return etb::Claim::no("com.example.my-npu.broadcast",
                            "operands of different sizes, expected equal ones");
    if (operands[0].is_constant_or_state() || operands[1].is_constant_or_state())
      return etb::Claim::no("com.example.my-npu.constant",
                            "a constant or state operand, expected run-time values");
    if (const auto alpha = node.find_arg("alpha"); alpha && alpha->as_int() != 1 && alpha->as_float() != 1)
      return etb::Claim::no("attribute", "alpha, expected 1");
    return etb::Claim::alone();  // each sum is a separate payload
  }

  // A region holds only nodes that claim() accepted: here, one.
  etb::Result<etb::Artifact> compile(const etb::Region& region) const {
    const etb::Graph& graph = region.graph();
    if (graph.node_count() != 1 || graph.output_count() != 1)
      return etb::make_error(etb::Code::NOT_SUPPORTED,
                             std::to_string(graph.node_count()) + " nodes, expected 1");
    const auto operands = graph.node(0).operands();
    etb::ByteWriter payload;
    payload.write(kMagic).write(kVersion);
    payload.write(graph.input_count()).write(operands[0].id()).write(operands[1].id());
    etb::Artifact artifact{.payload = payload.take(), .format_version = kVersion};
    // Joins the event of execute with the node, so that profiles show its line in the model's source.
    artifact.debug_map.push_back({.name = kEventName, .handles = {graph.node(0).debug_handle()}});
    return artifact;
  }

  // Reads only the first bytes, before a delegate is created.
  etb::Verdict check_payload(const etb_payload_check& check) const {
    etb::ByteReader prefix(etb::to_span(check.prefix));
    if (prefix.read<uint32_t>() != kMagic)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "not of my_npu"};
    if (prefix.read<uint32_t>() != kVersion)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_FORMAT, "another version"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }
};

}  // namespace

ETB_DEFINE_PLUGIN(MyNpu, "com.example.my-npu", "Example Inc.", "0.1.0")
