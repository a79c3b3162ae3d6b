// Loading a method: counts, values, kernels, delegates, instructions, initial values.
#include <algorithm>
#include <cstring>

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

// Arrays are placed one after another, each on the boundary of its type.
constexpr uint64_t kPlacementSlack = alignof(std::max_align_t);

class MethodLoader {
 public:
  MethodLoader(const MethodMemory& memory, MethodState& state, etb_error* error) noexcept
      : memory_(memory), state_(state), view_(state.meta.view()), counts_(view_), error_(error) {}

  etb_status load() noexcept {
    ETB_CHECK(check_arenas());
    ETB_CHECK(place_arrays());
    ETB_CHECK(make_values());
    make_references(view_.inputs(), state_.inputs);
    make_references(view_.outputs(), state_.outputs);
    ETB_CHECK(make_instructions());
    ETB_CHECK(find_kernels());
    mark_changing_arguments();
    return make_delegates();
  }

 private:
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

  template <class T>
  bool place(std::span<T>& out, uint64_t count) noexcept {
    T* items = memory_.state->allocate_array<T>(count);
    if (items == nullptr && count != 0) return false;
    out = {items, static_cast<size_t>(count)};
    return true;
  }

  etb_status place_arrays() noexcept {
    std::span<EValue*> references;
    const bool fits = place(state_.values, counts_.values) && place(tensors_, counts_.tensors) &&
                      place(dims_, counts_.dims * 2) && place(references, counts_.references) &&
                      place(state_.instructions, counts_.instructions) &&
                      place(state_.chains, counts_.chains) && place(kernels_, counts_.operators) &&
                      place(is_changing_, counts_.values) && place(state_.delegates, counts_.delegates) &&
                      place_external();
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

  // DataBlock gives its bytes back, which unload calls by hand.
  bool place_external() noexcept {
    void* memory = memory_.state->allocate(counts_.external * sizeof(DataBlock), alignof(DataBlock));
    if (memory == nullptr) return false;
    auto* blocks = static_cast<DataBlock*>(memory);
    for (uint64_t i = 0; i < counts_.external; ++i) new (blocks + i) DataBlock();
    state_.external_data = {blocks, static_cast<size_t>(counts_.external)};
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
      const etb_status status = make_value(view_.value(i), state_.values[i], is_changing_[i]);
      if (status != ETB_OK) return fail_in(error_, status, "value %u", i);
    }
    return ETB_OK;
  }

  etb_status make_value(const format::ValueView& from, EValue& to, bool& out_is_changing) noexcept {
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
        return make_tensor(from.as_tensor(), to, out_is_changing);
    }
    return ETB_OK;
  }

  etb_status make_tensor(const TensorRecord& record, EValue& to, bool& out_is_changing) noexcept {
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
    out_is_changing = record.storage == Storage::kCaller && record.nbytes != 0;

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
    // Kernels refuse to write a read-only tensor, so the const is kept in effect.
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
    return ETB_OK;
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
        break;
      case InstructionKind::kFree:
        to.value = value_at(from.a);
        break;
    }
  }

  // ---- Kernels

  etb_status find_kernels() noexcept {
    char missing[300];
    size_t used = 0;
    uint32_t missing_count = 0;
    for (Instruction& instruction : state_.instructions) {
      if (instruction.kind != InstructionKind::kKernel) continue;
      const uint32_t op_index = instruction.target;
      instruction.kernel = find_kernel(op_index, instruction);
      if (instruction.kernel == nullptr && !kernels_[op_index].is_reported) {
        kernels_[op_index].is_reported = true;
        used += report_missing(view_.op(op_index), instruction, missing_count++ == 0,
                               {missing + used, sizeof(missing) - used});
      }
    }
    if (missing_count == 0) return ETB_OK;
    return fail(error_, ETB_OPERATOR_MISSING, "no kernel for %u of %u operators: %s", missing_count,
                view_.operator_count(), missing);
  }

  struct OperatorKernel {
    const Kernel* kernel = nullptr;
    bool is_looked_up = false;
    bool is_specialised = false;  // has rows for some dtypes only, so each call looks for itself
    bool is_reported = false;
  };

  const Kernel* find_kernel(uint32_t op_index, const Instruction& instruction) noexcept {
    OperatorKernel& entry = kernels_[op_index];
    const auto op = view_.op(op_index);
    const auto* registry = state_.options.kernels;
    if (!entry.is_looked_up) {
      entry.is_looked_up = true;
      if (registry != nullptr) {
        entry.kernel = registry->find(op.name, op.overload);
        entry.is_specialised = registry->has_keyed(op.name, op.overload);
      }
      if (entry.kernel == nullptr && !entry.is_specialised) entry.kernel = find_prim_op(op.name, op.overload);
    }
    if (!entry.is_specialised) return entry.kernel;
    return registry->find(op.name, op.overload, instruction.arguments, instruction.argument_count);
  }

  // One missing operator as text, and in the log in full. Returns the characters written.
  size_t report_missing(const format::OperatorView& op, const Instruction& instruction, bool is_first,
                        std::span<char> out) noexcept {
    char text[160];
    size_t used = print(text, "%s%.*s%s%.*s(", is_first ? "" : ", ", shown(op.name), op.name.data(),
                        op.overload.empty() ? "" : ".", shown(op.overload), op.overload.data());
    bool is_empty = true;
    for (uint32_t i = 0; i < instruction.argument_count && used + 24 < sizeof(text); ++i) {
      if (!instruction.arguments[i]->is_tensor()) continue;
      used += print(std::span(text).subspan(used), "%s%s", is_empty ? "" : " ",
                    to_text(instruction.arguments[i]->tensor().dtype()));
      is_empty = false;
    }
    used += print(std::span(text).subspan(used), ")");
    if (const auto* platform = state_.options.platform; platform->log != nullptr) {
      char line[200];
      print(line, "no kernel for %s", is_first ? text : text + 2);
      platform->log(platform->self, LogLevel::kError, line);
    }
    return print(out, "%s", text);
  }

  static size_t print(std::span<char> out, const char* format, ...) noexcept
      __attribute__((format(printf, 2, 3))) {
    if (out.empty()) return 0;
    va_list args;
    va_start(args, format);
    const int written = std::vsnprintf(out.data(), out.size(), format, args);
    va_end(args);
    return written < 0 ? 0 : std::min(static_cast<size_t>(written), out.size() - 1);
  }

  // Kinds and memory of most values never change, so their arguments are checked here once. What changes: targets of moves
  // and frees, results of the core's own ops and of delegates, and tensors whose memory the caller brings.
  void mark_changing_arguments() noexcept {
    const auto mark = [this](const EValue* value) {
      is_changing_[static_cast<size_t>(value - state_.values.data())] = true;
    };
    for (const Instruction& instruction : state_.instructions) {
      if (instruction.kind == InstructionKind::kMove || instruction.kind == InstructionKind::kFree)
        mark(instruction.value);
      const bool may_change_any =
          instruction.kind == InstructionKind::kDelegate ||
          (instruction.kind == InstructionKind::kKernel && is_prim_op(*instruction.kernel));
      for (uint32_t i = 0; may_change_any && i < instruction.argument_count; ++i)
        mark(instruction.arguments[i]);
    }
    for (Instruction& instruction : state_.instructions) {
      if (instruction.kind != InstructionKind::kKernel) continue;
      instruction.checks_arguments =
          std::any_of(instruction.arguments, instruction.arguments + instruction.argument_count,
                      [this](const EValue* value) { return is_changing(*value); });
      if (instruction.checks_arguments) continue;
      // A call that could never pass is refused when it runs, not here: it may be in a branch that is never taken.
      state_.context.begin_kernel(instruction.kernel->name);
      instruction.checks_arguments =
          check_arguments(state_.context, *instruction.kernel, instruction.arguments,
                          instruction.argument_count) != ETB_OK;
    }
  }

  bool is_changing(const EValue& value) const noexcept {
    if (is_changing_[static_cast<size_t>(&value - state_.values.data())]) return true;
    if (value.tag() < Tag::kIntList) return false;
    return std::ranges::any_of(value.values(), [this](const EValue* item) {
      return item != nullptr && is_changing_[static_cast<size_t>(item - state_.values.data())];
    });
  }

  // ---- Delegates

  etb_status make_delegates() noexcept {
    for (uint32_t i = 0; i < view_.delegate_count(); ++i) {
      const auto delegate = view_.delegate(i);
      if (const etb_status status = make_delegate(i, delegate, &state_.delegates[i]); status != ETB_OK) {
        return fail_in(error_, status, "delegate %u '%.*s'", i, shown(delegate.id()), delegate.id().data());
      }
    }
    return ETB_OK;
  }

  etb_status make_delegate(uint32_t index, const format::DelegateView& delegate,
                           MethodDelegate** out) noexcept {
    if (state_.options.delegates == nullptr) {
      return fail(error_, ETB_NOT_FOUND, "the program needs it and no delegates were given to load_method");
    }
    DataBlock payload;
    if (delegate.is_inline()) {
      payload = DataBlock(state_.program->view().inline_payload(delegate.payload_index()));
    } else {
      ETB_CHECK(state_.program->load_segment(delegate.payload_index(), &payload, error_));
    }
    DelegateRequest request{delegate.id(),      state_.meta.name(),      delegate, &payload,
                            &state_.named_data, state_.options.platform, {}};
    for (const Instruction& instruction : state_.instructions) {
      if (instruction.kind != InstructionKind::kDelegate || instruction.delegate != index) continue;
      request.arguments = {instruction.arguments, instruction.argument_count};
      break;
    }
    return state_.options.delegates->create(request, out, error_);
  }

  const MethodMemory& memory_;
  MethodState& state_;
  const format::MethodView& view_;
  MethodCounts counts_;
  etb_error* error_;
  std::span<Tensor> tensors_;
  std::span<int64_t> dims_;
  std::span<OperatorKernel> kernels_;
  std::span<bool> is_changing_;  // by value
  EValue** references_ = nullptr;
  size_t tensors_used_ = 0;
  size_t dims_used_ = 0;
  size_t external_used_ = 0;
};

// Looked up while loading only, but it has to lie somewhere.
constexpr uint64_t kOperatorKernelNbytes = 16;

}  // namespace

MethodCounts::MethodCounts(const format::MethodView& method) noexcept {
  values = method.value_count();
  references = method.inputs().size() + method.outputs().size();
  operators = method.operator_count();
  delegates = method.delegate_count();
  chains = method.chain_count();
  for (uint32_t i = 0; i < values; ++i) {
    const auto value = method.value(i);
    switch (value.kind()) {
      case ValueKind::kIntList:
        references += value.int_list().size();
        break;
      case ValueKind::kTensorList:
      case ValueKind::kOptionalTensorList:
        references += value.tensor_list().size();
        break;
      case ValueKind::kTensor: {
        const auto tensor = value.as_tensor();
        ++tensors;
        dims += tensor.sizes.size();
        external += tensor.storage == Storage::kExternal ? 1 : 0;
        break;
      }
      default:
        break;
    }
  }
  for (uint32_t c = 0; c < chains; ++c) {
    const auto chain = method.chain(c);
    instructions += chain.instruction_count();
    for (uint32_t i = 0; i < chain.instruction_count(); ++i) references += chain.instruction(i).args.size();
  }
}

uint64_t MethodCounts::state_nbytes() const noexcept {
  constexpr uint64_t kArrayCount = 11;
  return sizeof(MethodState) + values * (sizeof(EValue) + sizeof(bool)) + tensors * sizeof(Tensor) +
         dims * 2 * sizeof(int64_t) + references * sizeof(EValue*) + instructions * sizeof(Instruction) +
         chains * sizeof(ChainStart) + operators * kOperatorKernelNbytes +
         delegates * sizeof(MethodDelegate*) + external * sizeof(DataBlock) + kArrayCount * kPlacementSlack;
}

uint64_t MethodMeta::state_nbytes() const noexcept { return MethodCounts(view_).state_nbytes(); }

etb_status Method::load(const Program& program, std::string_view name, const MethodMemory& memory,
                        const MethodOptions& options, etb_error* error) noexcept {
  if (is_loaded())
    return fail(error, ETB_ALREADY_LOADED, "method '%.*s': already loaded", shown(name), name.data());
  MethodMeta meta;
  ETB_CHECK(program.find_method(name, &meta, error));
  const auto& platform = *options.platform;
  const uint64_t begin_ns = options.tracer != nullptr ? platform.now_ns(platform.self) : 0;
  void* place =
      memory.state == nullptr ? nullptr : memory.state->allocate(sizeof(MethodState), alignof(MethodState));
  if (place == nullptr) {
    return fail(error, ETB_OUT_OF_MEMORY, "method '%.*s': no state memory left, expected %llu bytes",
                shown(name), name.data(), static_cast<Count>(meta.state_nbytes()));
  }
  state_ = new (place) MethodState;
  state_->meta = meta;
  state_->program = &program;
  state_->options = options;
  state_->named_data = NamedDataMap(&program, options.data_files);
  state_->context =
      KernelContext(memory.scratch, options.kernels == nullptr ? nullptr : options.kernels->vector_table(),
                    &state_->error, options.parallel, options.random_seed);
  if (const etb_status status = MethodLoader(memory, *state_, error).load(); status != ETB_OK) {
    unload();
    return fail_in(error, status, "method '%.*s'", shown(name), name.data());
  }
  if (options.tracer != nullptr) {
    options.tracer->on_event(
        {EventKind::kLoadMethod, "load_method", -1, -1, begin_ns, platform.now_ns(platform.self)});
  }
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
