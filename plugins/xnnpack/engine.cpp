// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/engine.hpp"

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
auto refuse(const T&... parts) {
  std::string text;
  (text.append(parts), ...);
  return make_error(Code::INVALID_ARGUMENT, std::move(text));
}

// Returns the dimension at storage position `i`, outermost first.
uint32_t dim_at(const Tensor& tensor, uint32_t i) {
  return tensor.raw().dim_order != nullptr ? tensor.raw().dim_order[i] : i;
}

// True if elements are stored without gaps in the dim order. Strides of dimensions of size 1 are ignored.
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

// XNNPACK writes 32-bit indices, the method expects 64-bit ones in the same memory. Runs from last to first
// because they overlap.
void widen_indices(void* data, size_t count) {
  const auto* from = static_cast<const int32_t*>(data);
  auto* to = static_cast<int64_t*>(data);
  for (size_t i = count; i-- > 0;) to[i] = from[i];
}

// Packs the weights of `builder` on all threads of the host, as XNNPACK packs one node at a time. The runtime
// created next finds them. Errors are ignored: creating the runtime reports them again, with the node's name.
void pack_ahead(SubgraphBuilder& builder, const Ingredients& ingredients) {
  // Packing this much takes a millisecond or two. Below it, page faults dominate and two threads wait for the
  // same huge page.
  constexpr uint64_t kLeastNbytes = 4 << 20;
  constexpr uint32_t kGroupsAWorker = 4;  // limits the wait for the last group
  const etb_parallel_service* const parallel = ingredients.parallel;
  const uint32_t workers = parallel != nullptr ? parallel->max_workers(parallel->ctx) : 1;
  if (workers <= 1 || ingredients.weights.is_loaded()) return;
  const std::vector<SubgraphBuilder::Packer> packers = builder.packers();
  uint64_t total = 0;
  for (const auto& packer : packers) total += packer.nbytes;
  if (packers.size() < 2 || total < kLeastNbytes) return;

  struct Groups {
    std::vector<Subgraph> subgraphs;
    PackedWeights& weights;
  } groups{{}, ingredients.weights};
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
      return make_error(Code::NOT_SUPPORTED,
                        "node " + std::to_string(i) + " (" + to_text(node.op) +
                            "): other sizes than the declared ones, which this XNNPACK cannot change");
  }
#endif
  return {};
}

}  // namespace

Result<Ports> Ports::make(const XnnPayload& payload) {
  Ports made;
  const auto add = [&](const std::vector<uint32_t>& ids, std::vector<Port>& ports) -> Status {
    for (const uint32_t id : ids) {
      const XnnValue& value = payload.value(id);
      const etb_dtype dtype = dtype_of_value(value);
      if (dtype < 0)
        return make_error(Code::NOT_SUPPORTED, "value " + std::to_string(id) + ": datatype " +
                                                   std::to_string(static_cast<int>(value.datatype)) +
                                                   " cannot cross the delegate's border");
      ports.push_back({*value.external_id, dtype, xnnpack_shape(value)});
    }
    return {};
  };
  ETB_TRY(add(payload.input_ids, made.inputs));
  ETB_TRY(add(payload.output_ids, made.outputs));
  return made;
}

void Ports::take(const XnnPayload& payload, const std::vector<XnnShape>& shapes) {
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].shape = shapes[payload.input_ids[i]];
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].shape = shapes[payload.output_ids[i]];
}

bool Ports::is_empty() const {
  return std::all_of(outputs.begin(), outputs.end(), [](const Port& port) { return port.shape.is_empty(); });
}

Result<std::unique_ptr<Engine>> Engine::make(const Ingredients& ingredients, std::shared_ptr<Arena> arena,
                                             uint32_t flags) {
  PackedWeights& weights = ingredients.weights;
  auto made = try_make(ingredients, arena, flags, true);
  // XNNPACK may choose one kernel for a node alone and another for the whole graph. Retries without packing
  // ahead.
  if (!made && weights.is_missing_released()) made = try_make(ingredients, std::move(arena), flags, false);
  weights.forget_names();
  return made;
}

Result<std::unique_ptr<Engine>> Engine::try_make(const Ingredients& ingredients, std::shared_ptr<Arena> arena,
                                                 uint32_t flags, bool releases) {
  std::unique_ptr<Engine> engine(new Engine(std::move(arena), ingredients));
  ETB_ASSIGN(engine->ports_, Ports::make(ingredients.payload));
  for (const auto* ports : {&engine->ports_.inputs, &engine->ports_.outputs})
    for (const Port& port : *ports) engine->externals_.push_back({port.external_id, nullptr});
  engine->wanted_.resize(engine->ports_.inputs.size());
  PackedWeights& weights = ingredients.weights;
  Constants& constants = engine->constants_;
  weights.forget_names();
  if (releases)
    weights.release_when_packed([&constants](const void* address) { constants.release(address); });
  SubgraphBuilder builder(ingredients.payload, ingredients.named_data, constants, weights);
  ETB_ASSIGN(const Subgraph subgraph, builder.build());
  pack_ahead(builder, ingredients);
  engine->crew_ = Crew::make(ingredients.parallel);
  xnn_runtime_t runtime = nullptr;
  {
    const std::lock_guard lock(engine->arena_->users);
    ETB_TRY(from_xnn(xnn_create_runtime_v4(
                         subgraph.get(), weights.provider(), engine->arena_->workspace.get(),
                         engine->crew_ ? engine->crew_->pool() : ingredients.own_threads, flags, &runtime),
                     "runtime"));
    engine->runtime_.reset(runtime);
  }
  constants.release_all();
  if ((flags & XNN_FLAG_BASIC_PROFILING) == 0) return engine;
  ETB_ASSIGN(engine->events_, OperatorEvents::make(runtime, ingredients.payload));
  return engine;
}

Engine::~Engine() {
  const std::lock_guard lock(arena_->users);
  runtime_.reset();
}

Status Engine::run(const Run& run) {
  if (run.input_count() != ports_.inputs.size() || run.output_count() != ports_.outputs.size()) {
    return refuse(std::to_string(run.input_count()), " inputs and ", std::to_string(run.output_count()),
                  " outputs, expected ", std::to_string(ports_.inputs.size()), " and ",
                  std::to_string(ports_.outputs.size()));
  }
  // Checks all arguments before any call of XNNPACK and any allocation.
  ETB_ASSIGN(const bool changed, read_input_shapes(run));
  if (changed) ETB_TRY(infer_shapes());
  ETB_TRY(resize_outputs(run));
  if (!is_planned_) {
    if (ports_.is_empty()) return {};  // no operator to run or plan
    ETB_TRY(plan());
  }
  ETB_TRY(set_up(run));
  ETB_TRY(invoke(run));
  for (uint32_t i = 0; i < ports_.outputs.size(); ++i) {
    const OutputTensor output = run.output(i);
    if (output.dtype() == ETB_DTYPE_INT64)
      widen_indices(output.raw().data, static_cast<size_t>(output.numel()));
  }
  return {};
}

Status Engine::invoke(const Run& run) {
  const uint64_t begin_ns = run.raw().events != nullptr ? run.host().now_ns() : 0;
  ETB_TRY(from_xnn(crew_ ? crew_->invoke(runtime_.get()) : xnn_invoke_runtime(runtime_.get()), "run"));
  return run.raw().events != nullptr ? events_->put(run, runtime_.get(), begin_ns) : Status{};
}

// Returns true if shapes differ from the last run.
Result<bool> Engine::read_input_shapes(const Run& run) {
  bool changed = false;
  for (uint32_t i = 0; i < ports_.inputs.size(); ++i) {
    const Tensor input = run.input(i);
    const Port& port = ports_.inputs[i];
    if (input.dtype() != port.dtype) {
      return refuse("input ", std::to_string(i), ": ", dtype_text(input.dtype()), ", expected ",
                    dtype_text(port.dtype));
    }
    // The official exporter declares a number as one element.
    const bool is_number = input.rank() == 0 && port.shape.rank == 1;
    if (input.rank() != port.shape.rank && !is_number)
      return refuse("input ", std::to_string(i), ": rank ", std::to_string(input.rank()), ", expected ",
                    std::to_string(port.shape.rank));
    if (!is_dense(input))
      return refuse("input ", std::to_string(i), ": strides, expected those of the dim order");
    // XNNPACK sees a channels-last tensor as one of sizes [N, H, W, C].
    XnnShape& wanted = wanted_[i];
    wanted = {input.rank(), {}};
    for (uint32_t d = 0; d < input.rank(); ++d)
      wanted.sizes[d] = static_cast<uint64_t>(input.sizes()[dim_at(input, d)]);
    changed |= wanted != port.shape;
  }
  return changed;
}

// Reads the payload again: a stored copy would be most of the memory of a delegate without weights.
Status Engine::infer_shapes() {
  ETB_ASSIGN(const XnnPayload payload, read_xnnpack_payload(payload_bytes_));
  ETB_ASSIGN(const auto shapes, infer_xnnpack_shapes(payload, wanted_));
  ETB_TRY(check_changes(payload, shapes));
  ports_.take(payload, shapes);
  is_planned_ = false;
  return {};
}

// Plans the runtime for the sizes of `ports_`.
Status Engine::plan() {
  weights_.trim_memory();  // programs run after all their delegates are loaded
  for (uint32_t i = 0; i < ports_.inputs.size(); ++i) {
    const XnnShape& shape = ports_.inputs[i].shape;
    const std::vector<size_t> sizes(shape.sizes.begin(), shape.sizes.begin() + shape.rank);
    ETB_TRY(from_xnn(xnn_reshape_external_value(runtime_.get(), externals_[i].id, sizes.size(), sizes.data()),
                     "input " + std::to_string(i)));
  }
  {
    const std::lock_guard lock(arena_->users);  // XNNPACK may move the memory of all runtimes in the arena
    ETB_TRY(from_xnn(xnn_reshape_runtime(runtime_.get()), "input sizes"));
  }
  is_set_up_ = false;
  for (uint32_t i = 0; i < ports_.outputs.size(); ++i) {
    size_t rank = 0, sizes[XNN_MAX_TENSOR_DIMS] = {};
    ETB_TRY(from_xnn(
        xnn_get_external_value_shape(runtime_.get(), externals_[ports_.inputs.size() + i].id, &rank, sizes),
        "sizes of output " + std::to_string(i)));
    const auto expected = ports_.outputs[i].shape.span();
    if (!std::equal(sizes, sizes + rank, expected.begin(), expected.end()))
      return make_error(Code::INTERNAL, "output " + std::to_string(i) + ": XNNPACK gives it other sizes");
  }
  is_planned_ = true;
  return {};
}

Status Engine::resize_outputs(const Run& run) const {
  for (uint32_t i = 0; i < ports_.outputs.size(); ++i) {
    const Port& port = ports_.outputs[i];
    OutputTensor output = run.output(i);
    const bool is_index = output.dtype() == ETB_DTYPE_INT64 && port.dtype == ETB_DTYPE_INT32;
    if (output.dtype() != port.dtype && !is_index) {
      return refuse("output ", std::to_string(i), ": ", dtype_text(output.dtype()), ", expected ",
                    dtype_text(port.dtype));
    }
    if (output.rank() != port.shape.rank)
      return refuse("output ", std::to_string(i), ": rank ", std::to_string(output.rank()), ", expected ",
                    std::to_string(port.shape.rank));
    int64_t wide[XNN_MAX_TENSOR_DIMS] = {};
    for (uint32_t d = 0; d < output.rank(); ++d)
      wide[dim_at(output, d)] = static_cast<int64_t>(port.shape.sizes[d]);
    ETB_TRY(output.resize({wide, port.shape.rank}));
    const uint64_t nbytes = static_cast<uint64_t>(output.numel()) * (dtype_bits(output.dtype()) / 8);
    if (output.raw().capacity_bytes < nbytes)
      return refuse("output ", std::to_string(i), ": room for ", std::to_string(output.raw().capacity_bytes),
                    " bytes, expected ", std::to_string(nbytes));
    if (!is_dense(output))
      return refuse("output ", std::to_string(i), ": strides, expected those of the dim order");
  }
  return {};
}

Status Engine::set_up(const Run& run) {
  const auto place = [&](size_t slot, void* data) {
    is_set_up_ &= externals_[slot].data == data;
    externals_[slot].data = data;
  };
  for (uint32_t i = 0; i < ports_.inputs.size(); ++i) place(i, run.input(i).raw().data);
  for (uint32_t i = 0; i < ports_.outputs.size(); ++i)
    place(ports_.inputs.size() + i, run.output(i).raw().data);
  if (is_set_up_) return {};
  ETB_TRY(from_xnn(xnn_setup_runtime_v2(runtime_.get(), externals_.size(), externals_.data()), "set-up"));
  is_set_up_ = true;
  return {};
}

}  // namespace etb::xnnpack
