// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/plugin_delegate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "etb/cpp/fail.hpp"
#include "etb/cpp/guard.hpp"

namespace etb::host {

std::vector<etb_compile_spec> to_specs(const DelegateRequest& request, std::vector<std::string>& keys) {
  const uint32_t count = request.compile_specs.compile_spec_count();
  std::vector<etb_compile_spec> specs;
  keys.reserve(count);  // the specs point into `keys`
  for (uint32_t i = 0; i < count; ++i) {
    const format::CompileSpecView view = request.compile_specs.compile_spec(i);
    keys.emplace_back(view.key);
    specs.push_back(
        {ETB_INIT_SIZE(etb_compile_spec), 0, keys.back().c_str(), {view.value.data(), view.value.size()}});
  }
  return specs;
}

PluginDelegate::PluginDelegate(Parts parts, const DelegateRequest& request, RunWatchdog& watchdog)
    : use_(std::move(parts.use)),
      platform_(*request.platform),
      watchdog_(watchdog),
      copies_(std::move(parts.copies)),
      run_options_(parts.options.run) {
  if (parts.async) async_.emplace(*this, *std::move(parts.async));
}

Result<PluginDelegate*> PluginDelegate::make(Parts parts, const DelegateRequest& request,
                                             RunWatchdog& watchdog) {
  const auto destroy = [](PluginDelegate* made) { made->destroy(); };
  const DelegateOptions options = parts.options;
  const uint64_t allocated_before = parts.allocated_before;
  std::unique_ptr<PluginDelegate, decltype(destroy)> delegate(
      new PluginDelegate(std::move(parts), request, watchdog), destroy);
  if (Status status = delegate->set_up(request, options, allocated_before); !status) {
    return tl::make_unexpected(
        with_context(std::move(status).error(), "delegate '" + std::string(request.id) + "'"));
  }
  return delegate.release();
}

Result<PluginDelegate*> PluginDelegate::make(std::shared_ptr<const PluginContext> plugin,
                                             std::shared_ptr<const Device> device,
                                             const DelegateRequest& request, RunWatchdog& watchdog,
                                             std::shared_ptr<StagingMemory> copies,
                                             std::span<const etb_compile_spec> specs) {
  const uint64_t allocated_before = plugin->allocated_bytes();
  ETB_ASSIGN(auto made,
             SharedDelegate::make({std::move(plugin), std::move(device), request, specs, {}, FileMapping()}));
  return make({DelegateUse::of(std::move(made)), std::move(copies), {}, {}, allocated_before}, request,
              watchdog);
}

Status PluginDelegate::set_up(const DelegateRequest& request, const DelegateOptions& options,
                              uint64_t allocated_before) {
  auto context = use_->delegate().create_context(options.context);
  if (!context) {
    if (context.error().code == Code::UNAVAILABLE) use_->stop_sharing();
    return tl::make_unexpected(std::move(context).error());
  }
  context_ = *std::move(context);
  const etb_delegate_info& info = use_->info();
  input_count_ = info.input_count;
  slots_.resize(info.input_count + info.output_count);
  tensors_.resize(slots_.size());
  if (request.arguments.empty()) {
    ETB_TRY(read_requirements(
        request.arenas));  // the program never calls this delegate, or its host prepares later
  } else {
    ETB_TRY(prepare(request.arguments, request.arenas, request.may_move, &request));
  }
  // Other threads may load methods of the same plugin meanwhile: then the number is of both.
  const uint64_t allocated = use_->plugin().allocated_bytes();
  memory_ = {use_.is_first() ? info.resident_bytes : 0, info.context_bytes, info.scratch_bytes,
             allocated - std::min(allocated, allocated_before)};
  if (info.scratch_bytes == 0) return {};
  const uint64_t alignment = std::max<uint64_t>(info.scratch_alignment, 1);
  if (info.scratch_bytes > request.max_scratch_bytes || alignment > 4096 ||
      (alignment & (alignment - 1)) != 0) {
    return make_error(Code::OUT_OF_RESOURCES,
                      "the plugin requests " + std::to_string(info.scratch_bytes) +
                          " bytes of scratch aligned to " + std::to_string(alignment) +
                          ", expected at most " + std::to_string(request.max_scratch_bytes) +
                          " (the limit max_scratch_bytes) aligned to a power of two up to 4096");
  }
  scratch_.resize(info.scratch_bytes + alignment);
  const auto address = reinterpret_cast<uintptr_t>(scratch_.data());
  aligned_scratch_ = scratch_.data() + ((alignment - address % alignment) % alignment);
  scratch_nbytes_ = info.scratch_bytes;
  return {};
}

Status PluginDelegate::read_requirements(std::span<const std::span<std::byte>> arenas) {
  staging_.emplace(arenas, copies_, input_count_, slots_.size(), !async_);
  Status met;
  shared_inputs_.assign(slots_.size() - input_count_, 0);
  ETB_TRY(use_->delegate().query_io([&](const etb_io_req& req) {
    if (met) met = staging_->require(req);
    if (met && (req.role & ETB_ROLE_INPUT) == 0) shared_inputs_[req.index] = req.may_alias_input;
    accepts_device_memory_ = accepts_device_memory_ || req.kind_count != 0;
  }));
  return met;
}

Status PluginDelegate::use_device_memory(std::shared_ptr<const Device> device) {
  values_.emplace(std::move(device), slots_.size());
  return use_->delegate().query_io([&](const etb_io_req& req) {
    values_->set_memory((req.role & ETB_ROLE_INPUT) != 0 ? req.index : input_count_ + req.index, req);
  });
}

Status PluginDelegate::prepare(std::span<EValue* const> arguments,
                               std::span<const std::span<std::byte>> arenas, bool may_move,
                               const DelegateRequest* request) {
  ETB_TRY(read_requirements(arenas));
  std::vector<EValue*> selected;
  if (arguments.size() != slots_.size()) {
    const auto output_count = static_cast<uint32_t>(slots_.size()) - input_count_;
    const auto is_undefined = [&](const EValue& argument) {
      return request != nullptr && has_undefined_elements(*request, argument);
    };
    ETB_ASSIGN(selection_,
               select_arguments(use_->delegate(), input_count_, output_count, arguments, is_undefined));
    for (const uint32_t index : selection_) selected.push_back(arguments[index]);
    arguments = selected;
  }
  ETB_TRY(staging_->reserve(arguments, may_move));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i]->is_tensor() || arguments[i]->tensor().dynamism() == Dynamism::kStatic) continue;
    const auto sizes = arguments[i]->tensor().sizes();
    std::copy(sizes.begin(), sizes.end(), slots_[i].upper_sizes.begin());
    slots_[i].is_bound_known = true;
  }
  return reserve_context(arguments);
}

// Called when tensors have their largest sizes: the plugin plans for the largest sizes, so that no run allocates (ABI-EXEC-02).
// A run reports arguments that cannot be passed, with its own error.
Status PluginDelegate::reserve_context(std::span<EValue* const> arguments) {
  for (uint32_t i = 0; i < input_count_; ++i)
    if (describe(*arguments[i], i, nullptr) != ETB_OK) return {};
  return context_->reserve({tensors_.data(), input_count_});
}

Status PluginDelegate::accept_option(const OptionChange& change) {
  if (change.object_kind != ETB_OBJECT_DELEGATE || use_->stop_sharing_if_unshared()) return {};
  return make_error(Code::INVALID_STATE,
                    "option '" + std::string(change.option.key) +
                        "' belongs to a delegate that other modules use, too\nhint: open the module with the "
                        "option, so that it has a delegate of its own");
}

Status PluginDelegate::set_option(const OptionChange& change) {
  if (change.object_kind == ETB_OBJECT_CONTEXT) return context_->set_option(change.option);
  if (change.object_kind == ETB_OBJECT_DELEGATE) return use_->delegate().set_option(change.option);
  run_options_.set(change.option);
  return {};
}

bool PluginDelegate::can_reserve() const noexcept {
  const etb_delegate_table& table = *use_->plugin().table().delegate;
  return (table.caps & ETB_DELEGATE_CAP_CONTEXT_RESERVE) != 0 && !(values_ && values_->has_any());
}

etb_status PluginDelegate::reserve(std::span<EValue* const> arguments) noexcept {
  if (arguments.size() != tensors_.size()) return ETB_INVALID_ARGUMENT;
  return guard(nullptr, [&] { return reserve_context(arguments); });
}

etb_status PluginDelegate::bind_memory(uint32_t argument, void* data, uint64_t nbytes,
                                       uint64_t capacity_bytes, etb_error* error) noexcept {
  const ArgumentStaging::StagedArgument staged = staging_->stage(argument, data, nbytes, capacity_bytes);
  if (staged.data == nullptr && (data != nullptr || nbytes != 0)) {
    return fail(error, ETB_NOT_SUPPORTED,
                "delegate argument %u: %llu bytes at %p do not meet the plugin's alignment or padding, and "
                "the method "
                "reserved no staging memory for this call",
                argument, static_cast<unsigned long long>(nbytes), data);
  }
  has_output_copies_ = has_output_copies_ || (argument >= input_count_ && staged.data != data);
  tensors_[argument].data = staged.data;
  tensors_[argument].capacity_bytes = staged.capacity_bytes;
  return ETB_OK;
}

// Writes everything of the argument's tensor but its memory.
etb_status PluginDelegate::describe(const EValue& value, uint32_t argument, etb_error* error) noexcept {
  Slot& slot = slots_[argument];
  etb_tensor& tensor = tensors_[argument];
  tensor = {};
  tensor.struct_size = ETB_INIT_SIZE(etb_tensor);
  tensor.role = argument < input_count_ ? ETB_ROLE_INPUT : ETB_ROLE_OUTPUT;
  if (value.is_tensor()) {
    if (tensor.role == ETB_ROLE_OUTPUT && value.tensor().is_read_only()) {
      return fail(error, ETB_INVALID_PROGRAM, "delegate argument %u: a constant, which an output cannot be",
                  argument);
    }
    if (!is_abi_dtype(value.tensor().dtype())) {
      return fail(error, ETB_NOT_SUPPORTED, "delegate argument %u is %s, a dtype that the C ABI lacks",
                  argument, to_text(value.tensor().dtype()));
    }
    const Tensor& from = value.tensor();
    tensor.dtype = static_cast<etb_dtype>(from.dtype());
    tensor.rank = static_cast<uint32_t>(from.rank());
    std::copy(from.sizes().begin(), from.sizes().end(), slot.sizes.begin());
    tensor.sizes = slot.sizes.data();
    // Row-major tensors pass NULL, which the simplest plugins understand.
    if (!from.is_contiguous()) {
      // The plugin may write other sizes of an output. Without strides it is packed at any size.
      tensor.strides = tensor.role == ETB_ROLE_OUTPUT ? nullptr : from.strides().data();
      tensor.dim_order = from.dim_order().data();
    }
    tensor.upper_sizes = slot.is_bound_known ? slot.upper_sizes.data() : nullptr;
    return ETB_OK;
  }
  if (value.is_int()) {  // a symbolic integer
    tensor.dtype = ETB_DTYPE_INT64;
    tensor.sizes = slot.sizes.data();
    return ETB_OK;
  }
  if (error != nullptr) {
    error->code = ETB_INVALID_TYPE;
    std::snprintf(error->text, sizeof error->text, "delegate argument %u: %s, expected a tensor", argument,
                  to_text(value.tag()));
  }
  return ETB_INVALID_TYPE;
}

etb_status PluginDelegate::bind(const EValue& value, uint32_t argument, etb_error* error) noexcept {
  ETB_CHECK(describe(value, argument, error));
  if (const etb_buffer_desc* const buffer = values_ ? values_->bind(argument) : nullptr; buffer != nullptr) {
    tensors_[argument].buffer = buffer;
    tensors_[argument].capacity_bytes = buffer->nbytes;
    if (transfers_) ++transfers_->device_arguments;
    return ETB_OK;
  }
  if (transfers_) {
    ++transfers_->host_arguments;
    transfers_->host_bytes += value.is_tensor() ? value.tensor().nbytes() : sizeof(int64_t);
  }
  if (!value.is_tensor()) {
    int64_t& scalar = slots_[argument].scalar;
    scalar = value.to_int();
    return bind_memory(argument, &scalar, sizeof scalar, sizeof scalar, error);
  }
  const Tensor& from = value.tensor();
  // A program may free a tensor and use it afterwards.
  if (from.data() == nullptr && from.nbytes() != 0)
    return fail(error, ETB_INVALID_PROGRAM, "delegate argument %u: the tensor has no memory", argument);
  return bind_memory(argument, from.data(), from.nbytes(), from.capacity_bytes(), error);
}

// Also cancels at the deadline, so that plugins that only check the token keep it.
Status PluginDelegate::run_watched(const etb_exec_args& args, const RunLimits& limits) {
  if (!context_->can_cancel()) return context_->execute(args);
  const RunWatchdog::Watch watch(watchdog_, *context_, limits, platform_);
  return context_->execute(args);
}

bool PluginDelegate::has_work_before_run(const DelegateRun& run) noexcept {
  if (values_ && values_->has_work_before_run()) return true;
  const auto inputs = run.arguments.first(std::min<size_t>(input_count_, run.arguments.size()));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const Tensor& from = inputs[i]->tensor();
    const bool is_on_device = values_ && values_->bind(i) != nullptr;
    if (!is_on_device && staging_->copies_input(i, from.data(), from.capacity_bytes())) return true;
  }
  return false;
}

etb_status PluginDelegate::bind_run(const DelegateRun& run, etb_exec_args& args) noexcept {
  if (run.arguments.size() != tensors_.size()) {
    if (run.error != nullptr) {
      run.error->code = ETB_INVALID_PROGRAM;
      std::snprintf(run.error->text, sizeof run.error->text,
                    "delegate call with %zu arguments, its payload has %u inputs and %zu outputs",
                    run.arguments.size(), input_count_, tensors_.size() - input_count_);
    }
    return ETB_INVALID_PROGRAM;
  }
  has_output_copies_ = false;
  for (uint32_t i = 0; i < tensors_.size(); ++i) {
    if (const etb_status status = bind(*run.arguments[i], i, run.error); status != ETB_OK) return status;
  }
  if (values_)
    if (const Status ready = values_->before_run(); !ready) return to_c(ready.error(), run.error);
  if (!staging_->save_padding(tensors_)) {
    return fail(run.error, ETB_NOT_SUPPORTED,
                "an argument overlaps the padding of an output, and the method reserved no staging memory "
                "for this call");
  }
  args.struct_size = ETB_INIT_SIZE(etb_exec_args);
  args.inputs = tensors_.data();
  args.outputs = tensors_.data() + input_count_;
  args.input_count = input_count_;
  args.output_count = static_cast<uint32_t>(tensors_.size()) - input_count_;
  args.scratch = aligned_scratch_;
  args.scratch_nbytes = scratch_nbytes_;
  args.deadline_ns = run.limits.deadline_ns;
  args.events = run.events;
  args.options = run_options_.span().data();
  args.option_count = run_options_.span().size();
  args.run_id = run.limits.run_id;
  args.priority = run.limits.priority;
  return ETB_OK;
}

etb_status PluginDelegate::execute(const DelegateRun& run) noexcept {
  etb_exec_args args{};
  ETB_CHECK(bind_run(run, args));
  if (!has_end(run.limits)) return end_run(context_->execute(args), run);
  StopFlag flag{run.limits, platform_};
  const etb_cancel_token cancel = flag.token();
  args.cancel = &cancel;
  return end_run(run_watched(args, run.limits), run);
}

etb_status PluginDelegate::end_run(const Status& status, const DelegateRun& run) noexcept {
  staging_->restore_padding();
  if (!status) {
    if (status.error().code == Code::UNAVAILABLE) use_->stop_sharing();
    return to_c(status.error(), run.error);
  }
  if (values_)
    if (const Status shown = values_->after_run(); !shown) return to_c(shown.error(), run.error);
  for (uint32_t i = input_count_; i < tensors_.size(); ++i) {
    EValue& value = *run.arguments[i];
    if (value.is_tensor())
      ETB_CHECK(update_output(i, value.tensor(), run.error));
    else
      value = EValue(*static_cast<const int64_t*>(tensors_[i].data));
  }
  return ETB_OK;
}

// Copies the plugin's sizes to the output, and the elements when the plugin wrote them to a copy.
etb_status PluginDelegate::update_output(uint32_t argument, Tensor& output, etb_error* error) noexcept {
  const etb_status status =
      output.resize({slots_[argument].sizes.data(), static_cast<size_t>(output.rank())});
  if (status != ETB_OK) {
    return fail(error, status, "delegate output %u: the plugin returned sizes that do not fit",
                argument - input_count_);
  }
  if (tensors_[argument].buffer == nullptr && tensors_[argument].data != output.data() &&
      output.nbytes() != 0)
    std::memcpy(output.data(), tensors_[argument].data, static_cast<size_t>(output.nbytes()));
  return ETB_OK;
}

}  // namespace etb::host
