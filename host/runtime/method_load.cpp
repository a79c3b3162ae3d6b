// SPDX-License-Identifier: Apache-2.0
// Loads a method: memory, values with their initial contents, instructions, delegates.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "api/format/tensor_layout.hpp"
#include "etb/cpp/fail.hpp"
#include "host/runtime/method_state.hpp"

namespace etb::host {

namespace {

using format::InstructionKind;
using format::Storage;
using format::TensorRecord;
using format::ValueKind;
using Count = unsigned long long;  // for printf

constexpr uint64_t kArenaAlignment = 16;

class MethodLoader {
 public:
  MethodLoader(const MethodMemory& memory, MethodState& state, etb_error* error) noexcept
      : memory_(memory), state_(state), view_(state.meta.view()), counts_(view_), error_(error) {}

  etb_status load() noexcept {
    ETB_CHECK(check_limits());
    ETB_CHECK(check_arenas());
    ETB_CHECK(place_arrays());
    ETB_CHECK(make_values());
    make_references(view_.inputs(), state_.inputs);
    make_references(view_.outputs(), state_.outputs);
    describe_caller_memory();
    ETB_CHECK(make_instructions());
    ETB_CHECK(find_kernels(state_, kernels_, error_));
    mark_changing_arguments(state_, changes_);
    ETB_CHECK(make_delegates());
    return check_operands(state_, memory_.arenas, error_);
  }

 private:
  etb_status check_limits() noexcept {
    const LoadLimits& limits = state_.options.limits;
    ETB_CHECK(check_limit("max_arenas", state_.meta.arena_count(), limits.max_arenas, error_));
    ETB_CHECK(check_limit("max_values", counts_.values, limits.max_values, error_));
    ETB_CHECK(check_limit("max_instructions", counts_.instructions, limits.max_instructions, error_));
    return check_limit("max_delegates", counts_.delegates, limits.max_delegates, error_);
  }

  etb_status check_arenas() noexcept {
    const uint32_t count = state_.meta.arena_count();
    if (memory_.arenas.size() < count) {
      return fail(error_, ETB_INVALID_ARGUMENT, "%zu arenas given, expected %u", memory_.arenas.size(),
                  count);
    }
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t needed = state_.meta.arena_nbytes(i);
      if (memory_.arenas[i].size() < needed) {
        return fail(error_, ETB_OUT_OF_MEMORY, "arena %u of %zu bytes, expected %llu", i,
                    memory_.arenas[i].size(), static_cast<Count>(needed));
      }
      if (reinterpret_cast<uintptr_t>(memory_.arenas[i].data()) % kArenaAlignment != 0) {
        return fail(error_, ETB_INVALID_ARGUMENT, "arena %u at %p, expected a %llu-byte boundary", i,
                    static_cast<void*>(memory_.arenas[i].data()), static_cast<Count>(kArenaAlignment));
      }
      if (!view_.is_arena_on_cpu(i + 1)) {
        return fail(error_, ETB_NOT_SUPPORTED,
                    "arena %u is memory of another device, only the CPU's is planned here", i);
      }
    }
    return ETB_OK;
  }

  // Returns memory of zeros, or null when the state memory is used up.
  void* place_zeros(size_t count, size_t element_nbytes) noexcept {
    size_t nbytes = 0;
    if (__builtin_mul_overflow(count, element_nbytes, &nbytes)) return nullptr;
    void* const memory = memory_.state->allocate(nbytes);
    if (memory != nullptr) std::memset(memory, 0, nbytes);
    return memory;
  }

  // Value-initialised objects. For all of these types that is zeros, and one function is smaller than a loop for each.
  template <class T>
  bool place(std::span<T>& out, size_t count) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    T* items = static_cast<T*>(place_zeros(count, sizeof(T)));
    if (items == nullptr && count != 0) return false;
    out = {items, count};
    return true;
  }

  etb_status place_arrays() noexcept {
    std::span<EValue*> references;
    const bool fits = place(state_.values, counts_.values) && place(tensors_, counts_.tensors) &&
                      place(dims_, counts_.dims * 2) && place(references, counts_.references) &&
                      place(state_.instructions, counts_.instructions) &&
                      place(state_.chains, counts_.chains) && place(kernels_, counts_.operators) &&
                      place(changes_, counts_.values) && place(state_.caller_memory, counts_.caller_memory) &&
                      place(state_.delegates, counts_.delegates) && place_external();
    if (!fits) {
      return fail(error_, ETB_OUT_OF_MEMORY, "state memory of %llu bytes, expected %llu",
                  static_cast<Count>(memory_.state->capacity_bytes()),
                  static_cast<Count>(counts_.state_nbytes()));
    }
    references_ = references.data();
    state_.inputs = {take_references(view_.inputs().size()), view_.inputs().size()};
    state_.outputs = {take_references(view_.outputs().size()), view_.outputs().size()};
    return ETB_OK;
  }

  void describe_caller_memory() noexcept {
    const uint32_t input_count = state_.meta.input_count();
    for (uint32_t i = 0; i < state_.caller_memory.size(); ++i) {
      const auto spec = i < input_count ? state_.meta.input(i) : state_.meta.output(i - input_count);
      if (spec.kind() != format::ValueKind::kTensor) continue;
      const auto record = spec.as_tensor();
      state_.caller_memory[i] = {nullptr, 0, record.nbytes, true, record.storage != format::Storage::kCaller};
    }
  }

  // A DataBlock releases its bytes in its destructor, which unload calls explicitly.
  bool place_external() noexcept {
    void* memory =
        memory_.state->allocate(uint64_t{counts_.external} * sizeof(DataBlock), alignof(DataBlock));
    if (memory == nullptr) return false;
    auto* blocks = static_cast<DataBlock*>(memory);
    for (size_t i = 0; i < counts_.external; ++i) new (blocks + i) DataBlock();
    state_.external_data = {blocks, counts_.external};
    return true;
  }

  EValue** take_references(size_t count) noexcept {
    EValue** taken = references_;
    references_ += count;
    return taken;
  }

  EValue* value_at(int64_t index) const noexcept { return &state_.values[static_cast<size_t>(index)]; }

  template <class T>
  void make_references(std::span<const T> indices, std::span<EValue*> out) const noexcept {
    for (size_t i = 0; i < indices.size(); ++i) out[i] = indices[i] < 0 ? nullptr : value_at(indices[i]);
  }

  template <class T>
  std::span<EValue*> make_list(std::span<const T> indices) noexcept {
    const std::span<EValue*> list(take_references(indices.size()), indices.size());
    make_references(indices, list);
    return list;
  }

  // ---- Values

  etb_status make_values() noexcept {
    for (uint32_t i = 0; i < view_.value_count(); ++i) {
      const etb_status status = make_value(view_.value(i), state_.values[i], changes_[i]);
      if (status != ETB_OK) return fail_in(error_, status, "value %u", i);
    }
    return ETB_OK;
  }

  etb_status make_value(const format::ValueView& from, EValue& to, uint8_t& out_changes) noexcept {
    switch (from.kind()) {
      case ValueKind::kNull:
        to = EValue();
        break;
      case ValueKind::kInt:
        to = EValue(from.as_int());
        break;
      case ValueKind::kBool:
        to = EValue(from.as_bool());
        break;
      case ValueKind::kDouble:
        to = EValue(from.as_double());
        break;
      case ValueKind::kString:
        to = EValue(from.as_string());
        break;
      case ValueKind::kBoolList:
        to = EValue::bool_list(from.bool_list());
        break;
      case ValueKind::kDoubleList:
        to = EValue::double_list(from.double_list());
        break;
      case ValueKind::kIntList:
        to = EValue::int_list(make_list(from.int_list()));
        break;
      case ValueKind::kTensorList:
        to = EValue::tensor_list(make_list(from.tensor_list()));
        break;
      case ValueKind::kOptionalTensorList:
        to = EValue::optional_tensor_list(make_list(from.tensor_list()));
        break;
      case ValueKind::kTensor:
        return make_tensor(from.as_tensor(), to, out_changes);
    }
    return ETB_OK;
  }

  etb_status make_tensor(const TensorRecord& record, EValue& to, uint8_t& out_changes) noexcept {
    if (record.dynamism == format::Dynamism::kUnbounded) {
      return fail(error_, ETB_NOT_SUPPORTED,
                  "tensor of unbounded size, which would need a heap; export it with upper bounds");
    }
    if (record.device_type != 0) {
      return fail(error_, ETB_NOT_SUPPORTED, "tensor in memory of device type %u, expected the CPU (0)",
                  record.device_type);
    }
    if (record.nbytes > static_cast<uint64_t>(PTRDIFF_MAX)) {
      return fail(error_, ETB_OUT_OF_MEMORY, "tensor of %llu bytes", static_cast<Count>(record.nbytes));
    }
    void* data = nullptr;
    bool is_read_only = false;
    ETB_CHECK(find_storage(record, &data, &is_read_only));
    if (record.storage == Storage::kCaller && record.nbytes != 0) out_changes = kMayChange | kMayMove;

    const size_t rank = record.sizes.size();
    int64_t* sizes = dims_.data() + dims_used_;
    int64_t* strides = sizes + rank;
    dims_used_ += 2 * rank;
    std::copy(record.sizes.begin(), record.sizes.end(), sizes);
    Tensor& tensor = tensors_[tensors_used_++];
    tensor = Tensor(static_cast<Dtype>(record.dtype), static_cast<int>(rank), sizes, record.dim_order.data(),
                    strides, data, record.nbytes,
                    record.dynamism == format::Dynamism::kBounded ? Dynamism::kBounded : Dynamism::kStatic);
    if (is_read_only) tensor.set_read_only();
    to = EValue(&tensor);
    return ETB_OK;
  }

  etb_status find_storage(const TensorRecord& record, void** out_data, bool* out_is_read_only) noexcept {
    if (record.storage == Storage::kCaller) return ETB_OK;
    if (record.storage == Storage::kConstant) {
      const auto bytes = state_.program->constant(record.data_index);
      return use_constant(bytes, record, out_data, out_is_read_only);
    }
    if (record.storage == Storage::kExternal) {
      DataBlock& block = state_.external_data[external_used_++];
      ETB_CHECK(find_external(record, &block));
      return use_constant(block.bytes(), record, out_data, out_is_read_only);
    }
    std::byte* planned = memory_.arenas[record.memory_id - 1].data() + record.memory_offset;
    *out_data = planned;
    if (record.storage == Storage::kPlanned) return ETB_OK;
    const std::span<std::byte> initial(planned, static_cast<size_t>(record.nbytes));
    if (record.storage == Storage::kPlannedInitialized) {
      return state_.program->read_range(state_.program->view().mutable_data(record.data_index), initial,
                                        error_);
    }
    DataBlock block;
    ETB_CHECK(find_external(record, &block));
    if (!initial.empty()) std::memcpy(planned, block.bytes().data(), initial.size());
    return ETB_OK;
  }

  etb_status find_external(const TensorRecord& record, DataBlock* out) noexcept {
    std::optional<format::LayoutRecord> layout;
    ETB_CHECK(state_.named_data.find(record.name, out, &layout, error_));
    if (layout && (layout->dtype != record.dtype || !std::ranges::equal(layout->sizes, record.sizes) ||
                   !std::ranges::equal(layout->dim_order, record.dim_order))) {
      return fail(error_, ETB_INVALID_DATA,
                  "external tensor '%.*s': %s of rank %zu, the program expects %s of rank %zu with other "
                  "sizes or order",
                  shown(record.name), record.name.data(), format::dtype_text(layout->dtype),
                  layout->sizes.size(), format::dtype_text(record.dtype), record.sizes.size());
    }
    if (out->bytes().size() >= record.nbytes) return ETB_OK;
    return fail(error_, ETB_INVALID_DATA, "external tensor '%.*s': %zu bytes, the program expects %llu",
                shown(record.name), record.name.data(), out->bytes().size(),
                static_cast<Count>(record.nbytes));
  }

  etb_status use_constant(std::span<const std::byte> bytes, const TensorRecord& record, void** out_data,
                          bool* out_is_read_only) noexcept {
    if (reinterpret_cast<uintptr_t>(bytes.data()) % element_nbytes(static_cast<Dtype>(record.dtype)) != 0) {
      return fail(error_, ETB_INVALID_DATA,
                  "constant at %p, not a multiple of its element size: the loader gave unaligned memory",
                  static_cast<const void*>(bytes.data()));
    }
    // Kernels reject writes to a read-only tensor, so this const_cast does not allow a write.
    *out_data = const_cast<std::byte*>(bytes.data());
    *out_is_read_only = true;
    return ETB_OK;
  }

  // ---- Instructions

  etb_status make_instructions() noexcept {
    uint32_t used = 0;
    for (uint32_t c = 0; c < view_.chain_count(); ++c) {
      const auto chain = view_.chain(c);
      const uint32_t first = used;
      state_.chains[c] = {first};
      for (uint32_t i = 0; i < chain.instruction_count(); ++i) {
        make_instruction(chain.instruction(i), first, state_.instructions[used++]);
      }
    }
    mark_endless_jumps();
    return ETB_OK;
  }

  // Marks jumps that loop for ever: a jump back to itself, with only frees between, never changes its
  // condition.
  void mark_endless_jumps() noexcept {
    uint32_t first_after = 0;  // index after the last instruction that is not a free
    for (uint32_t i = 0; i < state_.instructions.size(); ++i) {
      Instruction& instruction = state_.instructions[i];
      if (instruction.kind == InstructionKind::kJumpFalse)
        instruction.repeats_itself = instruction.target <= i && instruction.target >= first_after;
      if (instruction.kind != InstructionKind::kFree) first_after = i + 1;
    }
  }

  void make_instruction(const format::InstructionView& from, uint32_t first, Instruction& to) noexcept {
    to.kind = from.kind;
    to.arguments = make_list(from.args).data();
    to.argument_count = static_cast<uint32_t>(from.args.size());
    switch (from.kind) {
      case InstructionKind::kKernel:
        to.target = from.a;
        break;  // the operator, until find_kernels
      case InstructionKind::kDelegate:
        to.delegate = from.a;
        break;
      case InstructionKind::kMove:
        to.from = value_at(from.a), to.value = value_at(from.b);
        break;
      case InstructionKind::kJumpFalse:
        to.value = value_at(from.a), to.target = first + from.b;
        break;  // mark_endless_jumps() sets repeats_itself
      case InstructionKind::kFree:
        to.value = value_at(from.a);
        break;
    }
  }

  // ---- Delegates

  etb_status make_delegates() noexcept {
    if (view_.delegate_count() == 0) return ETB_OK;
    if (DelegateResolver* const resolver = state_.options.delegates; resolver != nullptr)
      return resolver->functions().make(state_, memory_.arenas, error_);
    const auto id = view_.delegate(0).id();
    return fail(error_, ETB_NOT_FOUND,
                "delegate 0 '%.*s': the program needs it and no delegates were given to load_method",
                shown(id), id.data());
  }

  const MethodMemory& memory_;
  MethodState& state_;
  const format::MethodView& view_;
  MethodCounts counts_;
  etb_error* error_;
  std::span<Tensor> tensors_;
  std::span<int64_t> dims_;
  std::span<OperatorKernel> kernels_;
  std::span<uint8_t> changes_;  // one entry for each value
  EValue** references_ = nullptr;
  size_t tensors_used_ = 0;
  size_t dims_used_ = 0;
  size_t external_used_ = 0;
};

}  // namespace

etb_status check_limit(const char* limit, uint64_t found, uint64_t most, etb_error* error) noexcept {
  if (found <= most) return ETB_OK;
  return fail(
      error, ETB_OUT_OF_RESOURCES,
      "%llu, more than the limit %s of %llu\nhint: raise it in LoadLimits when the program is trusted",
      static_cast<Count>(found), limit, static_cast<Count>(most));
}

etb_status Method::load(const Program& program, std::string_view name, const MethodMemory& memory,
                        const MethodOptions& options, etb_error* error) noexcept {
  if (is_loaded())
    return fail(error, ETB_ALREADY_LOADED, "method '%.*s': already loaded", shown(name), name.data());
  MethodMeta meta;
  ETB_CHECK(program.find_method(name, &meta, error));
  EventTracer* const tracer = options.tracer;
  const uint64_t begin_ns = tracer == nullptr ? 0 : tracer->functions().begin_load(options, meta, memory);
  void* place =
      memory.state == nullptr ? nullptr : memory.state->allocate(sizeof(MethodState), alignof(MethodState));
  if (place == nullptr) {
    return fail(error, ETB_OUT_OF_MEMORY, "method '%.*s': no state memory left, expected %llu bytes",
                shown(name), name.data(), static_cast<Count>(meta.state_nbytes()));
  }
  const uint64_t init_begin_ns = tracer == nullptr ? 0 : options.platform->now_ns(options.platform->self);
  state_ = new (place) MethodState(program, meta, options, memory.scratch);
  if (const etb_status status = MethodLoader(memory, *state_, error).load(); status != ETB_OK) {
    unload();
    return fail_in(error, status, "method '%.*s'", shown(name), name.data());
  }
  if (tracer != nullptr) tracer->functions().end_load(*state_, begin_ns, init_begin_ns);
  return ETB_OK;
}

void Method::unload() noexcept {
  if (state_ == nullptr) return;
  for (MethodDelegate* delegate : state_->delegates) {
    if (delegate != nullptr) delegate->destroy();
  }
  for (DataBlock& block : state_->external_data) block.reset();
  state_ = nullptr;
}

}  // namespace etb::host
