// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/run/context.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <tuple>

#include "etb/cpp/values.hpp"
#include "plugins/gpu/run/host_numbers.hpp"

namespace etb::gpu {

namespace {

// Checks that a tensor is in the host's memory and of a dtype that the value accepts; and row-major, if no element is converted.
Status check_tensor(const Tensor& tensor, const GpuValue& value) {
  if (!accepts(value, tensor.dtype()))
    return make_error(Code::INVALID_ARGUMENT, std::string("dtype ") + dtype_text(tensor.dtype()) +
                                                  ", expected " + dtype_text(expected_dtype(value)));
  const etb_tensor& raw = tensor.raw();
  if (raw.buffer != nullptr)
    return make_error(Code::INVALID_ARGUMENT,
                      std::string("memory of kind '") + raw.buffer->kind + "', expected host memory");
  if (value.host == HostNumbers::kSame && !tensor.is_contiguous())
    return make_error(Code::INVALID_ARGUMENT, "strides or dim order, expected a contiguous tensor");
  if (tensor.nbytes() > raw.capacity_bytes || (raw.data == nullptr && tensor.nbytes() > 0))
    return make_error(Code::INVALID_ARGUMENT, "capacity of " + std::to_string(raw.capacity_bytes) +
                                                  " bytes, expected " + std::to_string(tensor.nbytes()));
  return check_strides(tensor);
}

// Checks a tensor that is passed for a size.
Status check_integer(const Tensor& tensor, const GpuValue& value) {
  if (tensor.sizes().size() != 0)
    return make_error(Code::INVALID_ARGUMENT,
                      "rank " + std::to_string(tensor.sizes().size()) + ", expected an integer of rank 0");
  return check_tensor(tensor, value);
}

std::array<int64_t, kMaxRank> sizes_of(const Shape& shape) {
  std::array<int64_t, kMaxRank> sizes{};
  std::copy_n(shape.sizes.begin(), shape.rank, sizes.begin());
  return sizes;
}

// Calls `convert(first, numbers)` for all elements of an argument, as many at a time as `room` takes.
Status convert_pieces(int64_t numel, std::span<float> room, const auto& convert) {
  const auto count = static_cast<size_t>(numel);
  for (size_t first = 0; first < count; first += room.size())
    ETB_TRY(convert(first, room.first(std::min(room.size(), count - first))));
  return {};
}

}  // namespace

ConversionRoom conversion_room(const ExecutionPlan& plan) {
  constexpr uint64_t kMost = 1 << 17;  // half a megabyte: a call of the API costs little beside that
  ConversionRoom room;
  for (const auto* ids : {&plan.graph.inputs, &plan.graph.outputs}) {
    for (const uint32_t id : *ids) {
      const GpuValue& value = plan.graph.value(id);
      if (value.host == HostNumbers::kSame || value.host == HostNumbers::kSize) continue;
      const auto count = static_cast<size_t>(std::min(plan.bounds[id].numel(), kMost));
      room.numbers = std::max(room.numbers, count);
      if (value.is_half) room.halves = std::max(room.halves, count);
    }
  }
  return room;
}

GpuContext::GpuContext(const ExecutionPlan& plan, const char* buffer_kind, CompletionThread& completions)
    : plan_(plan),
      solver_(plan),
      dispatches_(plan.dispatches),
      buffer_kind_(buffer_kind),
      externals_(plan.graph.values.size()),
      has_moved_(plan.graph.values.size()),
      completions_(completions) {
  const ConversionRoom room = conversion_room(plan);
  numbers_.resize(room.numbers);
  halves_.resize(room.halves * sizeof(uint16_t));
  input_integers_.resize(plan.graph.inputs.size());
}

Status GpuContext::take_buffer(uint32_t id, const etb_tensor& tensor) {
  ExternalBuffer found;
  if (const etb_buffer_desc* const desc = tensor.buffer; desc != nullptr) {
    const bool fits = desc->kind != nullptr && std::string_view(desc->kind) == buffer_kind_ &&
                      desc->handle != nullptr && desc->offset_bytes % kMostOffsetAlignment == 0 &&
                      desc->nbytes >= location(id).nbytes;
    if (!fits || !may_be_external(plan_, id))
      return make_error(Code::INVALID_ARGUMENT,
                        "a buffer of kind '" + std::string(desc->kind == nullptr ? "" : desc->kind) +
                            "' and " + std::to_string(desc->nbytes) + " bytes, expected " + buffer_kind_ +
                            " and " + std::to_string(location(id).nbytes));
    if (!is_same_on_device(plan_.graph.value(id), tensor.dtype) || !Tensor(tensor).is_contiguous() ||
        !accepts(plan_.graph.value(id), tensor.dtype))
      return make_error(Code::INVALID_ARGUMENT, "a buffer of another dtype or order of dimensions");
    found = {desc->handle, desc->offset_bytes, location(id).nbytes};
  }
  if (found == externals_[id]) return {};
  externals_[id] = found;
  has_moved_[id] = 1;
  has_new_externals_ = true;
  return {};
}

Status GpuContext::take_buffers(const std::vector<uint32_t>& ids, const auto& tensor_of, size_t count) {
  for (size_t i = 0; i < std::min(ids.size(), count); ++i)
    if (Status taken = take_buffer(ids[i], tensor_of(i)); !taken)
      return tl::make_unexpected(with_context(std::move(taken).error(), "argument " + std::to_string(i)));
  return {};
}

bool GpuContext::has_externals() const {
  return std::any_of(externals_.begin(), externals_.end(),
                     [](const ExternalBuffer& each) { return each.handle != nullptr; });
}

bool may_be_external(const ExecutionPlan& plan, uint32_t value) {
  const GpuValue& found = plan.graph.value(value);
  if (found.host != HostNumbers::kSame && found.host != HostNumbers::kFloats && !found.is_half) return false;
  const auto& [inputs, outputs] = std::tie(plan.graph.inputs, plan.graph.outputs);
  return std::count(inputs.begin(), inputs.end(), value) +
             std::count(outputs.begin(), outputs.end(), value) ==
         1;
}

Status GpuContext::keep_going(const Run& run) const {
  ETB_TRY(run.keep_going());
  return asked_->check();
}

Result<std::span<const int64_t>> GpuContext::sizes_of_input(size_t index, const Tensor& tensor) {
  const uint32_t id = plan_.graph.inputs[index];
  const GpuValue& value = plan_.graph.value(id);
  if (value.host != HostNumbers::kSize) return tensor.sizes();
  int64_t& integer = input_integers_[index];
  integer = plan_.bounds[id].sizes[0];
  if (tensor.raw().data != nullptr) {
    ETB_TRY(check_integer(tensor, value));
    std::memcpy(&integer, tensor.raw().data, sizeof(integer));
  }
  return std::span<const int64_t>(&integer, 1);
}

Status GpuContext::resize(const auto& input_at) {
  ETB_TRY(created());
  bool has_changed = !is_solved_;
  for (size_t i = 0; i < plan_.graph.inputs.size(); ++i) {
    ETB_ASSIGN(const std::span<const int64_t> sizes, sizes_of_input(i, input_at(i)));
    const Shape& known = solver_.shapes()[plan_.graph.inputs[i]];
    bool is_same = sizes.size() == known.rank;
    for (uint32_t d = 0; is_same && d < known.rank; ++d) is_same = sizes[d] == int64_t{known.sizes[d]};
    if (is_same) continue;
    has_changed = true;
    is_solved_ = false;
    ETB_TRY(solver_.set_input(i, sizes));
  }
  if (has_changed) {
    ETB_TRY(solver_.solve());
    make_dispatches(plan_.graph, plan_.fusions, plan_.kernels, solver_.shapes(), plan_.aliases, dispatches_);
  }
  if (has_new_externals_) ETB_TRY(bind_memory());
  ETB_TRY(prepare(has_changed));
  if (has_new_externals_) std::fill(has_moved_.begin(), has_moved_.end(), uint8_t{0});
  has_new_externals_ = false;
  is_solved_ = true;
  return {};
}

Status GpuContext::reserve(std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const GpuValue& value = plan_.graph.value(plan_.graph.inputs[i]);
    if (!accepts(value, inputs[i].dtype()))
      return make_error(Code::INVALID_ARGUMENT, "input " + std::to_string(i) + ": dtype " +
                                                    dtype_text(inputs[i].dtype()) + ", expected " +
                                                    dtype_text(expected_dtype(value)));
  }
  ETB_TRY(created());
  if (plan_.graph.has_smaller_bounds) return {};
  ETB_TRY(take_buffers(
      plan_.graph.inputs, [&](size_t i) -> const etb_tensor& { return inputs[i].raw(); }, inputs.size()));
  return resize([&](size_t i) { return inputs[i]; });
}

Result<uint64_t> GpuContext::time_dispatches(size_t begin, size_t end) {
  ETB_TRY(created());
  for (size_t i = 0; i < dispatches_.size(); ++i) {
    const bool is_part = i >= begin && i < end;
    dispatches_[i].items = is_part ? plan_.dispatches[i].items : std::array<uint32_t, 3>{};
  }
  ETB_TRY(prepare(true));
  const auto before = std::chrono::steady_clock::now();
  ETB_TRY(submit());
  for (bool has_ended = false; !has_ended;) {
    ETB_ASSIGN(has_ended, wait(std::chrono::seconds(1)));
  }
  const auto spent = std::chrono::steady_clock::now() - before;
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
}

Status GpuContext::clear_arguments() {
  ETB_TRY(created());
  return write(0, std::vector<std::byte>(plan_.memory.transfer_bytes));
}

Status GpuContext::write_input(uint32_t id, const Tensor& tensor) {
  const GpuValue& value = plan_.graph.value(id);
  if (value.host == HostNumbers::kSize) return check_integer(tensor, value);  // resize() has read it
  ETB_TRY(check_tensor(tensor, value));
  const auto* data = static_cast<const std::byte*>(tensor.raw().data);
  if (tensor.nbytes() == 0) return {};
  if (is_same_on_device(value, tensor.dtype()) && tensor.is_contiguous())
    return write(location(id).offset, {data, tensor.nbytes()});
  return convert_pieces(tensor.numel(), numbers_, [&](size_t first, std::span<float> numbers) {
    return write_piece(id, tensor, first, numbers);
  });
}

Status GpuContext::write_piece(uint32_t id, const Tensor& tensor, size_t first, std::span<float> numbers) {
  if (plan_.graph.value(id).host == HostNumbers::kInt32Bits) {
    if (!read_int32_bits(tensor, first, numbers))
      return make_error(Code::INVALID_ARGUMENT, "an integer beyond int32, the type in the payload");
    return write_floats(id, first, numbers);
  }
  const ReadNumbers facts = read_tensor(tensor, first, numbers);
  if (facts.largest > static_cast<double>(plan_.graph.integer_limit))
    return make_error(Code::INVALID_ARGUMENT, "an integer beyond " +
                                                  std::to_string(plan_.graph.integer_limit) +
                                                  ", up to which the device computes integers as floats");
  return write_floats(id, first, numbers);
}

Status GpuContext::read_piece(uint32_t id, const OutputTensor& tensor, size_t first,
                              std::span<float> numbers) {
  ETB_TRY(read_floats(id, first, numbers));
  if (plan_.graph.value(id).host == HostNumbers::kInt32Bits)
    write_int32_bits(numbers, first, tensor);
  else
    write_tensor(numbers, first, tensor);
  return {};
}

Status GpuContext::write_floats(uint32_t id, size_t first, std::span<const float> numbers) {
  const GpuValue& value = plan_.graph.value(id);
  const uint64_t offset = location(id).offset + first * element_nbytes(value);
  if (!value.is_half) return write(offset, std::as_bytes(numbers));
  write_numbers(numbers, ETB_DTYPE_FLOAT16, halves_.data());
  return write(offset, std::span(halves_).first(numbers.size() * element_nbytes(value)));
}

Status GpuContext::read_floats(uint32_t id, size_t first, std::span<float> numbers) {
  const GpuValue& value = plan_.graph.value(id);
  const uint64_t offset = location(id).offset + first * element_nbytes(value);
  if (!value.is_half) return read(offset, std::as_writable_bytes(numbers));
  ETB_TRY(read(offset, std::span(halves_).first(numbers.size() * element_nbytes(value))));
  read_numbers(halves_.data(), ETB_DTYPE_FLOAT16, numbers);
  return {};
}

Status GpuContext::write_inputs(const Run& run) {
  for (uint32_t i = 0; i < run.input_count(); ++i) {
    const uint32_t id = plan_.graph.inputs[i];
    if (external(id) != nullptr) continue;
    if (Status written = write_input(id, run.input(i)); !written)
      return tl::make_unexpected(with_context(std::move(written).error(), "input " + std::to_string(i)));
  }
  return {};
}

Status GpuContext::resize_outputs(const Run& run) const {
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    const uint32_t id = plan_.graph.outputs[i];
    const Shape& shape = solver_.shapes()[id];
    const auto sizes = sizes_of(shape);
    const uint32_t rank = plan_.graph.value(id).host == HostNumbers::kSize ? 0 : shape.rank;
    OutputTensor tensor = run.output(i);
    if (Status fits = tensor.resize({sizes.data(), rank}); !fits)
      return tl::make_unexpected(with_context(std::move(fits).error(), "output " + std::to_string(i)));
  }
  return {};
}

Status GpuContext::read_output(uint32_t id, const OutputTensor& tensor) {
  const GpuValue& value = plan_.graph.value(id);
  auto* data = static_cast<std::byte*>(tensor.raw().data);
  if (value.host == HostNumbers::kSize) {
    ETB_TRY(check_integer(tensor, value));
    const int64_t integer = solver_.shapes()[id].sizes[0];
    std::memcpy(data, &integer, sizeof(integer));
    return {};
  }
  ETB_TRY(check_tensor(tensor, value));
  if (tensor.nbytes() == 0) return {};
  if (is_same_on_device(value, tensor.dtype()) && tensor.is_contiguous())
    return read(location(id).offset, {data, tensor.nbytes()});
  return convert_pieces(tensor.numel(), numbers_, [&](size_t first, std::span<float> numbers) {
    return read_piece(id, tensor, first, numbers);
  });
}

Status GpuContext::read_outputs(const Run& run) {
  for (uint32_t i = 0; i < run.output_count(); ++i) {
    if (external(plan_.graph.outputs[i]) != nullptr) continue;
    const uint32_t id = plan_.graph.outputs[i];
    if (Status found = read_output(id, run.output(i)); !found)
      return tl::make_unexpected(with_context(std::move(found).error(), "output " + std::to_string(i)));
  }
  return {};
}

Status GpuContext::put_value(const Run& run, uint32_t id, const std::string& name, std::byte* data) const {
  const Shape& shape = solver_.shapes()[id];
  auto sizes = sizes_of(shape);
  etb_tensor tensor{};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  const GpuValue& value = plan_.graph.value(id);
  GpuValue on_device;
  on_device.type = value.type;
  tensor.dtype = expected_dtype(on_device);
  tensor.rank = shape.rank;
  tensor.role = ETB_ROLE_OUTPUT;
  tensor.sizes = sizes.data();
  tensor.data = data;
  tensor.capacity_bytes = location(id).nbytes;
  std::vector<float> widened(value.is_half ? shape.numel() : 0);  // hosts get the same dtype from each device
  if (value.is_half) {
    read_numbers(data, ETB_DTYPE_FLOAT16, widened);
    tensor.data = widened.data();
    tensor.capacity_bytes = widened.size() * sizeof(float);
  }
  return ValueReport(run).put(name.c_str(), {&tensor, 1});
}

Status GpuContext::run_without_fusions(const Run& run) {
  if (!inner_) {
    ETB_ASSIGN(ExecutionPlan plan, without_fusions(plan_));
    inner_plan_ = std::make_unique<ExecutionPlan>(std::move(plan));
    ETB_ASSIGN(inner_, make_context(*inner_plan_));
    inner_->asked_ = asked_;
  }
  return inner_->execute_now(run);
}

Status GpuContext::run_for_values(const Run& run) {
  const ValueReport values(run);
  std::vector<size_t> last(plan_.graph.values.size(), dispatches_.size());  // the dispatch that completes it
  for (size_t i = 0; i < dispatches_.size(); ++i) last[dispatches_[i].written()] = i;
  for (size_t i = 0; i < dispatches_.size(); ++i) {
    ETB_TRY(keep_going(run));
    const uint32_t id = dispatches_[i].written();
    const std::string name = result_name(id);
    const GpuValue& value = plan_.graph.value(id);
    const bool is_number = value.host != HostNumbers::kBools && value.host != HostNumbers::kIntegers &&
                           value.host != HostNumbers::kSize && value.host != HostNumbers::kInt32Bits;
    const bool is_wanted = last[id] == i && value.role == ValueRole::kResult && is_number && !value.is_step &&
                           values.wants(name.c_str());
    ETB_ASSIGN(std::byte* const result, run_one(i, is_wanted));
    if (is_wanted) ETB_TRY(put_value(run, id, name, result));
  }
  return {};
}

// The device's clock is another one: its last time stamp is the end of the run on the host's clock.
Status GpuContext::run_timed(const Run& run) {
  if (event_names_.empty()) {
    for (const GpuNode& node : plan_.graph.nodes) event_names_.push_back(event_name(node));
    begins_ns_.resize(dispatches_.size());
    ends_ns_.resize(dispatches_.size());
  }
  const uint64_t begin_ns = run.host().now_ns();
  ETB_TRY(run_all(run));
  const uint64_t end_ns = run.host().now_ns();
  ETB_TRY(read_times(begins_ns_, ends_ns_));
  const auto on_host = [&](uint64_t stamp_ns) {
    const uint64_t before_end = ends_ns_.back() - std::min(stamp_ns, ends_ns_.back());
    return end_ns - std::min(before_end, end_ns - begin_ns);
  };
  for (size_t i = 0; i < dispatches_.size();) {
    const size_t first = i;
    const uint32_t node = dispatches_[first].node;
    while (i < dispatches_.size() && dispatches_[i].node == node) ++i;
    const uint64_t begin = on_host(begins_ns_[first]);
    ETB_TRY(put_inner_events(run, node, begin));
    ETB_TRY(put_event(run, node, begin, on_host(ends_ns_[i - 1])));
  }
  return {};
}

Status GpuContext::put_event(const Run& run, uint32_t node, uint64_t begin, uint64_t end) const {
  etb_event event{};
  event.struct_size = ETB_INIT_SIZE(etb_event);
  event.flags = ETB_EVENT_LOSSY;
  event.debug_id = plan_.graph.nodes[node].debug_id;
  if (event.debug_id < 0) event.name = event_names_[node].c_str();  // an event has one or the other
  event.begin_ticks = begin;
  event.end_ticks = end;
  event.timebase = ETB_TIMEBASE_HOST;
  event.ns_numerator = event.ns_denominator = 1;
  return from_host(run.raw().events->put(run.raw().events->ctx, &event), "event sink");
}

Status GpuContext::put_inner_events(const Run& run, uint32_t node, uint64_t begin) const {
  for (const uint32_t inner : plan_.fusions.nodes_with(node))
    if (inner != node && plan_.graph.nodes[inner].debug_id >= 0) ETB_TRY(put_event(run, inner, begin, begin));
  return {};
}

Status GpuContext::bind(const Run& run) {
  ETB_TRY(take_buffers(
      plan_.graph.inputs,
      [&](size_t i) -> const etb_tensor& { return *ETB_AT(etb_tensor, run.raw().inputs, i); },
      run.input_count()));
  ETB_TRY(take_buffers(
      plan_.graph.outputs,
      [&](size_t i) -> const etb_tensor& { return *ETB_AT(etb_tensor, run.raw().outputs, i); },
      run.output_count()));
  ETB_TRY(resize([&](size_t i) { return run.input(static_cast<uint32_t>(i)); }));
  ETB_TRY(keep_going(run));
  ETB_TRY(resize_outputs(run));
  return write_inputs(run);
}

Status GpuContext::execute(const Run& run) {
  stop_.begin();
  Status status = execute_now(run);
  stop_.end();
  return status;
}

Status GpuContext::execute_now(const Run& run) {
  ETB_TRY(created());
  const bool has_values = ValueReport(run).is_wanted();
  if (has_values && !plan_.fusions.empty()) return run_without_fusions(run);
  const bool is_timed = set_timed(run.raw().events != nullptr && !has_values && !dispatches_.empty());
  ETB_TRY(bind(run));
  if (has_values) {
    ETB_TRY(run.timed(kRunEvent, [&] { return run_for_values(run); }));
  } else if (is_timed) {
    ETB_TRY(run_timed(run));
  } else {
    ETB_TRY(run.timed(kRunEvent, [&] { return run_all(run); }));
  }
  ETB_TRY(keep_going(run));
  return read_outputs(run);
}

}  // namespace etb::gpu
