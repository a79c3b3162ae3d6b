// SPDX-License-Identifier: Apache-2.0
#include "conformance/subject/case_session.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "etb/cpp/fail.hpp"
#include "etb/cpp/graph_view.hpp"
#include "etb/cpp/guard.hpp"

namespace etb::conformance {
namespace {

constexpr uint64_t kAlignment = 16;

int64_t numel_of(const int64_t* sizes, size_t rank) {
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) count *= sizes[i];
  return count;
}

bool is_row_major(const etb_graph_spec& spec) {
  for (uint32_t i = 0; i < spec.rank; ++i)
    if (spec.dim_order[i] != i) return false;
  return true;
}

std::byte* align(std::vector<std::byte>& memory, uint64_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (alignment - address % alignment) % alignment;
}

// Returns an address aligned to this, but not to twice as much. The memory has three times the alignment to
// spare.
std::byte* align_no_better(std::vector<std::byte>& memory, uint64_t alignment) {
  std::byte* const at = align(memory, 2 * alignment);
  return at + alignment;
}

// One dimension more, one element more, one byte less, or another dtype.
void damage_tensor(Damage damage, std::vector<int64_t>& sizes, etb_tensor& tensor) {
  if (damage == Damage::kCapacity) tensor.capacity_bytes -= tensor.capacity_bytes != 0 ? 1 : 0;
  if (damage == Damage::kSize && !sizes.empty()) ++sizes[0];
  if (damage == Damage::kDtype) tensor.dtype = ETB_DTYPE_BITS16;
  if (damage == Damage::kRank) sizes.insert(sizes.begin(), 1);
  if (damage == Damage::kLastRank) sizes.push_back(1);
  tensor.rank = static_cast<uint32_t>(sizes.size());
  tensor.sizes = sizes.data();
  if (damage == Damage::kRank || damage == Damage::kLastRank) {
    tensor.upper_sizes = nullptr;
    tensor.dim_order = nullptr;
    tensor.strides = nullptr;
  }
}

// The memory of an input is that of at most one output.
bool is_shared(const std::vector<TensorSlot>& slots, size_t first_output, size_t end, const void* data) {
  return std::any_of(slots.begin() + static_cast<ptrdiff_t>(first_output),
                     slots.begin() + static_cast<ptrdiff_t>(end),
                     [&](const TensorSlot& slot) { return slot.data == data; });
}

}  // namespace

Result<std::unique_ptr<CaseSession>> CaseSession::make(Subject& subject, const BuiltCase& built,
                                                       Payload payload, const SessionOptions& options) {
  std::unique_ptr<CaseSession> session(new CaseSession(subject, std::move(payload), options));
  ETB_TRY(session->open(built, options));
  return session;
}

CaseSession::~CaseSession() { (void)end(); }

Status CaseSession::end_context() {
  etb_error error = ETB_ERROR_INIT;
  etb_context* const context = std::exchange(context_, nullptr);
  return context != nullptr ? check(subject_.table().delegate->context_destroy(context, &error), error)
                            : Status();
}

Status CaseSession::end() {
  etb_error error = ETB_ERROR_INIT;
  Status out = end_context();
  if (etb_delegate* const delegate = std::exchange(delegate_, nullptr); delegate != nullptr)
    if (const Status status = check(subject_.table().delegate->destroy(delegate, &error), error); out)
      out = status;
  return out;
}

etb_status CaseSession::get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error) {
  auto& self = *static_cast<CaseSession*>(ctx);
  const auto& named = self.payload_.named;
  const auto found = named.find(key);
  if (found == named.end())
    return fail(error, ETB_NOT_FOUND, "named data '%s': the payload brought none", key);
  if (++self.get_count_ == self.failing_get_)
    return fail(error, ETB_ACCESS_FAILED, "named data '%s': the file cannot be read", key);
  const auto& alignments = self.payload_.named_alignments;
  const auto wanted = alignments.find(key);
  self.lender_.lend(found->second, *out, wanted != alignments.end() ? wanted->second : 0);
  return ETB_OK;
}

bool CaseSession::may_share_memory() const {
  return std::any_of(shared_inputs_.begin(), shared_inputs_.end(), [](uint32_t input) { return input != 0; });
}

Status CaseSession::open(const BuiltCase& built, const SessionOptions& options) {
  ETB_ASSIGN(const graph::View view, graph::View::open(built.image.span()));
  const graph::Graph method = view.method();
  for (uint32_t i = 0; i < method.inputs().size(); ++i)
    if (method.input(i).constant == graph::kNone) input_specs_.push_back(method.spec_of(i));
  for (uint32_t i = 0; i < method.outputs().size(); ++i) output_specs_.push_back(method.output(i).spec());

  view_.struct_size = ETB_INIT_SIZE(etb_payload_view);
  lender_.lend(payload_.bytes, view_);
  named_data_ = {ETB_INIT_SIZE(etb_named_data), 0, this, &get_named};
  std::vector<etb_compile_spec> specs;
  for (const auto& [key, value] : payload_.specs)
    specs.push_back({ETB_INIT_SIZE(etb_compile_spec), 0, key.c_str(), {value.data(), value.size()}});
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = subject_.backend_id().c_str();
  args.method_name = options.method_name;
  args.device = options.device;
  args.payload = &view_;
  args.named_data = options.has_named_data ? &named_data_ : nullptr;
  args.specs = specs.data();
  args.spec_count = specs.size();
  const std::vector<etb_option> all_options = subject_.delegate_options(options.options);
  args.options = all_options.data();
  args.option_count = all_options.size();
  etb_error error = ETB_ERROR_INIT;
  const etb_delegate_table& table = *subject_.table().delegate;
  ETB_TRY(check(table.create(subject_.handle(), &args, &delegate_, &error), error));
  if (delegate_ == nullptr) return make_error(Code::INTERNAL, "create returns ETB_OK and no delegate");
  info_.struct_size = ETB_INIT_SIZE(etb_delegate_info);
  ETB_TRY(check(table.query(delegate_, &info_, &error), error));
  if (info_.input_count != input_specs_.size() || info_.output_count != output_specs_.size())
    return make_error(Code::INTERNAL, "query reports " + std::to_string(info_.input_count) + " inputs and " +
                                          std::to_string(info_.output_count) + " outputs, the region has " +
                                          std::to_string(input_specs_.size()) + " and " +
                                          std::to_string(output_specs_.size()));
  alignments_.assign(input_specs_.size() + output_specs_.size(), kAlignment);
  least_alignments_.assign(alignments_.size(), 1);
  paddings_.assign(alignments_.size(), 0);
  shared_inputs_.assign(output_specs_.size(), 0);
  const etb_io_req_sink sink = {
      ETB_INIT_SIZE(etb_io_req_sink), 0, this, [](void* ctx, const etb_io_req* req) {
        auto& self = *static_cast<CaseSession*>(ctx);
        const size_t at = req->index + ((req->role & ETB_ROLE_OUTPUT) != 0 ? self.input_specs_.size() : 0);
        if (at >= self.alignments_.size()) return etb_status{ETB_INVALID_ARGUMENT};
        self.alignments_[at] = std::max(self.alignments_[at], req->alignment);
        self.least_alignments_[at] = std::max<uint64_t>(req->alignment, 1);
        self.paddings_[at] = req->padding_bytes;
        if ((req->role & ETB_ROLE_OUTPUT) != 0 && req->may_alias_input <= self.input_specs_.size())
          self.shared_inputs_[req->index] = req->may_alias_input;
        return etb_status{ETB_OK};
      }};
  ETB_TRY(check(table.query_io(delegate_, &sink, &error), error));
  ETB_TRY(check(table.context_create(delegate_, nullptr, 0, &context_, &error), error));
  if (context_ == nullptr) return make_error(Code::INTERNAL, "context_create returns ETB_OK and no context");
  return {};
}

void CaseSession::fill_slot(TensorSlot& slot, const etb_graph_spec& spec, const std::vector<int64_t>& sizes,
                            uint32_t role) const {
  const bool is_dynamic = spec.dynamic_dims != 0;
  slot.sizes = sizes;
  slot.upper_sizes.assign(spec.sizes, spec.sizes + spec.rank);
  etb_tensor& tensor = slot.tensor;
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.dtype = static_cast<etb_dtype>(spec.dtype);
  tensor.rank = spec.rank;
  tensor.role = role;
  tensor.sizes = slot.sizes.data();
  tensor.upper_sizes = is_dynamic ? slot.upper_sizes.data() : nullptr;
  if (is_row_major(spec)) return;
  slot.dim_order.assign(spec.dim_order, spec.dim_order + spec.rank);
  slot.strides.resize(spec.rank);
  int64_t stride = 1;
  for (uint32_t i = spec.rank; i-- > 0;) {
    slot.strides[slot.dim_order[i]] = stride;
    stride *= std::max<int64_t>(sizes[slot.dim_order[i]], 1);
  }
  tensor.dim_order = slot.dim_order.data();
  // Without strides a tensor is packed at any size, so the callee may write other sizes of an output. Half of the
  // other tensors have none, too.
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{role});
  tensor.strides = is_dynamic || total % 2 == 0 ? nullptr : slot.strides.data();
}

std::vector<TensorSlot> CaseSession::make_slots(const std::vector<TensorData>& inputs,
                                                const RunOptions& options, bool has_spare_memory) const {
  std::vector<TensorSlot> slots(input_specs_.size() + output_specs_.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool is_input = i < input_specs_.size();
    const etb_graph_spec& spec = is_input ? input_specs_[i] : output_specs_[i - input_specs_.size()];
    const std::vector<int64_t> sizes =
        is_input ? inputs[i].shape.sizes : std::vector<int64_t>(spec.sizes, spec.sizes + spec.rank);
    TensorSlot& slot = slots[i];
    fill_slot(slot, spec, sizes, is_input ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT);
    slot.bound_nbytes = static_cast<uint64_t>(numel_of(spec.sizes, spec.rank)) *
                        element_nbytes(static_cast<etb_dtype>(spec.dtype));
    const uint64_t capacity = slot.bound_nbytes + (slot.bound_nbytes != 0 ? paddings_[i] : 0);
    slot.room_nbytes = has_spare_memory ? 2 * capacity + 4096 : capacity;
    slot.memory.assign(slot.room_nbytes + 3 * alignments_[i], std::byte{options.fill});
    slot.data = options.has_least_alignment ? align_no_better(slot.memory, least_alignments_[i])
                                            : align(slot.memory, alignments_[i]);
    if (is_input && !inputs[i].bytes.empty())
      std::memcpy(slot.data, inputs[i].bytes.data(), inputs[i].bytes.size());
    const uint32_t shared = is_input || !options.shares_memory ? 0 : shared_inputs_[i - input_specs_.size()];
    if (shared != 0 && slots[shared - 1].tensor.capacity_bytes >= capacity &&
        !is_shared(slots, input_specs_.size(), i, slots[shared - 1].data))
      slot.data = slots[shared - 1].data;
    slot.tensor.data = capacity != 0 ? slot.data : nullptr;
    slot.tensor.capacity_bytes = capacity;
  }
  return slots;
}

void CaseSession::damage_slots(Damage damage, std::vector<TensorSlot>& slots) const {
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool is_input = i < input_specs_.size();
    if (is_input == (damage == Damage::kCapacity)) continue;
    TensorSlot& slot = slots[i];
    if (damage == Damage::kSize) slot.tensor.capacity_bytes = slot.room_nbytes;
    // Too small for the elements, for any padding that the plugin requested.
    if (damage == Damage::kCapacity) slot.tensor.capacity_bytes = slot.bound_nbytes;
    damage_tensor(damage, slot.sizes, slot.tensor);
  }
}

RunResult CaseSession::run(const std::vector<TensorData>& inputs, const RunOptions& options) {
  return run_on(context_, inputs, options);
}

RunResult CaseSession::run_on(etb_context* context, const std::vector<TensorData>& inputs,
                              const RunOptions& options) {
  const std::unique_ptr<PreparedRun> run = prepare(inputs, options);
  return execute(context, *run);
}

RunResult CaseSession::run_with_one_more(const std::vector<TensorData>& inputs, uint32_t role) {
  const std::unique_ptr<PreparedRun> run = prepare(inputs);
  std::vector<etb_tensor> tensors(run->tensors);
  const bool is_input = role == ETB_ROLE_INPUT;
  const size_t end = is_input ? input_count() : tensors.size();
  tensors.insert(tensors.begin() + static_cast<std::ptrdiff_t>(end), tensors[end - 1]);
  run->args.inputs = tensors.data();
  run->args.input_count = input_count() + (is_input ? 1 : 0);
  run->args.outputs = tensors.data() + run->args.input_count;
  run->args.output_count = output_count() + (is_input ? 0 : 1);
  RunResult result;
  result.status = subject_.table().delegate->execute(context_, &run->args, &result.error);
  return result;
}

const char* to_text(Damage damage) {
  constexpr const char* kTexts[] = {"an input of another rank", "an input larger than its bound",
                                    "an output with too few bytes", "one dimension more at the end",
                                    "another dtype"};
  return kTexts[static_cast<size_t>(damage)];
}

// Damaged sizes state more elements than the host has. A plugin that uses them without a check still reads
// allocated memory.
RunResult CaseSession::run_damaged(const std::vector<TensorData>& inputs, Damage damage) {
  std::vector<TensorSlot> slots = make_slots(inputs, {}, damage == Damage::kSize);
  damage_slots(damage, slots);
  const std::unique_ptr<PreparedRun> run = prepare(std::move(slots), {});
  return execute(context_, *run);
}

RunResult CaseSession::run_damaged(const std::vector<TensorData>& inputs, Damage damage, size_t tensor) {
  std::vector<TensorSlot> slots = make_slots(inputs, {}, false);
  damage_tensor(damage, slots[tensor].sizes, slots[tensor].tensor);
  const std::unique_ptr<PreparedRun> run = prepare(std::move(slots), {});
  return execute(context_, *run);
}

std::unique_ptr<PreparedRun> CaseSession::prepare(const std::vector<TensorData>& inputs,
                                                  const RunOptions& options) const {
  return prepare(make_slots(inputs, options, false), options);
}

std::unique_ptr<PreparedRun> CaseSession::prepare(std::vector<TensorSlot> slots,
                                                  const RunOptions& options) const {
  auto run = std::make_unique<PreparedRun>();
  run->slots = std::move(slots);
  run->options = options;
  for (const TensorSlot& slot : run->slots) run->tensors.push_back(slot.tensor);
  // Its content is undefined: the garbage of the outputs.
  const uint64_t scratch_alignment = std::max<uint64_t>(info_.scratch_alignment, 1);
  run->scratch.assign(info_.scratch_bytes + 3 * scratch_alignment, std::byte{options.fill});
  etb_exec_args& args = run->args;
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = run->tensors.data();
  args.outputs = run->tensors.data() + input_specs_.size();
  args.input_count = input_count();
  args.output_count = output_count();
  if (info_.scratch_bytes != 0)
    args.scratch = options.has_least_alignment ? align_no_better(run->scratch, scratch_alignment)
                                               : align(run->scratch, scratch_alignment);
  args.scratch_nbytes = info_.scratch_bytes;
  args.deadline_ns = options.deadline_ns;
  args.cancel = options.cancel;
  args.events = options.events;
  args.options = run->options.options.data();
  args.option_count = run->options.options.size();
  args.run_id = options.run_id;
  args.priority = options.priority;
  return run;
}

std::vector<TensorData> PreparedRun::outputs() const {
  std::vector<TensorData> outputs;
  for (size_t i = args.input_count; i < slots.size(); ++i) {
    TensorData& out = outputs.emplace_back();
    out.shape.dtype = slots[i].tensor.dtype;
    out.shape.sizes = slots[i].sizes;
    const uint64_t nbytes =
        static_cast<uint64_t>(std::max<int64_t>(out.shape.numel(), 0)) * element_nbytes(out.shape.dtype);
    out.bytes.assign(slots[i].data, slots[i].data + std::min(nbytes, slots[i].tensor.capacity_bytes));
  }
  return outputs;
}

RunResult CaseSession::execute(etb_context* context, PreparedRun& run) {
  RunResult result;
  result.status = subject_.table().delegate->execute(context, &run.args, &result.error);
  result.outputs = run.outputs();
  return result;
}

}  // namespace etb::conformance
