// SPDX-License-Identifier: Apache-2.0
#include "host/static_delegates/static_delegate.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "etb/cpp/fail.hpp"

namespace etb::host {

namespace {

constexpr uint32_t kMaxArguments = 1u << 10;

etb_status fail_memory(etb_error* error) {
  return fail(error, ETB_OUT_OF_MEMORY, "no memory left in the allocator of StaticDelegates");
}

}  // namespace

template <class T>
T* StaticDelegate::make_array(size_t count) noexcept {
  return memory_.allocate_array<T>(count);
}

etb_status StaticDelegate::make_specs(const DelegateRequest& request, etb_compile_spec*& out,
                                      etb_error* error) noexcept {
  const uint32_t count = request.compile_specs.compile_spec_count();
  if (count == 0) return ETB_OK;
  out = make_array<etb_compile_spec>(count);
  if (out == nullptr) return fail_memory(error);
  for (uint32_t i = 0; i < count; ++i) {
    const format::CompileSpecView spec = request.compile_specs.compile_spec(i);
    char* const key = make_array<char>(spec.key.size() + 1);
    if (key == nullptr) return fail_memory(error);
    std::memcpy(key, spec.key.data(), spec.key.size());
    out[i] = {ETB_INIT_SIZE(etb_compile_spec), 0, key, {spec.value.data(), spec.value.size()}};
  }
  return ETB_OK;
}

etb_status StaticDelegate::set_up(etb_plugin& plugin, const DelegateRequest& request,
                                  etb_error* error) noexcept {
  payload_ = std::move(*request.payload);
  named_data_ = request.named_data;
  named_ = {ETB_INIT_SIZE(etb_named_data), 0, this, &get_named};
  char* const names = make_array<char>(request.id.size() + request.method_name.size() + 2);
  if (names == nullptr) return fail_memory(error);
  char* const method = names + request.id.size() + 1;
  std::memcpy(names, request.id.data(), request.id.size());
  std::memcpy(method, request.method_name.data(), request.method_name.size());
  etb_compile_spec* specs = nullptr;
  ETB_CHECK(make_specs(request, specs, error));

  etb_payload_view view{};
  view.struct_size = ETB_INIT_SIZE(etb_payload_view);
  view.data = payload_.bytes().data();
  view.nbytes = payload_.bytes().size();
  view.alignment = 16;
  view.fd = -1;
  if (reinterpret_cast<uintptr_t>(view.data) % 16 != 0)
    return fail(error, ETB_NOT_SUPPORTED,
                "its payload is not on a 16-byte boundary, as the program's start must be");
  etb_delegate_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
  args.backend_id = names;
  args.method_name = method;
  args.payload = &view;
  args.named_data = &named_;
  args.specs = specs;
  args.spec_count = request.compile_specs.compile_spec_count();
  ETB_CHECK(table_.create(&plugin, &args, &delegate_, error));

  etb_delegate_info info{};
  info.struct_size = ETB_INIT_SIZE(etb_delegate_info);
  ETB_CHECK(table_.query(delegate_, &info, error));
  ETB_CHECK(table_.context_create(delegate_, nullptr, 0, &context_, error));
  if (info.input_count > kMaxArguments || info.output_count > kMaxArguments)
    return fail(error, ETB_INVALID_DATA, "%u inputs and %u outputs, expected at most %u", info.input_count,
                info.output_count, kMaxArguments);
  const size_t count = size_t{info.input_count} + info.output_count;
  if (!request.arguments.empty() && request.arguments.size() != count)
    return fail(error, ETB_INCOMPATIBLE,
                "the program passes %zu arguments, the plugin expects %u inputs and %u outputs",
                request.arguments.size(), info.input_count, info.output_count);
  arguments_ = make_array<Argument>(count);
  tensors_ = make_array<etb_tensor>(count);
  if (arguments_ == nullptr || tensors_ == nullptr) return fail_memory(error);
  input_count_ = info.input_count;
  output_count_ = info.output_count;
  for (size_t i = 0; i < request.arguments.size(); ++i) {
    if (!request.arguments[i]->is_tensor()) continue;
    const Tensor& tensor = request.arguments[i]->tensor();
    arguments_[i].is_dynamic = tensor.dynamism() != Dynamism::kStatic;
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), arguments_[i].upper_sizes);
  }
  ETB_CHECK(read_requirements(error));
  memory_facts_ = {info.resident_bytes, info.context_bytes, info.scratch_bytes, 0};
  if (info.scratch_bytes == 0) return ETB_OK;
  scratch_ = info.scratch_bytes > request.max_scratch_bytes
                 ? nullptr
                 : static_cast<std::byte*>(
                       memory_.allocate(info.scratch_bytes, std::max<uint64_t>(info.scratch_alignment, 16)));
  scratch_nbytes_ = info.scratch_bytes;
  return scratch_ == nullptr ? fail_memory(error) : ETB_OK;
}

etb_status StaticDelegate::put_requirement(void* ctx, const etb_io_req* req) {
  auto& self = *static_cast<StaticDelegate*>(ctx);
  const bool is_input = (req->role & ETB_ROLE_INPUT) != 0;
  if (req->index >= (is_input ? self.input_count_ : self.output_count_)) return ETB_INVALID_DATA;
  if (req->padding_bytes != 0) return ETB_NOT_SUPPORTED;
  self.arguments_[req->index + (is_input ? 0 : self.input_count_)].alignment = req->alignment;
  return ETB_OK;
}

etb_status StaticDelegate::read_requirements(etb_error* error) noexcept {
  const etb_io_req_sink sink = {ETB_INIT_SIZE(etb_io_req_sink), 0, this, &put_requirement};
  const etb_status status = table_.query_io(delegate_, &sink, error);
  if (status == ETB_NOT_SUPPORTED)
    return fail(error, status, "it needs bytes after its tensors, which StaticDelegates has not");
  return status;
}

etb_status StaticDelegate::get_named(void* ctx, const char* key, etb_payload_view* out, etb_error* error) {
  auto& self = *static_cast<StaticDelegate*>(ctx);
  auto* const made = static_cast<NamedBlock*>(self.memory_.allocate(sizeof(NamedBlock), alignof(NamedBlock)));
  if (made == nullptr) return fail_memory(error);
  new (made) NamedBlock{{}, self.named_blocks_};
  self.named_blocks_ = made;
  ETB_CHECK(self.named_data_->find(key, &made->block, nullptr, error));
  *out = {};
  out->struct_size = ETB_INIT_SIZE(etb_payload_view);
  out->data = made->block.bytes().data();
  out->nbytes = made->block.bytes().size();
  out->alignment = 16;
  out->fd = -1;
  return ETB_OK;
}

etb_status StaticDelegate::bind(const EValue& value, uint32_t index, etb_error* error) noexcept {
  Argument& argument = arguments_[index];
  etb_tensor& tensor = tensors_[index];
  tensor = {};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.role = index < input_count_ ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT;
  tensor.sizes = argument.sizes;
  if (value.is_int()) {  // a symbolic integer
    argument.scalar = value.to_int();
    tensor.dtype = ETB_DTYPE_INT64;
    tensor.data = &argument.scalar;
    tensor.capacity_bytes = sizeof argument.scalar;
    return ETB_OK;
  }
  if (!value.is_tensor())
    return fail(error, ETB_INVALID_TYPE, "delegate argument %u: %s, expected a tensor", index,
                to_text(value.tag()));
  const Tensor& from = value.tensor();
  if (index >= input_count_ && from.is_read_only())
    return fail(error, ETB_INVALID_PROGRAM, "delegate argument %u: a constant, which an output cannot be",
                index);
  if (from.data() == nullptr && from.nbytes() != 0)
    return fail(error, ETB_INVALID_PROGRAM, "delegate argument %u: the tensor has no memory", index);
  if (!is_abi_dtype(from.dtype()))
    return fail(error, ETB_NOT_SUPPORTED, "delegate argument %u is %s, a dtype that the C ABI lacks", index,
                to_text(from.dtype()));
  if (argument.alignment > 1 && reinterpret_cast<uintptr_t>(from.data()) % argument.alignment != 0)
    return fail(error, ETB_NOT_SUPPORTED,
                "delegate argument %u: not on a boundary of %llu bytes, as the plugin requires", index,
                static_cast<unsigned long long>(argument.alignment));
  tensor.dtype = static_cast<etb_dtype>(from.dtype());
  tensor.rank = static_cast<uint32_t>(from.rank());
  std::copy(from.sizes().begin(), from.sizes().end(), argument.sizes);
  if (!from.is_contiguous()) {
    tensor.strides = index < input_count_ ? from.strides().data() : nullptr;
    tensor.dim_order = from.dim_order().data();
  }
  tensor.upper_sizes = argument.is_dynamic ? argument.upper_sizes : nullptr;
  tensor.data = from.data();
  tensor.capacity_bytes = from.capacity_bytes();
  return ETB_OK;
}

etb_status StaticDelegate::execute(const DelegateRun& run) noexcept {
  const uint32_t count = input_count_ + output_count_;
  if (run.arguments.size() != count)
    return fail(run.error, ETB_INVALID_PROGRAM,
                "delegate call with %zu arguments, its payload has %u inputs and %u outputs",
                run.arguments.size(), input_count_, output_count_);
  for (uint32_t i = 0; i < count; ++i) ETB_CHECK(bind(*run.arguments[i], i, run.error));
  etb_exec_args args{};
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = tensors_;
  args.outputs = tensors_ + input_count_;
  args.input_count = input_count_;
  args.output_count = output_count_;
  args.scratch = scratch_;
  args.scratch_nbytes = scratch_nbytes_;
  args.deadline_ns = run.limits.deadline_ns;
  args.events = run.events;
  args.run_id = run.limits.run_id;
  args.priority = run.limits.priority;
  ETB_CHECK(table_.execute(context_, &args, run.error));
  for (uint32_t i = input_count_; i < count; ++i) {
    if (!run.arguments[i]->is_tensor()) {
      *run.arguments[i] = EValue(arguments_[i].scalar);
      continue;
    }
    Tensor& output = run.arguments[i]->tensor();
    if (const etb_status status = output.resize({arguments_[i].sizes, static_cast<size_t>(output.rank())});
        status != ETB_OK)
      return fail(run.error, status, "delegate output %u: the plugin returned sizes that do not fit",
                  i - input_count_);
  }
  return ETB_OK;
}

void StaticDelegate::destroy() noexcept {
  if (context_ != nullptr) (void)table_.context_destroy(context_, nullptr);
  if (delegate_ != nullptr) (void)table_.destroy(delegate_, nullptr);
  context_ = nullptr;
  delegate_ = nullptr;
  for (NamedBlock* named = named_blocks_; named != nullptr; named = named->next) named->block.reset();
  named_blocks_ = nullptr;
  payload_.reset();
}

}  // namespace etb::host
