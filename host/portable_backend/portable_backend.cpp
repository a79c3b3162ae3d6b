// SPDX-License-Identifier: Apache-2.0
#ifndef ETB_PORTABLE_LIBRARY  // mutation tests build it as a library
#define ETB_PLUGIN_STATIC_NAME portable
#endif
#include "host/portable_backend/portable_backend.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>

#include "api/format/graph_builder.hpp"
#include "api/format/graph_verifier.hpp"
#include "api/ops/schema.hpp"
#include "etb/cpp/bytes.hpp"
#include "etb/cpp/plugin.hpp"
#include "etb/cpp/values.hpp"
#include "host/kernels/portable.hpp"
#include "host/portable_backend/graph_executor.hpp"

namespace etb::host {

bool is_op_of_payloads(std::string_view op) {
  for (const std::string_view part :
       {"rand", "empty", "dropout", "bernoulli", "nonzero", "masked_select", "resize"})
    if (op.find(part) != std::string_view::npos) return false;
  return true;
}

#ifdef ETB_PORTABLE_RESULT_HOOK  // a library of tests that computes wrong results
NodeHook make_result_hook(std::span<const uint8_t> image);
#else
static NodeHook make_result_hook(std::span<const uint8_t> /*image*/) { return {}; }
#endif

namespace {

constexpr etb_dtype kDtypes[] = {ETB_DTYPE_FLOAT32, ETB_DTYPE_FLOAT64, ETB_DTYPE_FLOAT16, ETB_DTYPE_BFLOAT16,
                                 ETB_DTYPE_INT64,   ETB_DTYPE_INT32,   ETB_DTYPE_INT16,   ETB_DTYPE_INT8,
                                 ETB_DTYPE_UINT8,   ETB_DTYPE_BOOL};

struct Kernels {
  Kernels() { add_portable_kernels(registry); }
  KernelRegistry registry;
};
// Constant after its first use. The kernels have no state.
const KernelRegistry& portable_kernels() {
  static const Kernels kernels;
  return kernels.registry;
}

// One row for each op with a kernel, collected from the kernel table.
struct PortableRows {
  operator std::span<const OpRow>() const {
    static std::deque<std::string> names;  // the texts of the schema table do not end with NUL
    static const std::vector<OpRow> rows = find_rows(names);
    return rows;
  }
  static std::vector<OpRow> find_rows(std::deque<std::string>& names) {
    std::vector<OpRow> rows;
    std::string name, overload;
    for (uint32_t i = 0; i < ops::schema_count(); ++i) {
      const ops::Schema& schema = ops::get_schema(i);
      if (!is_op_of_payloads(schema.name()) || schema.is_in_place() || schema.is_view()) continue;
      // The compiler makes these after it has asked plugins, so no graph that is offered has them.
      if (schema.name().starts_with("cortex_m.")) continue;
      if (!find_out_name(schema.name(), name, overload) || portable_kernels().find(name, overload) == nullptr)
        continue;
      rows.push_back({.op = names.emplace_back(schema.name()).c_str(),
                      .dtypes = kDtypes,
                      .layouts = ETB_LAYOUT_ANY,
                      .dynamic_sizes = true,
                      .constraint = "What the portable kernel of this op runs; a trial run decides."});
    }
    return rows;
  }
};

struct Portable;

// Returns a bound of the scratch memory of most kernels: 8 bytes for each element of the operands and results of one node.
// Windows and sorts use that much, elementwise ops none.
uint64_t most_scratch_bytes(std::span<const uint8_t> image) {
  const Result<graph::View> view = graph::View::open(image);
  if (!view) return 0;
  uint64_t most = 0;
  const auto nbytes_of = [](const std::vector<graph::Value>& values) {
    uint64_t total = 0;
    for (const graph::Value& value : values) {
      if (!value.is_tensor()) continue;
      uint64_t nbytes = sizeof(double);
      const etb_graph_spec spec = value.spec();
      for (uint32_t d = 0; d < spec.rank; ++d) nbytes *= static_cast<uint64_t>(spec.sizes[d]);
      total += nbytes;
    }
    return total;
  };
  for (const graph::Node& node : view->method().nodes())
    most = std::max(most, nbytes_of(node.operands()) + nbytes_of(node.results()));
  return most;
}

// A payload is [u64 number of bytes][image], so that truncation is detected.
class PortableDelegate {
 public:
  static Result<PortableDelegate> make(const Portable&, CreateArgs& args) {
    ByteReader reader(args.payload.bytes());
    const auto nbytes = reader.read<uint64_t>();
    const std::span<const std::byte> rest = reader.read_bytes(nbytes);
    ETB_TRY(reader.finish());
    PortableDelegate made;
    made.image_ = std::make_unique<graph::ImageBytes>(
        std::span<const uint8_t>(reinterpret_cast<const uint8_t*>(rest.data()), rest.size()));
    ETB_TRY(graph::verify_graph_image(made.image_->span()));
    made.named_data_ = args.named_data;
    Result<GraphExecutor> executor_made = made.make_executor();
    // A valid image with an op or an attribute that no kernel runs.
    if (!executor_made && executor_made.error().code == Code::NOT_SUPPORTED)
      executor_made.error().code = Code::INCOMPATIBLE;
    ETB_ASSIGN(const GraphExecutor executor, std::move(executor_made));
    made.input_count_ = executor.input_count();
    made.output_count_ = executor.output_count();
    made.context_bytes_ = executor.memory_bytes() + most_scratch_bytes(made.image_->span());
    return made;
  }

  DelegateInfo info() const {
    return {.input_count = input_count_,
            .output_count = output_count_,
            .resident_bytes = image_->span().size(),
            .context_bytes = context_bytes_};
  }

  Result<GraphExecutor> make_executor() const {
    // The executor copies constants, so each may be released at once.
    auto held = std::make_shared<std::vector<Payload>>();
    const auto read = [&](const char* key) -> Result<std::span<const std::byte>> {
      ETB_ASSIGN(Payload bytes, named_data_.get(key));
      held->push_back(std::move(bytes));
      return held->back().bytes();
    };
    return GraphExecutor::make(image_->span(), portable_kernels(),
                               {.precision = Precision::kAsStored, .absolute = false, .read_constant = read});
  }

  class Context {
   public:
    explicit Context(const PortableDelegate& delegate)
        : executor_(delegate.make_executor()), on_result_(make_result_hook(delegate.image_->span())) {}
    Status execute(const Run& run) {
      if (!executor_) return tl::make_unexpected(executor_.error());
      return run_once(run);
    }

   private:
    Status run_once(const Run& run);
    Result<GraphExecutor> executor_;
    NodeHook on_result_;
  };

 private:
  std::unique_ptr<graph::ImageBytes> image_;
  NamedData named_data_;
  uint32_t input_count_ = 0;
  uint32_t output_count_ = 0;
  uint64_t context_bytes_ = 0;
};

std::string where(const char* what, uint32_t index) {
  return std::string(what) + " " + std::to_string(index) + ": ";
}

// Checks that the tensor matches the image's spec: dense in its dim order.
Status verify_tensor(const etb::Tensor& tensor, const etb_graph_spec& spec, const std::string& name) {
  const etb_tensor& raw = tensor.raw();
  if (static_cast<uint32_t>(raw.dtype) != spec.dtype || raw.rank != spec.rank)
    return make_error(Code::INVALID_ARGUMENT, name + dtype_text(raw.dtype) + " of rank " +
                                                  std::to_string(raw.rank) + ", expected " +
                                                  dtype_text(static_cast<etb_dtype>(spec.dtype)) +
                                                  " of rank " + std::to_string(spec.rank));
  if (raw.buffer != nullptr) return make_error(Code::INVALID_ARGUMENT, name + "expected host memory");
  int64_t expected = 1;
  for (uint32_t i = spec.rank; i-- > 0;) {
    const uint8_t dim = spec.dim_order[i];
    const bool is_placed =
        raw.strides != nullptr
            ? raw.sizes[dim] == 1 || raw.strides[dim] == expected
            : raw.sizes[dim] == 1 || (raw.dim_order != nullptr ? raw.dim_order[i] : i) == dim;
    if (!is_placed && tensor.numel() > 1)
      return make_error(Code::INVALID_ARGUMENT, name + "strides or dim order other than compiled for");
    expected *= raw.sizes[dim];
  }
  return {};
}

// Name of a node's event, as in the debug map.
std::string event_name(std::string_view op, uint32_t node) {
  return std::string(op) + " #" + std::to_string(node);
}

// Reports the results of a node, if the host records them.
Status put_results(const ValueReport& values, const char* name, std::span<host::Tensor* const> results) {
  if (results.empty() || !values.wants(name)) return {};
  std::vector<etb_tensor> tensors;
  for (const host::Tensor* result : results) {
    etb_tensor& tensor = tensors.emplace_back();
    tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
    tensor.dtype = static_cast<etb_dtype>(result->dtype());
    tensor.rank = static_cast<uint32_t>(result->rank());
    tensor.role = ETB_ROLE_OUTPUT;
    tensor.sizes = const_cast<int64_t*>(result->sizes().data());  // the sink only reads them
    tensor.dim_order = result->dim_order().data();
    tensor.data = result->data();
    tensor.capacity_bytes = result->capacity_bytes();
  }
  return values.put(name, tensors);
}

// Calls `on_result`, then reports an event for each node, and its results if the host records values. Returns
// `on_result` if the host wants none.
NodeHook node_events(const Run& run, const NodeHook& on_result) {
  if (run.raw().events == nullptr) return on_result;
  return [&run, &on_result, values = ValueReport(run), begin_ns = run.host().now_ns()](
             std::string_view op, uint32_t node, std::span<host::Tensor* const> results) mutable -> Status {
    if (on_result) ETB_TRY(on_result(op, node, results));
    const std::string name = event_name(op, node);
    etb_event event{};
    event.struct_size = ETB_INIT_SIZE(etb_event);
    event.name = name.c_str();
    event.debug_id = -1;
    event.begin_ticks = begin_ns;
    event.end_ticks = run.host().now_ns();
    event.timebase = ETB_TIMEBASE_HOST;
    event.ns_numerator = event.ns_denominator = 1;
    ETB_TRY(from_host(run.raw().events->put(run.raw().events->ctx, &event), "event sink"));
    ETB_TRY(put_results(values, name.c_str(), results));
    begin_ns = run.host().now_ns();
    return {};
  };
}

Status PortableDelegate::Context::run_once(const Run& run) {
  if (run.input_count() != executor_->input_count() || run.output_count() != executor_->output_count())
    return make_error(Code::INVALID_ARGUMENT, std::to_string(run.input_count()) + " inputs and " +
                                                  std::to_string(run.output_count()) + " outputs, expected " +
                                                  std::to_string(executor_->input_count()) + " and " +
                                                  std::to_string(executor_->output_count()));
  for (uint32_t i = 0; i < run.input_count(); ++i) {
    const etb::Tensor input = run.input(i);
    ETB_TRY(verify_tensor(input, executor_->input_spec(i), where("input", i)));
    ETB_TRY(executor_->set_input(i, input.sizes(), input.raw().data, input.raw().capacity_bytes));
  }
  const host::PlatformHooks clock = {const_cast<etb::Host*>(&run.host()),
                                     [](void* self) { return static_cast<etb::Host*>(self)->now_ns(); },
                                     nullptr};
  ETB_TRY(executor_->run(StopCheck(run.raw().deadline_ns, run.raw().cancel, clock),
                         node_events(run, on_result_)));
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    OutputTensor output = run.output(i);
    const host::Tensor& result = executor_->output(i);
    ETB_TRY(output.resize(result.sizes()));
    ETB_TRY(verify_tensor(output, executor_->output_spec(i), where("output", i)));
    if (result.nbytes() > output.raw().capacity_bytes ||
        (output.raw().data == nullptr && result.nbytes() != 0))
      return make_error(Code::INVALID_ARGUMENT, where("output", i) + "capacity too small");
    if (result.nbytes() != 0) std::memcpy(output.raw().data, result.data(), result.nbytes());
  }
  return {};
}

struct Portable {
  using Delegate = PortableDelegate;
  static constexpr PortableRows kOps{};

  Status partition(const Graph& graph, const PartitionSink& sink) const {
    static const std::map<std::string_view, const OpRow*> by_name = [] {
      std::map<std::string_view, const OpRow*> map;
      for (const OpRow& row : std::span<const OpRow>(kOps)) map.emplace(row.op, &row);
      return map;
    }();
    const bool is_method = graph.view().graphs.count == 1;
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node node = graph.node(i);
      const uint32_t id = node.id();
      const auto row = by_name.find(node.op_name());
      const Claim claim = row == by_name.end()
                              ? Claim::no("op", std::string(node.op_name()) + ": no portable kernel")
                          : !is_method ? Claim::no("op", "inside control flow")
                                       : try_node(node, *row->second);
      ETB_TRY(claim.is_claimed ? sink.claim({&id, 1}, claim) : sink.reject({&id, 1}, claim));
    }
    return {};
  }

  Result<Artifact> compile(const Region& region) const {
    const Graph& graph = region.graph();
    for (uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node node = graph.node(i);
      const OpRow* const row = detail::find_row(kOps, node.op_name());
      const Claim claim = row == nullptr ? Claim::no("op", "no portable kernel") : try_node(node, *row);
      if (!claim.is_claimed)
        return make_error(Code::NOT_SUPPORTED, "node " + std::to_string(node.id()) + " (" +
                                                   std::string(node.op_name()) + "): " + claim.text);
    }
    const etb_graph_view& view = graph.view();
    Artifact artifact;
    ByteWriter payload;
    payload.write(uint64_t{view.nbytes});
    artifact.payload = payload.take();
    const auto* const bytes = reinterpret_cast<const std::byte*>(view.data);
    artifact.payload.insert(artifact.payload.end(), bytes, bytes + view.nbytes);
    for (uint32_t i = 0; i < view.constants.count; ++i) {
      const etb_graph_constant constant = etb_graph_get_constant(&view, i);
      if (constant.data == nullptr && constant.nbytes != 0)
        artifact.named_blobs.push_back({.key = constant.key, .constant_key = constant.key});
    }
    for (uint32_t i = 0; i < graph.node_count(); ++i)
      if (const uint32_t handle = graph.node(i).debug_handle(); handle != 0)
        artifact.debug_map.push_back({.name = event_name(graph.node(i).op_name(), i), .handles = {handle}});
    return artifact;
  }

  Verdict check_payload(const etb_payload_check& check) const {
    ByteReader prefix(to_span(check.prefix));
    const auto nbytes = prefix.read<uint64_t>();
    if (nbytes + sizeof(uint64_t) != check.payload_nbytes)
      return {ETB_VERDICT_UNSUPPORTED, ETB_REASON_CORRUPT, "no portable payload, or cut off"};
    return {ETB_VERDICT_OPTIMAL, 0, ""};
  }

 private:
  // Only the kernel knows if it can run a node. So a claim runs it, on tensors with the sizes of the
  // image. First on ones, which every formula accepts. If that fails, on zeros, because an index of
  // one may be out of range.
  static Claim try_node(const Node& node, const OpRow& row) {
    if (Claim claim = detail::check_row(node, row); !claim.is_claimed) return claim;
    const Result<graph::ImageBytes> single = cut_out(node);
    if (!single) return Claim::no("attribute", single.error().message);
    Result<GraphExecutor> executor = GraphExecutor::make(single->span(), portable_kernels());
    if (!executor) return Claim::no("op", executor.error().message);
    Status ran = run_on(*executor, 1);
    if (!ran) ran = run_on(*executor, 0);
    return ran ? Claim::yes() : Claim::no("attribute", ran.error().message);
  }

  static Result<graph::ImageBytes> cut_out(const Node& node);
  static Status run_on(GraphExecutor& executor, int value);
};

graph::SpecDesc copy_spec(const etb_graph_spec& spec) {
  graph::SpecDesc desc;
  desc.dtype = static_cast<int32_t>(spec.dtype);
  desc.sizes.assign(spec.sizes, spec.sizes + spec.rank);
  desc.dim_order.assign(spec.dim_order, spec.dim_order + spec.rank);
  return desc;
}

Result<graph::ImageBytes> Portable::cut_out(const Node& node) {
  graph::Builder builder("trial");
  graph::GraphBuilder& body = builder.add_graph("trial");
  std::map<uint32_t, uint32_t> numbers;
  for (const Value& value : node.operands()) {
    if (!value.is_tensor())
      return make_error(Code::NOT_SUPPORTED, "'" + std::string(value.name()) + "': no tensor");
    if (numbers.count(value.id()) != 0) continue;
    const etb_graph_spec spec = value.spec();
    for (uint32_t i = 0; i < spec.rank; ++i)
      if (spec.sizes[i] < 0)
        return make_error(Code::NOT_SUPPORTED, "'" + std::string(value.name()) + "': no upper bound");
    numbers[value.id()] =
        body.add_input(graph::tensor("i" + std::to_string(value.id()), builder.add_spec(copy_spec(spec))));
  }
  graph::NodeDesc desc;
  desc.op = node.op_name();
  for (const graph::Argument& argument : node.args()) {
    if (argument.kind() == ETB_GRAPH_ARGUMENT_SYM_INTS || argument.kind() == ETB_GRAPH_ARGUMENT_GRAPH)
      return make_error(Code::NOT_SUPPORTED,
                        "argument '" + std::string(argument.name()) + "': symbolic, or a graph");
    graph::for_each_value(desc.args.emplace_back(graph::copy_argument(argument)),
                          [&](uint32_t& value) { value = numbers.at(value); });
  }
  for (const int32_t length : node.result_lengths()) desc.result_lengths.push_back(length);
  uint32_t count = 0;
  for (const Value& value : node.results()) {
    if (!value.is_tensor())
      return make_error(Code::NOT_SUPPORTED, "'" + std::string(value.name()) + "': no tensor");
    desc.outputs.push_back(
        graph::tensor("r" + std::to_string(count++), builder.add_spec(copy_spec(value.spec()))));
  }
  const uint32_t first = body.add_node(desc);
  for (uint32_t i = 0; i < count; ++i) body.add_output(first + i);
  return builder.finish();
}

// Returns `count` elements that are all 0 or all 1.
std::vector<std::byte> filled(uint32_t dtype, int64_t count, int value) {
  const size_t step = element_nbytes(static_cast<Dtype>(dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * step + 64);
  if (value == 0) return bytes;
  uint64_t pattern = 1;
  switch (static_cast<Dtype>(dtype)) {
    case Dtype::FLOAT32:
      pattern = 0x3f800000;
      break;
    case Dtype::FLOAT64:
      pattern = 0x3ff0000000000000;
      break;
    case Dtype::FLOAT16:
      pattern = 0x3c00;
      break;
    case Dtype::BFLOAT16:
      pattern = 0x3f80;
      break;
    default:
      break;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(bytes.data() + static_cast<size_t>(i) * step, &pattern, step);
  return bytes;
}

Status Portable::run_on(GraphExecutor& executor, int value) {
  std::vector<std::vector<std::byte>> data;
  for (uint32_t i = 0; i < executor.input_count(); ++i) {
    const etb_graph_spec& spec = executor.input_spec(i);
    int64_t count = 1;
    for (uint32_t d = 0; d < spec.rank; ++d) count *= spec.sizes[d];
    data.push_back(filled(spec.dtype, count, value));
    ETB_TRY(executor.set_input(i, {spec.sizes, spec.rank}, data.back().data(), data.back().size()));
  }
  return executor.run();
}

}  // namespace
}  // namespace etb::host

namespace {
using etb::host::Portable;
}

ETB_DEFINE_PLUGIN(Portable, "org.etbackend.portable", "etbackend", "1.0.0")
