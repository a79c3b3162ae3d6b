// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/xnn_runtime.hpp"

#include <algorithm>

namespace etb::xnnpack {

namespace {

// Returns the dtype of an external tensor, or -1 for a datatype that cannot be external.
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
auto invalid_argument(const T&... parts) {
  std::string text;
  (text.append(parts), ...);
  return make_error(Code::INVALID_ARGUMENT, std::move(text));
}

constexpr const char* kWrongOrder = ": dim order, expected row-major or channels last";

// Returns the dimension at storage position `i`, outermost first.
uint32_t dim_at(const Tensor& tensor, uint32_t i) {
  return tensor.raw().dim_order != nullptr ? tensor.raw().dim_order[i] : i;
}

// True if the dimensions are in row-major order or channels last, the layouts of the op table. Those of size 1 are
// ignored.
bool has_known_order(const Tensor& tensor) {
  const uint32_t rank = tensor.rank();
  bool is_channels_last = rank > 2 && dim_at(tensor, 0) == 0 && dim_at(tensor, rank - 1) == 1;
  for (uint32_t i = 1; i + 1 < rank; ++i) is_channels_last &= dim_at(tensor, i) == i + 1;
  if (is_channels_last) return true;
  uint32_t last = 0;
  for (uint32_t i = 0; i < rank; ++i) {
    const uint32_t dim = dim_at(tensor, i);
    if (tensor.sizes()[dim] == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// True if elements are stored without gaps in the dim order. Strides of dimensions of size 1 are ignored.
bool is_dense(const Tensor& tensor) {
  const etb_tensor& raw = tensor.raw();
  if (raw.strides == nullptr || tensor.numel() == 0) return true;
  int64_t expected = 1;
  for (uint32_t i = tensor.rank(); i-- > 0;) {
    const uint32_t dim = dim_at(tensor, i);
    if (raw.sizes[dim] != 1 && raw.strides[dim] != expected) return false;
    expected *= raw.sizes[dim];
  }
  return true;
}

// XNNPACK writes 32-bit indices, the method expects 64-bit ones in the same memory. Runs from last to first
// because they overlap.
void widen_indices(void* data, size_t count) {
  const auto* from = static_cast<const int32_t*>(data);
  auto* to = static_cast<int64_t*>(data);
  for (size_t i = count; i-- > 0;) to[i] = from[i];
}

// True if a mean sums in another type than float32 has. XNNPACK does not enlarge the memory of those sums when
// sizes grow, so the first plan is one for the largest sizes.
bool has_means_with_scratch(const XnnPayload& payload) {
  return std::any_of(payload.nodes.begin(), payload.nodes.end(), [&](const XnnNode& node) {
    return node.op == XnnOperator::kGlobalAveragePooling2d &&
           payload.value(node.inputs[0]).datatype != XnnDatatype::kFloat32;
  });
}

// Packs the weights of `builder` on all threads of the host, as XNNPACK packs one node at a time. The runtime
// created next finds them. Errors are ignored: creating the runtime reports them again, with the node's name.
void pack_ahead(SubgraphBuilder& builder, const RuntimeArgs& args) {
  // Packing this much takes a millisecond or two. Below it, page faults dominate and two threads wait for the
  // same huge page.
  constexpr uint64_t kLeastNbytes = 4 << 20;
  constexpr uint32_t kGroupsAWorker = 4;  // limits the wait for the last group
  const etb_parallel_service* const parallel = args.parallel;
  const uint32_t workers = parallel != nullptr ? parallel->max_workers(parallel->ctx) : 1;
  if (workers <= 1 || args.weights.is_loaded()) return;
  const std::vector<SubgraphBuilder::Packer> packers = builder.packers();
  uint64_t total = 0;
  for (const auto& packer : packers) total += packer.nbytes;
  if (packers.size() < 2 || total < kLeastNbytes) return;

  struct Groups {
    std::vector<SubgraphHandle> subgraphs;
    PackedWeights& weights;
  } groups{{}, args.weights};
  const uint64_t group_nbytes = total / (uint64_t{workers} * kGroupsAWorker) + 1;
  for (size_t begin = 0, end = 0; begin < packers.size(); begin = end) {
    uint64_t nbytes = 0;
    while (end < packers.size() && nbytes < group_nbytes) nbytes += packers[end++].nbytes;
    auto made = builder.build_packers(std::span(packers).subspan(begin, end - begin));
    if (!made) return;
    groups.subgraphs.push_back(std::move(*made));
  }
  parallel->parallel_for(
      parallel->ctx, groups.subgraphs.size(), 1,
      [](void* raw, uint64_t begin, uint64_t end, uint32_t) {
        auto& given = *static_cast<Groups*>(raw);
        for (uint64_t i = begin; i < end; ++i) {
          xnn_runtime_t runtime = nullptr;
          if (xnn_create_runtime_v3(given.subgraphs[i].get(), given.weights.provider(), nullptr, 0,
                                    &runtime) == xnn_status_success)
            xnn_delete_runtime(runtime);
        }
      },
      &groups);
}

// Rejects size changes for which XNNPACK accesses memory out of bounds. It sizes the padding of dynamically
// quantised images by the next run's number of images. An argmax pooling keeps its output sizes. The release
// built by tools/xnnpack is patched.
Status check_changes([[maybe_unused]] const XnnPayload& payload,
                     [[maybe_unused]] const std::vector<XnnShape>& shapes) {
#ifndef ETB_XNNPACK_SIZES_MAY_CHANGE
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const XnnNode& node = payload.nodes[i];
    const XnnValue& input = payload.value(node.inputs[0]);
    const XnnShape declared = xnnpack_shape(input);
    const bool is_convolution = node.op == XnnOperator::kConv2d || node.op == XnnOperator::kConvTranspose2d;
    const bool keeps_batch = is_convolution && input.datatype == XnnDatatype::kQdint8 &&
                             shapes[input.id].sizes[0] != declared.sizes[0];
    if (keeps_batch || (node.op == XnnOperator::kArgMaxPooling2d && shapes[input.id] != declared))
      return invalid_argument("node ", std::to_string(i), " (", to_text(node.op),
                              "): other sizes than the declared ones, which this XNNPACK cannot change");
  }
#endif
  return {};
}

}  // namespace

Result<ExternalValues> ExternalValues::make(const XnnPayload& payload) {
  ExternalValues made;
  const auto add = [&](const std::vector<uint32_t>& ids, std::vector<ExternalValue>& out) -> Status {
    for (const uint32_t id : ids) {
      const XnnValue& value = payload.value(id);
      const etb_dtype dtype = dtype_of_value(value);
      if (dtype < 0)
        return make_error(Code::INCOMPATIBLE, "value " + std::to_string(id) + ": datatype " +
                                                  std::to_string(static_cast<int>(value.datatype)) +
                                                  " cannot cross the delegate's border");
      out.push_back({*value.external_id, dtype, xnnpack_shape(value)});
    }
    return {};
  };
  ETB_TRY(add(payload.input_ids, made.inputs));
  ETB_TRY(add(payload.output_ids, made.outputs));
  made.input_argument_count = payload.input_argument_count();
  return made;
}

void ExternalValues::set_shapes(const XnnPayload& payload, const std::vector<XnnShape>& shapes) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].shape = shapes[payload.input_ids[i]];
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = shapes[payload.output_ids[i]];
}

bool ExternalValues::is_empty() const {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const ExternalValue& external) { return external.shape.is_empty(); });
}

Result<std::unique_ptr<XnnRuntime>> XnnRuntime::make(const RuntimeArgs& args,
                                                     std::shared_ptr<Workspace> workspace, uint32_t flags) {
  PackedWeights& weights = args.weights;
  auto made = try_make(args, workspace, flags, true);
  // XNNPACK may choose one kernel for a node alone and another for the whole graph. Retries without packing
  // ahead.
  if (!made && weights.is_missing_released()) made = try_make(args, std::move(workspace), flags, false);
  weights.forget_names();
  args.constants.release_all();
  return made;
}

Result<std::unique_ptr<XnnRuntime>> XnnRuntime::try_make(const RuntimeArgs& args,
                                                         std::shared_ptr<Workspace> workspace, uint32_t flags,
                                                         bool releases) {
  std::unique_ptr<XnnRuntime> made(new XnnRuntime(std::move(workspace), args));
  ETB_ASSIGN(made->external_values_, ExternalValues::make(args.payload));
  for (const auto* values : {&made->external_values_.inputs, &made->external_values_.outputs})
    for (const ExternalValue& external : *values)
      made->xnn_externals_.push_back({external.external_id, nullptr});
  made->wanted_.resize(made->external_values_.inputs.size());
  if (has_means_with_scratch(args.payload))
    for (const ExternalValue& external : made->external_values_.inputs)
      made->bounds_.push_back(external.shape);
  PackedWeights& weights = args.weights;
  Constants& constants = args.constants;
  weights.forget_names();
  if (releases)
    weights.release_when_packed([&constants](const void* address) { constants.release(address); });
  SubgraphBuilder builder(args.payload, args.named_data, constants, weights);
  ETB_ASSIGN(const SubgraphHandle subgraph, builder.build());
  pack_ahead(builder, args);
  made->thread_pool_ = ThreadPoolAdapter::make(args.parallel);
  xnn_runtime_t handle = nullptr;
  {
    const std::lock_guard lock(made->workspace_->users);
    ETB_TRY(from_xnn(xnn_create_runtime_v4(subgraph.get(), weights.provider(), made->workspace_->handle.get(),
                                           made->thread_pool_ ? made->thread_pool_->pool() : args.own_threads,
                                           flags, &handle),
                     "runtime"));
    made->runtime_.reset(handle);
  }
  if ((flags & XNN_FLAG_BASIC_PROFILING) == 0) return made;
  ETB_ASSIGN(made->events_, OperatorEvents::make(handle, args.payload));
  return made;
}

XnnRuntime::~XnnRuntime() {
  const std::lock_guard lock(workspace_->users);
  runtime_.reset();
}

Status XnnRuntime::run(const Run& run) {
  if (run.input_count() != external_values_.input_argument_count ||
      run.output_count() != external_values_.outputs.size()) {
    return invalid_argument(std::to_string(run.input_count()), " inputs and ",
                            std::to_string(run.output_count()), " outputs, expected ",
                            std::to_string(external_values_.input_argument_count), " and ",
                            std::to_string(external_values_.outputs.size()));
  }
  // Checks all arguments before any call of XNNPACK and any allocation.
  ETB_ASSIGN(const bool changed, read_input_shapes(run));
  if (changed) ETB_TRY(infer_shapes());
  ETB_TRY(resize_outputs(run));
  if (!is_planned_) {
    if (external_values_.is_empty()) return {};  // no operator to run or plan
    ETB_TRY(plan());
  }
  ETB_TRY(set_up(run));
  const uint64_t begin_ns = run.raw().events != nullptr ? run.host().now_ns() : 0;
  ETB_TRY(from_xnn(thread_pool_ ? thread_pool_->invoke(runtime_.get()) : xnn_invoke_runtime(runtime_.get()),
                   "run"));
  if (run.raw().events != nullptr) ETB_TRY(events_->put(run, runtime_.get(), begin_ns));
  for (uint32_t i = 0; i < external_values_.outputs.size(); ++i) {
    const OutputTensor output = run.output(i);
    if (output.dtype() == ETB_DTYPE_INT64)
      widen_indices(output.raw().data, static_cast<size_t>(output.numel()));
  }
  return {};
}

// Returns true if shapes differ from the last run.
Result<bool> XnnRuntime::read_input_shapes(const Run& run) {
  bool changed = false;
  for (uint32_t i = 0; i < external_values_.inputs.size(); ++i) {
    const ExternalValue& external = external_values_.inputs[i];
    const Tensor input = run.input(external.external_id);
    if (input.dtype() != external.dtype) {
      return invalid_argument("input ", std::to_string(i), ": ", dtype_text(input.dtype()), ", expected ",
                              dtype_text(external.dtype));
    }
    // The official exporter declares a number as one element.
    const bool is_number = input.rank() == 0 && external.shape.rank == 1;
    if (input.rank() != external.shape.rank && !is_number)
      return invalid_argument("input ", std::to_string(i), ": rank ", std::to_string(input.rank()),
                              ", expected ", std::to_string(external.shape.rank));
    if (!is_dense(input))
      return invalid_argument("input ", std::to_string(i), ": strides, expected those of the dim order");
    if (!has_known_order(input)) return invalid_argument("input ", std::to_string(i), kWrongOrder);
    // XNNPACK sees a channels-last tensor as one of sizes [N, H, W, C].
    XnnShape& wanted = wanted_[i];
    wanted = {input.rank(), {}};
    for (uint32_t d = 0; d < input.rank(); ++d)
      wanted.sizes[d] = static_cast<uint64_t>(input.sizes()[dim_at(input, d)]);
    changed |= wanted != external.shape;
  }
  return changed;
}

// Reads the payload again: a stored copy would be most of the memory of a delegate without weights.
Status XnnRuntime::infer_shapes() {
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(payload_bytes_));
  const auto inferred = infer_xnnpack_shapes(payload, wanted_);
  // The payload was right for its own sizes.
  if (!inferred && inferred.error().code == Code::INVALID_DATA)
    return invalid_argument("sizes of the inputs: ", inferred.error().message);
  ETB_ASSIGN(const auto shapes, inferred);
  ETB_TRY(check_changes(payload, shapes));
  external_values_.set_shapes(payload, shapes);
  is_planned_ = false;
  return {};
}

Status XnnRuntime::reshape(std::span<const XnnShape> inputs) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const XnnShape& shape = inputs[i];
    const std::vector<size_t> sizes(shape.sizes.begin(), shape.sizes.begin() + shape.rank);
    ETB_TRY(
        from_xnn(xnn_reshape_external_value(runtime_.get(), xnn_externals_[i].id, sizes.size(), sizes.data()),
                 "input " + std::to_string(i)));
  }
  // XNNPACK may move the memory of all runtimes in the workspace.
  const std::lock_guard lock(workspace_->users);
  return from_xnn(xnn_reshape_runtime(runtime_.get()), "input sizes");
}

// Plans the runtime for the sizes of `external_values_`.
Status XnnRuntime::plan() {
  weights_.trim_memory();  // programs run after all their delegates are loaded
  if (!bounds_.empty()) {
    ETB_TRY(reshape(bounds_));
    bounds_.clear();
  }
  std::vector<XnnShape> inputs;
  for (const ExternalValue& external : external_values_.inputs) inputs.push_back(external.shape);
  ETB_TRY(reshape(inputs));
  is_set_up_ = false;
  for (uint32_t i = 0; i < external_values_.outputs.size(); ++i) {
    size_t rank = 0, sizes[XNN_MAX_TENSOR_DIMS] = {};
    ETB_TRY(from_xnn(xnn_get_external_value_shape(
                         runtime_.get(), xnn_externals_[external_values_.inputs.size() + i].id, &rank, sizes),
                     "sizes of output " + std::to_string(i)));
    const auto expected = external_values_.outputs[i].shape.span();
    if (!std::equal(sizes, sizes + rank, expected.begin(), expected.end()))
      return make_error(Code::INTERNAL, "output " + std::to_string(i) + ": XNNPACK gives it other sizes");
  }
  is_planned_ = true;
  return {};
}

Status XnnRuntime::resize_outputs(const Run& run) const {
  for (uint32_t i = 0; i < external_values_.outputs.size(); ++i) {
    const ExternalValue& external = external_values_.outputs[i];
    OutputTensor output = run.output(i);
    const bool is_index = output.dtype() == ETB_DTYPE_INT64 && external.dtype == ETB_DTYPE_INT32;
    if (output.dtype() != external.dtype && !is_index) {
      return invalid_argument("output ", std::to_string(i), ": ", dtype_text(output.dtype()), ", expected ",
                              dtype_text(external.dtype));
    }
    if (output.rank() != external.shape.rank)
      return invalid_argument("output ", std::to_string(i), ": rank ", std::to_string(output.rank()),
                              ", expected ", std::to_string(external.shape.rank));
    int64_t wide[XNN_MAX_TENSOR_DIMS] = {};
    for (uint32_t d = 0; d < output.rank(); ++d)
      wide[dim_at(output, d)] = static_cast<int64_t>(external.shape.sizes[d]);
    ETB_TRY(output.resize({wide, external.shape.rank}));
    const uint64_t nbytes = static_cast<uint64_t>(output.numel()) * (dtype_bits(output.dtype()) / 8);
    if (output.raw().capacity_bytes < nbytes)
      return invalid_argument("output ", std::to_string(i), ": room for ",
                              std::to_string(output.raw().capacity_bytes), " bytes, expected ",
                              std::to_string(nbytes));
    if (!is_dense(output))
      return invalid_argument("output ", std::to_string(i), ": strides, expected those of the dim order");
    if (!has_known_order(output)) return invalid_argument("output ", std::to_string(i), kWrongOrder);
  }
  return {};
}

Status XnnRuntime::set_up(const Run& run) {
  const auto set_data = [&](size_t slot, void* data) {
    is_set_up_ &= xnn_externals_[slot].data == data;
    xnn_externals_[slot].data = data;
  };
  for (uint32_t i = 0; i < external_values_.inputs.size(); ++i)
    set_data(i, run.input(external_values_.inputs[i].external_id).raw().data);
  for (uint32_t i = 0; i < external_values_.outputs.size(); ++i)
    set_data(external_values_.inputs.size() + i, run.output(i).raw().data);
  if (is_set_up_) return {};
  ETB_TRY(
      from_xnn(xnn_setup_runtime_v2(runtime_.get(), xnn_externals_.size(), xnn_externals_.data()), "set-up"));
  is_set_up_ = true;
  return {};
}

}  // namespace etb::xnnpack
