#include "plugins/xnnpack/delegate.hpp"

#include <algorithm>
#include <array>

#include "api/format/digest.hpp"
#include "plugins/xnnpack/plugin.hpp"

namespace etb::xnnpack {

using format::XnnDatatype;
using format::XnnValue;

namespace {

// The element type of an external tensor, -1 for one that cannot be external.
etb_dtype dtype_of_value(const XnnValue& value) {
  switch (value.datatype) {
    case XnnDatatype::kFloat32:
      return ETB_DTYPE_FLOAT32;
    case XnnDatatype::kFloat16:
      return ETB_DTYPE_FLOAT16;
    case XnnDatatype::kBfloat16:
      return ETB_DTYPE_BFLOAT16;
    case XnnDatatype::kQint8:
      return ETB_DTYPE_INT8;
    case XnnDatatype::kQuint8:
      return ETB_DTYPE_UINT8;
    case XnnDatatype::kInt32:
    case XnnDatatype::kQint32:
      return ETB_DTYPE_INT32;
    default:
      return -1;
  }
}

template <class... T>
auto refuse(const T&... parts) {
  std::string text;
  (text.append(parts), ...);
  return make_error(Code::INVALID_ARGUMENT, std::move(text));
}

std::string digest_of(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : format::sha256({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()})) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Whether a run is over before another thread would have woken up: by multiplications, or elements where there are none.
bool is_small(const format::XnnPayload& payload) {
  constexpr double kLeast = 300000;  // some 10 microseconds
  double work = 0;
  for (const format::XnnNode& node : payload.nodes) {
    double each = 1;
    for (const uint32_t size : payload.value(node.outputs[0]).sizes) each *= size;
    const bool has_filter =
        node.op == format::XnnOperator::kFullyConnected || node.op == format::XnnOperator::kConv2d ||
        node.op == format::XnnOperator::kDepthwiseConv2d || node.op == format::XnnOperator::kConvTranspose2d;
    if (has_filter || node.op == format::XnnOperator::kBatchMatrixMultiply) {
      const auto& filter = payload.value(node.inputs[1]).sizes;
      for (size_t d = has_filter ? 1 : filter.size() - 1; d < filter.size(); ++d) each *= filter[d];
    }
    work += each;
  }
  return work < kLeast;
}

// Dimension `i` of a tensor as its elements lie, outermost first.
uint32_t dim_at(const Tensor& tensor, uint32_t i) {
  return tensor.raw().dim_order != nullptr ? tensor.raw().dim_order[i] : i;
}

// Whether elements lie without gaps in the dim order. Strides of dimensions of size 1 do not matter.
bool is_dense(const Tensor& tensor) {
  const etb_tensor& raw = tensor.raw();
  if (raw.strides == nullptr) return true;
  int64_t expected = 1;
  for (uint32_t i = tensor.rank(); i-- > 0;) {
    const uint32_t dim = dim_at(tensor, i);
    if (raw.sizes[dim] != 1 && raw.strides[dim] != expected) return false;
    expected *= raw.sizes[dim];
  }
  return true;
}

// XNNPACK writes 32-bit indices; the method wants 64-bit ones in the same memory. From the last to the first, because they overlap.
void widen_indices(void* data, size_t count) {
  const auto* from = static_cast<const int32_t*>(data);
  auto* to = static_cast<int64_t*>(data);
  for (size_t i = count; i-- > 0;) to[i] = from[i];
}

}  // namespace

Result<XnnpackDelegate> XnnpackDelegate::make(const XnnpackPlugin& plugin, CreateArgs& args) {
  XnnpackDelegate delegate;
  delegate.parts_ = std::make_unique<Parts>();
  Parts& parts = *delegate.parts_;
  parts.bytes = std::move(args.payload);
  parts.plugin = &plugin;
  ETB_ASSIGN(parts.payload, format::read_xnnpack_payload(parts.bytes.bytes()));
  parts.is_small = is_small(parts.payload);
  for (const auto* ids : {&parts.payload.input_ids, &parts.payload.output_ids}) {
    for (const uint32_t id : *ids) {
      if (dtype_of_value(parts.payload.value(id)) < 0) {
        return make_error(Code::NOT_SUPPORTED,
                          "value " + std::to_string(id) + ": datatype " +
                              std::to_string(static_cast<int>(parts.payload.value(id).datatype)) +
                              " cannot cross the delegate's border");
      }
    }
  }
  const bool shares = args.options.get_bool("weight_cache_enabled");
  parts.weights = std::make_unique<PackedWeights>(shares ? &plugin.shared().packed : nullptr);
  ETB_ASSIGN(parts.arena, plugin.shared().find_arena(args.options.get_text("workspace_sharing_mode")));
  const std::string folder(args.options.get_text("packed_cache_path"));
  std::string digest;
  if (!folder.empty()) {
    digest = digest_of(parts.bytes.bytes());
    parts.weights->load(folder, digest);
  }
  ETB_ASSIGN(parts.subgraph, make_subgraph(parts.payload, args.named_data, parts.constants, *parts.weights));
  ETB_ASSIGN(parts.first, make_engine(parts, 0));
  if (parts.weights->has_all()) parts.constants.release_named();
  if (!folder.empty()) {
    const auto limit = static_cast<uint64_t>(args.options.get_i64("packed_cache_max_bytes"));
    (void)parts.weights->save(folder, digest,
                              limit);  // a folder that cannot be written costs time, not the run
  }
  return delegate;
}

Result<XnnpackDelegate::Engine> XnnpackDelegate::make_engine(Parts& parts, uint32_t flags) {
  Engine engine;
  pthreadpool_t threads = nullptr;
  if (!parts.is_small) {
    engine.crew = Crew::make(parts.plugin->parallel());
    threads = engine.crew ? engine.crew->pool() : parts.plugin->own_threads();
  }
  Workspace own;
  if (!parts.arena) {
    xnn_workspace_t made = nullptr;
    ETB_TRY(from_xnn(xnn_create_workspace(&made), "workspace"));
    own.reset(made);  // the runtime holds a reference of its own
  }
  xnn_runtime_t runtime = nullptr;
  const Arena::Lock lock(parts.arena);
  ETB_TRY(from_xnn(
      xnn_create_runtime_v4(parts.subgraph.get(), parts.weights->provider(),
                            parts.arena ? parts.arena->workspace.get() : own.get(), threads, flags, &runtime),
      "runtime"));
  engine.runtime.reset(runtime);
  return engine;
}

DelegateInfo XnnpackDelegate::info() const {
  DelegateInfo info;
  info.input_count = static_cast<uint32_t>(parts_->payload.input_ids.size());
  info.output_count = static_cast<uint32_t>(parts_->payload.output_ids.size());
  info.resident_bytes = parts_->weights->nbytes();
  return info;
}

void XnnpackDelegate::describe_io(etb_io_req& req) const {
  req.alignment = 4;
  req.padding_bytes = XNN_EXTRA_BYTES;
}

// Makes the engine, or takes the one that is there. Sizes are those of the payload afterwards.
Status XnnpackContext::prepare(uint32_t flags) {
  {
    const Arena::Lock lock(parts_.arena);
    engine_.runtime.reset();
  }
  {
    const std::lock_guard lock(parts_.mutex);
    if (flags == 0) engine_ = std::move(parts_.first);
    if (flags != 0 || !engine_.runtime) {
      ETB_ASSIGN(engine_, XnnpackDelegate::make_engine(parts_, flags));
    }
  }
  inputs_.clear();
  outputs_.clear();
  externals_.clear();
  const auto add = [&](const std::vector<uint32_t>& ids, std::vector<Slot>& slots) {
    for (const uint32_t id : ids) {
      const XnnValue& value = parts_.payload.value(id);
      slots.push_back({{value.sizes.begin(), value.sizes.end()}, dtype_of_value(value), 0});
      externals_.push_back({*value.external_id, nullptr});
    }
  };
  add(parts_.payload.input_ids, inputs_);
  add(parts_.payload.output_ids, outputs_);
  is_reshaped_ = true;
  const Arena::Lock lock(parts_.arena);
  ETB_TRY(from_xnn(xnn_reshape_runtime(engine_.runtime.get()), "sizes of the payload"));
  if ((flags & XNN_FLAG_BASIC_PROFILING) == 0) return {};
  ETB_ASSIGN(events_, OperatorEvents::make(engine_.runtime.get(), parts_.payload));
  return {};
}

XnnpackDelegate::Parts::~Parts() {
  const Arena::Lock lock(arena);
  first.runtime.reset();
}

XnnpackContext::~XnnpackContext() {
  const Arena::Lock lock(parts_.arena);
  engine_.runtime.reset();
}

Status XnnpackContext::execute(const Run& run) {
  if (!engine_.runtime) ETB_TRY(prepare(0));
  if (run.raw().events != nullptr && !events_) ETB_TRY(prepare(XNN_FLAG_BASIC_PROFILING));
  const Arena::Lock lock(parts_.arena);
  if (run.input_count() != inputs_.size() || run.output_count() != outputs_.size()) {
    return refuse(std::to_string(run.input_count()), " inputs and ", std::to_string(run.output_count()),
                  " outputs, expected ", std::to_string(inputs_.size()), " and ",
                  std::to_string(outputs_.size()));
  }
  ETB_TRY(reshape_inputs(run));
  ETB_TRY(resize_outputs(run));
  ETB_TRY(set_up(run));
  ETB_TRY(invoke(run));
  for (uint32_t i = 0; i < outputs_.size(); ++i) {
    const OutputTensor output = run.output(i);
    if (output.dtype() == ETB_DTYPE_INT64)
      widen_indices(output.raw().data, static_cast<size_t>(output.numel()));
  }
  return {};
}

Status XnnpackContext::invoke(const Run& run) {
  const uint64_t begin_ns = run.raw().events != nullptr ? run.host().now_ns() : 0;
  ETB_TRY(from_xnn(
      engine_.crew ? engine_.crew->invoke(engine_.runtime.get()) : xnn_invoke_runtime(engine_.runtime.get()),
      "run"));
  return run.raw().events != nullptr ? events_->put(run, engine_.runtime.get(), begin_ns) : Status{};
}

Status XnnpackContext::reshape_inputs(const Run& run) {
  bool changed = false;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    const Tensor input = run.input(i);
    Slot& slot = inputs_[i];
    if (input.dtype() != slot.dtype) {
      return refuse("input ", std::to_string(i), ": ", dtype_text(input.dtype()), ", expected ",
                    dtype_text(slot.dtype));
    }
    if (input.rank() > XNN_MAX_TENSOR_DIMS)
      return refuse("input ", std::to_string(i), ": rank ", std::to_string(input.rank()));
    if (!is_dense(input))
      return refuse("input ", std::to_string(i), ": strides, expected those of the dim order");
    // A tensor in channels last is to XNNPACK one of sizes [N, H, W, C].
    std::array<size_t, XNN_MAX_TENSOR_DIMS> lying;
    for (uint32_t d = 0; d < input.rank(); ++d)
      lying[d] = static_cast<size_t>(input.sizes()[dim_at(input, d)]);
    const std::span<const size_t> sizes(lying.data(), input.rank());
    if (std::equal(sizes.begin(), sizes.end(), slot.sizes.begin(), slot.sizes.end())) continue;
    slot.sizes.assign(sizes.begin(), sizes.end());
    changed = true;
    ETB_TRY(from_xnn(xnn_reshape_external_value(engine_.runtime.get(), externals_[i].id, slot.sizes.size(),
                                                slot.sizes.data()),
                     "input " + std::to_string(i)));
  }
  if (!changed) return {};
  is_reshaped_ = true;
  // A failure leaves XNNPACK half reshaped: the sizes are forgotten, so that the next run starts over.
  const Status status = from_xnn(xnn_reshape_runtime(engine_.runtime.get()), "input sizes");
  if (!status) {
    for (Slot& slot : inputs_) slot.sizes.clear();
  }
  return status;
}

Status XnnpackContext::resize_outputs(const Run& run) {
  for (uint32_t i = 0; i < outputs_.size(); ++i) {
    Slot& slot = outputs_[i];
    OutputTensor output = run.output(i);
    const bool is_index = output.dtype() == ETB_DTYPE_INT64 && slot.dtype == ETB_DTYPE_INT32;
    if (output.dtype() != slot.dtype && !is_index) {
      return refuse("output ", std::to_string(i), ": ", dtype_text(output.dtype()), ", expected ",
                    dtype_text(slot.dtype));
    }
    if (is_reshaped_) {
      size_t rank = 0, sizes[XNN_MAX_TENSOR_DIMS] = {};
      ETB_TRY(from_xnn(xnn_get_external_value_shape(engine_.runtime.get(), externals_[inputs_.size() + i].id,
                                                    &rank, sizes),
                       "sizes of output " + std::to_string(i)));
      slot.sizes.assign(sizes, sizes + rank);
    }
    if (output.rank() != slot.sizes.size())
      return refuse("output ", std::to_string(i), ": rank ", std::to_string(output.rank()), ", expected ",
                    std::to_string(slot.sizes.size()));
    int64_t wide[XNN_MAX_TENSOR_DIMS] = {};
    for (uint32_t d = 0; d < output.rank(); ++d)
      wide[dim_at(output, d)] = static_cast<int64_t>(slot.sizes[d]);
    ETB_TRY(output.resize({wide, slot.sizes.size()}));
    const uint64_t nbytes = static_cast<uint64_t>(output.numel()) * (dtype_bits(output.dtype()) / 8);
    if (output.raw().capacity_bytes < nbytes)
      return refuse("output ", std::to_string(i), ": room for ", std::to_string(output.raw().capacity_bytes),
                    " bytes, expected ", std::to_string(nbytes));
    if (!is_dense(output))
      return refuse("output ", std::to_string(i), ": strides, expected those of the dim order");
  }
  return {};
}

Status XnnpackContext::set_up(const Run& run) {
  bool moved = is_reshaped_;
  const auto place = [&](size_t slot, void* data) {
    moved |= externals_[slot].data != data;
    externals_[slot].data = data;
  };
  for (uint32_t i = 0; i < inputs_.size(); ++i) place(i, run.input(i).raw().data);
  for (uint32_t i = 0; i < outputs_.size(); ++i) place(inputs_.size() + i, run.output(i).raw().data);
  if (!moved) return {};
  ETB_TRY(
      from_xnn(xnn_setup_runtime_v2(engine_.runtime.get(), externals_.size(), externals_.data()), "set-up"));
  is_reshaped_ = false;
  return {};
}

}  // namespace etb::xnnpack
