// SPDX-License-Identifier: Apache-2.0
#include "host/portable_backend/graph_executor.hpp"

#include <cmath>
#include <cstring>
#include <deque>

#include "host/portable_backend/argument_values.hpp"
#include "host/runtime/float16.hpp"

namespace etb::host {
namespace {

constexpr size_t kFirstScratchBytes = size_t{1} << 16;
constexpr size_t kMaxScratchBytes = size_t{1} << 30;
constexpr size_t kReadableBehind = 64;  // kernels may read whole vectors
constexpr int64_t kMaxTensorBytes = int64_t{1} << 32;

// True for a dtype whose values are converted to float64.
bool is_widened(uint32_t code, Precision precision) {
  if (precision == Precision::kAsStored || !is_known(code)) return false;
  const auto dtype = static_cast<Dtype>(code);
  if (is_floating(dtype)) return true;
  return precision == Precision::kAllFloat64 && is_arithmetic(dtype) && dtype != Dtype::UINT16 &&
         dtype != Dtype::UINT32 && dtype != Dtype::UINT64;
}

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

double read_real(Dtype dtype, const std::byte* at) {
  switch (dtype) {
    case Dtype::FLOAT16:
      return to_float(load<Half>(at));
    case Dtype::BFLOAT16:
      return to_float(load<BFloat16>(at));
    case Dtype::FLOAT32:
      return load<float>(at);
    case Dtype::INT64:
      return static_cast<double>(load<int64_t>(at));
    case Dtype::INT32:
      return load<int32_t>(at);
    case Dtype::INT16:
      return load<int16_t>(at);
    case Dtype::INT8:
      return load<int8_t>(at);
    case Dtype::UINT8:
    case Dtype::BOOL:
      return load<uint8_t>(at);
    default:
      return load<double>(at);
  }
}

}  // namespace

bool find_out_name(std::string_view op, std::string& out_name, std::string& out_overload) {
  const ops::Schema* const schema = ops::find_schema(op);
  const ops::Schema* const out = schema != nullptr ? schema->out_variant() : nullptr;
  if (out == nullptr) return false;
  out_name = std::string(out->op_namespace()) + "::" + std::string(out->base_name());
  out_overload = out->overload_name() == "default" ? "" : std::string(out->overload_name());
  return true;
}

struct GraphExecutor::Impl {
  // A value of the graph. It owns its memory, except for inputs.
  struct Value {
    etb_graph_spec spec{};
    TensorStorage storage;
    Tensor tensor;
    EValue evalue;
    // Not initialised: a payload may declare large bounds, and a run uses only the bytes that it needs.
    std::unique_ptr<std::byte[]> bytes;
    std::vector<std::byte> widened;
  };
  struct Step {
    const Kernel* kernel;
    std::unique_ptr<ArgumentValues> arguments;
    uint32_t first_output;
    uint32_t output_count;
    uint32_t node_id;
    std::string op;
  };

  Impl(const graph::View& opened, const KernelRegistry& table, Precision wanted)
      : view(opened), kernels(table), precision(wanted), scratch(kFirstScratchBytes) {}

  Dtype dtype_of(const etb_graph_spec& spec) const {
    return is_widened(spec.dtype, precision) ? Dtype::FLOAT64 : static_cast<Dtype>(spec.dtype);
  }
  Status make_value(uint32_t id, bool has_memory);
  Status read_inputs(const ConstantBytes& read_constant);
  Status add_step(const graph::Node& node);
  Status load_constant(Value& value, uint32_t constant, const ConstantBytes& read_constant);
  void widen(Value& value, const std::byte* data, int64_t numel);
  Status run_step(Step& step, StopCheck& check);

  graph::View view;
  const KernelRegistry& kernels;
  Precision precision;
  bool absolute = false;
  std::deque<Value> values;
  std::vector<Step> steps;
  std::vector<uint32_t> inputs;   // value numbers
  std::vector<uint32_t> outputs;  // value numbers
  std::vector<std::byte> scratch;
  uint64_t memory_bytes = 0;  // memory of values, constants included
};

Status GraphExecutor::Impl::make_value(uint32_t id, bool has_memory) {
  const graph::Graph method = view.method();
  const graph::Value described = method.value(id);
  const std::string name(described.name());
  if (!described.is_tensor()) return make_error(Code::NOT_SUPPORTED, "value '" + name + "': no tensor");
  Value& value = values.emplace_back();
  value.spec = described.spec();
  const Dtype dtype = dtype_of(value.spec);
  int64_t nbytes = static_cast<int64_t>(element_nbytes(dtype));
  for (uint32_t i = 0; i < value.spec.rank; ++i)
    if (value.spec.sizes[i] < 0 || __builtin_mul_overflow(nbytes, value.spec.sizes[i], &nbytes) ||
        nbytes > kMaxTensorBytes)
      return make_error(Code::NOT_SUPPORTED, "value '" + name + "': sizes without a bound, or above 4 GiB");
  if (has_memory) {
    value.bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(nbytes) + kReadableBehind);
    memory_bytes += static_cast<uint64_t>(nbytes) + kReadableBehind;
  }
  value.tensor = value.storage.make(dtype, {value.spec.sizes, value.spec.rank}, value.bytes.get(),
                                    static_cast<uint64_t>(nbytes), {value.spec.dim_order, value.spec.rank},
                                    Dynamism::kBounded);
  value.evalue = EValue(&value.tensor);
  return {};
}

void GraphExecutor::Impl::widen(Value& value, const std::byte* data, int64_t numel) {
  const auto stored = static_cast<Dtype>(value.spec.dtype);
  const size_t step = element_nbytes(stored);
  value.widened.resize(static_cast<size_t>(numel) * sizeof(double) + 1);
  for (int64_t i = 0; i < numel; ++i) {
    double real = read_real(stored, data + static_cast<size_t>(i) * step);
    if (absolute) real = std::abs(real);
    std::memcpy(value.widened.data() + static_cast<size_t>(i) * sizeof(double), &real, sizeof(real));
  }
  value.tensor.set_data(value.widened.data(), static_cast<uint64_t>(numel) * sizeof(double));
}

Status GraphExecutor::Impl::load_constant(Value& value, uint32_t constant,
                                          const ConstantBytes& read_constant) {
  const etb_graph_constant described = view.constant(constant);
  std::span<const std::byte> bytes(static_cast<const std::byte*>(described.data),
                                   described.data != nullptr ? described.nbytes : 0);
  if (described.data == nullptr && described.nbytes != 0) {
    if (!read_constant)
      return make_error(Code::NOT_FOUND, std::string("constant '") + described.key + "': no reader");
    ETB_ASSIGN(bytes, read_constant(described.key));
  }
  if (bytes.size() != described.nbytes)
    return make_error(Code::INVALID_DATA, std::string("constant '") + described.key +
                                              "': " + std::to_string(bytes.size()) + " bytes, expected " +
                                              std::to_string(described.nbytes));
  value.bytes = std::make_unique_for_overwrite<std::byte[]>(bytes.size() + kReadableBehind);
  memory_bytes += bytes.size() + kReadableBehind;
  if (!bytes.empty()) std::memcpy(value.bytes.get(), bytes.data(), bytes.size());
  value.tensor.set_data(value.bytes.get(), bytes.size());
  if (is_widened(value.spec.dtype, precision)) widen(value, value.bytes.get(), value.tensor.numel());
  value.tensor.set_read_only();
  return {};
}

Status GraphExecutor::Impl::read_inputs(const ConstantBytes& read_constant) {
  const graph::Graph method = view.method();
  for (uint32_t i = 0; i < method.inputs().size(); ++i) {
    const etb_graph_input input = method.input(i);
    if (input.updated_by != graph::kNone)
      return make_error(Code::NOT_SUPPORTED, "state: not run by this executor");
    ETB_TRY(make_value(i, false));
    if (input.constant != graph::kNone)
      ETB_TRY(load_constant(values.back(), input.constant, read_constant));
    else
      inputs.push_back(i);
  }
  return {};
}

Status GraphExecutor::Impl::add_step(const graph::Node& node) {
  std::string name, overload;
  const std::string op(node.op_name());
  if (!find_out_name(op, name, overload)) return make_error(Code::NOT_SUPPORTED, op + ": no out variant");
  const Kernel* const kernel = kernels.find(name, overload);
  if (kernel == nullptr) return make_error(Code::NOT_SUPPORTED, op + ": no kernel");
  const ops::Schema& schema = *ops::find_schema(op);
  const ops::Schema& out = *schema.out_variant();

  Step step{kernel,
            std::make_unique<ArgumentValues>(precision),
            node.first_output(),
            node.output_count(),
            node.id(),
            op};
  uint32_t result = node.first_output(), result_index = 0;
  for (uint32_t i = 0; i < node.output_count(); ++i) ETB_TRY(make_value(node.first_output() + i, true));
  const auto find_value = [&](uint32_t id) {
    return id < node.first_output() ? &values[id].evalue : nullptr;
  };
  for (uint32_t i = 0; i < out.argument_count(); ++i) {
    const ops::Argument wanted = out.argument(i);
    if (wanted.is_out) {
      const auto lengths = node.result_lengths();
      const int32_t length = result_index < lengths.size() ? lengths[result_index] : -1;
      ++result_index;
      if (length < 0) {
        if (result >= values.size()) return make_error(Code::NOT_SUPPORTED, op + ": too few results");
        step.arguments->add_tensor(&values[result++].evalue);
        continue;
      }
      std::vector<EValue*> items;
      for (int32_t k = 0; k < length; ++k) items.push_back(&values[result++].evalue);
      step.arguments->add_tensor_list(std::move(items));
      continue;
    }
    const std::string key(wanted.name);
    std::optional<graph::Argument> given = node.find_arg(key.c_str());
    if (!given && i < node.args().size() && node.arg(i).name().empty()) given = node.arg(i);
    const Status added = given ? step.arguments->add(*given, wanted.type, find_value)
                               : step.arguments->add_default(wanted.default_text, wanted.type);
    if (!added) return tl::make_unexpected(with_context(added.error(), op));
  }
  steps.push_back(std::move(step));
  return {};
}

Status GraphExecutor::Impl::run_step(Step& step, StopCheck& check) {
  for (;;) {
    etb_error error = ETB_ERROR_INIT;
    KernelContext context(scratch, kernels.vector_table(), &error);
    context.set_stop_check(check);
    const etb_status status =
        call_kernel(context, *step.kernel, step.arguments->pointers(), step.arguments->count());
    check = context.stop_check();
    if (check.is_stopped()) {
      return make_error(static_cast<Code>(check.reason()),
                        "node " + std::to_string(step.node_id) + ": " +
                            (check.reason() == ETB_CANCELLED ? "cancelled" : "deadline passed"));
    }
    if (status == ETB_OK) return {};
    if (context.scratch_peak_bytes() > scratch.size() && context.scratch_peak_bytes() < kMaxScratchBytes) {
      scratch.resize(context.scratch_peak_bytes() + 4096);
      continue;
    }
    return make_error(static_cast<Code>(status), "node " + std::to_string(step.node_id) + ": " + error.text);
  }
}

GraphExecutor::GraphExecutor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GraphExecutor::GraphExecutor(GraphExecutor&&) noexcept = default;
GraphExecutor& GraphExecutor::operator=(GraphExecutor&&) noexcept = default;
GraphExecutor::~GraphExecutor() = default;

Result<GraphExecutor> GraphExecutor::make(std::span<const uint8_t> image, const KernelRegistry& kernels,
                                          const ExecutorOptions& options) {
  ETB_ASSIGN(const graph::View view, graph::View::open(image));
  if (view.graph_count() != 1)
    return make_error(Code::NOT_SUPPORTED, "control flow: not run by this executor");
  auto impl = std::make_unique<Impl>(view, kernels, options.precision);
  impl->absolute = options.absolute;
  ETB_TRY(impl->read_inputs(options.read_constant));
  const graph::Graph method = impl->view.method();
  for (const graph::Node& node : method.nodes()) ETB_TRY(impl->add_step(node));
  for (const etb_graph_output& output : method.outputs()) {
    if (output.updates != graph::kNone)
      return make_error(Code::NOT_SUPPORTED, "state: not run by this executor");
    impl->outputs.push_back(output.value);
  }
  return GraphExecutor(std::move(impl));
}

uint32_t GraphExecutor::input_count() const noexcept { return static_cast<uint32_t>(impl_->inputs.size()); }
uint32_t GraphExecutor::output_count() const noexcept { return static_cast<uint32_t>(impl_->outputs.size()); }
uint64_t GraphExecutor::memory_bytes() const noexcept { return impl_->memory_bytes + impl_->scratch.size(); }
const etb_graph_spec& GraphExecutor::input_spec(uint32_t index) const noexcept {
  return impl_->values[impl_->inputs[index]].spec;
}
const etb_graph_spec& GraphExecutor::output_spec(uint32_t index) const noexcept {
  return impl_->values[impl_->outputs[index]].spec;
}

Status GraphExecutor::set_input(uint32_t index, std::span<const int64_t> sizes, const void* data,
                                uint64_t nbytes) {
  Impl::Value& value = impl_->values[impl_->inputs[index]];
  const etb_graph_spec& spec = value.spec;
  bool fits = sizes.size() == spec.rank;
  int64_t numel = 1;
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = sizes[i] >= spec.min_sizes[i] && sizes[i] <= spec.sizes[i];
    numel *= sizes[i];
  }
  const uint64_t needed = static_cast<uint64_t>(numel) * element_nbytes(static_cast<Dtype>(spec.dtype));
  if (!fits || nbytes < needed)
    return make_error(Code::INVALID_ARGUMENT,
                      "input " + std::to_string(index) + ": sizes or bytes that the graph does not allow");
  // Sets the data first, because resizing checks the capacity.
  value.tensor.set_data(const_cast<void*>(data), nbytes);
  if (is_widened(spec.dtype, impl_->precision))
    impl_->widen(value, static_cast<const std::byte*>(data), numel);
  if (value.tensor.resize(sizes) != ETB_OK)
    return make_error(Code::INVALID_ARGUMENT, "input " + std::to_string(index) + ": sizes do not fit");
  return {};
}

Status GraphExecutor::run(const StopCheck& check, const NodeHook& after_node) {
  StopCheck left = check;
  std::vector<Tensor*> results;
  for (Impl::Step& step : impl_->steps) {
    ETB_TRY(impl_->run_step(step, left));
    if (!after_node) continue;
    results.clear();
    for (uint32_t i = 0; i < step.output_count; ++i)
      results.push_back(&impl_->values[step.first_output + i].tensor);
    ETB_TRY(after_node(step.op, step.node_id, results));
  }
  return {};
}

const Tensor& GraphExecutor::output(uint32_t index) const noexcept {
  return impl_->values[impl_->outputs[index]].tensor;
}

}  // namespace etb::host
