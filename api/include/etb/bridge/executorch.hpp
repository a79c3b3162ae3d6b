// SPDX-License-Identifier: Apache-2.0
//
// Wraps an existing backend of the official ExecuTorch run time (a BackendInterface subclass) as a plugin. The vendor
// writes the facts that BackendInterface does not report, and links the backend with ExecuTorch's run time:
//
//   struct MyBackend {
//     static executorch::runtime::BackendInterface* find();       // the object; NULL: missing on this machine
//     static etb::Result<etb::bridge::ArgumentCounts> count_arguments(std::span<const std::byte> payload,
//                                                                     const etb::CompileSpecs& specs);
//     static etb::Verdict check_payload(const etb_payload_check&);   // optional: else "unknown"
//     static void describe_io(etb_io_req&);                          // optional: alignment and padding of tensors
//     static constexpr uint32_t kFlags = ETB_PLUGIN_OWN_THREADS;     // optional: claims about the plugin
//   };
//   using MyPlugin = etb::bridge::WrappedPlugin<MyBackend>;
//   ETB_DEFINE_PLUGIN(MyPlugin, "com.example.my-npu", "Example Inc.", "0.1.0")
//
// A struct derived from WrappedPlugin adds the ahead-of-time part: kOps, claim or partition, compile
// (etb/cpp/plugin.hpp). Needs ExecuTorch's headers, 1.5; docs/porting.md is the guide. Not part of the C ABI.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "etb/cpp/plugin.hpp"

namespace etb::bridge {

// Number of tensors that a payload's runs have. BackendInterface learns it from the program.
struct ArgumentCounts {
  uint32_t input_count = 0;
  uint32_t output_count = 0;
};

namespace detail {

namespace et = executorch::runtime;

// Errors of ExecuTorch have the numbers of etb/status.def.
inline Status from_executorch(et::Error error, const char* function) {
  if (error == et::Error::Ok) return {};
  auto code = static_cast<Code>(error);
  if (error == et::Error::DelegateMemoryAllocationFailed) code = Code::OUT_OF_MEMORY;
  return make_error(code, std::string("the backend's ") + function + " returned " + et::to_string(error));
}

// Passes the log of ExecuTorch's run time to the host while it lives, because a plugin does not write to standard error
// (ABI-HYG-01). The run time has one log in a process.
class LogRoute {
 public:
  explicit LogRoute(const Host& host) : host_(host) {
    et::register_pal(et::PalImpl::create(&write, "etb/bridge/executorch.hpp"));
    const std::lock_guard lock(mutex());
    current() = this;
  }
  LogRoute(const LogRoute&) = delete;
  LogRoute& operator=(const LogRoute&) = delete;
  ~LogRoute() {
    const std::lock_guard lock(mutex());
    if (current() == this) current() = nullptr;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex made;
    return made;
  }
  static LogRoute*& current() {
    static LogRoute* route = nullptr;
    return route;
  }
  static void write(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                    const char* message, size_t) {
    const std::lock_guard lock(mutex());
    if (current() == nullptr) return;
    const bool is_error = level == et_pal_log_level_t::kError || level == et_pal_log_level_t::kFatal;
    current()->host_.log(is_error ? ETB_LOG_ERROR : ETB_LOG_DEBUG, message);
  }

  Host host_;
};

// Memory from the heap for a backend that allocates from the run time, freed with this object or by reset().
class HeapAllocator final : public et::MemoryAllocator {
 public:
  HeapAllocator() : et::MemoryAllocator(0, nullptr) {}

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) return nullptr;
    void* const memory = ::operator new (size, std::align_val_t{alignment}, std::nothrow);
    if (memory != nullptr) blocks_.push_back({memory, Free{std::align_val_t{alignment}}});
    return memory;
  }
  void reset() override { blocks_.clear(); }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(void* memory) const { ::operator delete(memory, alignment); }
  };
  std::vector<std::unique_ptr<void, Free>> blocks_;
};

// Named data of the host. Without layouts and keys by number, which the C ABI does not have.
class HostData final : public et::NamedDataMap {
 public:
  explicit HostData(NamedData data) : data_(data) {}

  et::Result<const et::TensorLayout> get_tensor_layout(std::string_view) const override {
    return et::Error::NotImplemented;
  }
  et::Result<et::FreeableBuffer> get_data(std::string_view key) const override {
    Result<Payload> found = data_.get(std::string(key).c_str());
    if (!found) return static_cast<et::Error>(static_cast<uint32_t>(found.error().code));
    const std::span<const std::byte> bytes = found->bytes();
    return et::FreeableBuffer(
        bytes.data(), bytes.size(), [](void* kept, void*, size_t) { delete static_cast<Payload*>(kept); },
        new Payload(std::move(*found)));
  }
  et::Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    const Result<Payload> found = data_.get(std::string(key).c_str());
    if (!found) return static_cast<et::Error>(static_cast<uint32_t>(found.error().code));
    if (found->bytes().size() < size) return et::Error::InvalidExternalData;
    std::memcpy(buffer, found->bytes().data(), size);
    return et::Error::Ok;
  }
  et::Result<uint32_t> get_num_keys() const override { return et::Error::NotImplemented; }
  et::Result<const char*> get_key(uint32_t) const override { return et::Error::NotImplemented; }

 private:
  NamedData data_;
};

// One argument as the backend sees it.
class Argument {
 public:
  // The tensor is at its largest sizes, because TensorImpl takes its first sizes as the bound.
  Status bind(const etb::Tensor& tensor) {
    const etb_tensor& raw = tensor.raw();
    if (raw.buffer != nullptr)
      return make_error(Code::NOT_SUPPORTED, "a tensor in memory of a device, expected host memory");
    if (raw.rank > kMaxRank)
      return make_error(Code::NOT_SUPPORTED, "rank " + std::to_string(raw.rank) + ", expected at most " +
                                                 std::to_string(kMaxRank));
    const bool is_output = (raw.role & ETB_ROLE_INPUT) == 0;
    const int64_t* const sizes = is_output && raw.upper_sizes != nullptr ? raw.upper_sizes : raw.sizes;
    uint64_t nbytes = dtype_bits(raw.dtype) / 8;
    for (uint32_t i = 0; i < raw.rank; ++i) {
      if (sizes[i] < 0 || sizes[i] > INT32_MAX)
        return make_error(Code::INVALID_ARGUMENT, "size " + std::to_string(sizes[i]) + ", expected 32 bits");
      sizes_[i] = static_cast<int32_t>(sizes[i]);
      order_[i] = raw.dim_order != nullptr ? raw.dim_order[i] : static_cast<uint8_t>(i);
      nbytes *= static_cast<uint64_t>(sizes[i]);
    }
    if (nbytes > raw.capacity_bytes || (raw.data == nullptr && nbytes > 0))
      return make_error(Code::INVALID_ARGUMENT, "capacity of " + std::to_string(raw.capacity_bytes) +
                                                    " bytes, expected " + std::to_string(nbytes));
    ETB_TRY(from_executorch(et::dim_order_to_stride(sizes_.data(), order_.data(), raw.rank, strides_.data()),
                            "dim order"));
    ETB_TRY(check_strides(tensor));
    tensor_.emplace(static_cast<et::etensor::ScalarType>(raw.dtype), static_cast<ssize_t>(raw.rank),
                    sizes_.data(), raw.data, order_.data(), strides_.data(),
                    raw.upper_sizes != nullptr ? et::TensorShapeDynamism::DYNAMIC_BOUND
                                               : et::TensorShapeDynamism::STATIC);
    value_ = et::EValue(et::etensor::Tensor(&*tensor_));
    return {};
  }

  et::EValue* value() { return &value_; }

  // Copies the sizes that the backend left.
  Status read_sizes(OutputTensor output) const {
    std::array<int64_t, kMaxRank> sizes{};
    for (uint32_t i = 0; i < output.rank(); ++i) sizes[i] = tensor_->sizes()[i];
    return output.resize({sizes.data(), output.rank()});
  }

 private:
  static constexpr uint32_t kMaxRank = 16;

  // BackendInterface knows dense tensors only.
  Status check_strides(const etb::Tensor& tensor) const {
    const etb_tensor& raw = tensor.raw();
    for (uint32_t i = 0; raw.strides != nullptr && i < raw.rank; ++i)
      if (raw.sizes[i] > 1 && raw.strides[i] != strides_[i])
        return make_error(Code::INVALID_ARGUMENT, "stride " + std::to_string(raw.strides[i]) +
                                                      " of dimension " + std::to_string(i) + ", expected " +
                                                      std::to_string(strides_[i]) + ", a dense tensor");
    return {};
  }

  std::array<int32_t, kMaxRank> sizes_{}, strides_{};
  std::array<uint8_t, kMaxRank> order_{};
  std::optional<et::etensor::TensorImpl> tensor_;
  et::EValue value_;
};

}  // namespace detail

template <class Backend>
class WrappedPlugin;

// A handle of the backend.
template <class Backend>
class WrappedDelegate {
 public:
  static Result<WrappedDelegate> make(const WrappedPlugin<Backend>& plugin, CreateArgs& args) {
    namespace et = executorch::runtime;
    WrappedDelegate delegate;
    ETB_ASSIGN(delegate.counts_, Backend::count_arguments(args.payload.bytes(), args.specs));
    delegate.state_ = std::make_unique<State>(plugin.backend(), args.named_data);
    State& state = *delegate.state_;
    std::vector<et::CompileSpec> specs;
    for (uint64_t i = 0; i < args.specs.count(); ++i) {
      const std::span<const std::byte> value = args.specs.value(i);
      specs.push_back({args.specs.key(i).data(), {const_cast<std::byte*>(value.data()), value.size()}});
    }
    const std::span<const std::byte> bytes = args.payload.bytes();
    state.payload = std::make_unique<et::FreeableBuffer>(
        bytes.data(), bytes.size(), [](void* kept, void*, size_t) { delete static_cast<Payload*>(kept); },
        new Payload(std::move(args.payload)));
    et::BackendInitContext context(&state.memory, nullptr, kMethodName, &state.named_data);
    const auto handle = state.backend->init(context, state.payload.get(), {specs.data(), specs.size()});
    if (!handle.ok()) ETB_TRY(detail::from_executorch(handle.error(), "init"));
    state.handle = handle.get();
    state.is_made = true;
    return delegate;
  }

  // The interface allows one run of a handle at a time.
  etb::DelegateInfo info() const {
    etb::DelegateInfo info;
    info.input_count = counts_.input_count;
    info.output_count = counts_.output_count;
    info.max_contexts = 1;
    return info;
  }

  void describe_io(etb_io_req& req) const {
    if constexpr (requires { Backend::describe_io(req); }) Backend::describe_io(req);
  }

  class Context {
   public:
    explicit Context(const WrappedDelegate& delegate)
        : state_(*delegate.state_), arguments_(delegate.counts_.input_count + delegate.counts_.output_count) {
      for (detail::Argument& argument : arguments_) values_.push_back(argument.value());
    }

    Status execute(const Run& run) {
      namespace et = executorch::runtime;
      ETB_TRY(run.keep_going());
      for (uint32_t i = 0; i < arguments_.size(); ++i) {
        const bool is_input = i < run.input_count();
        const uint32_t index = is_input ? i : i - run.input_count();
        const Tensor tensor = is_input ? run.input(index) : Tensor(run.output(index).raw());
        if (Status bound = arguments_[i].bind(tensor); !bound)
          return tl::make_unexpected(with_context(std::move(bound).error(),
                                                  (is_input ? "input " : "output ") + std::to_string(index)));
      }
      const std::lock_guard lock(state_.mutex);
      et::BackendExecutionContext context(nullptr, &scratch_, kMethodName);
      const et::Error ran = state_.backend->execute(context, state_.handle, {values_.data(), values_.size()});
      scratch_.reset();
      ETB_TRY(detail::from_executorch(ran, "execute"));
      for (uint32_t i = 0; i < run.output_count(); ++i)
        ETB_TRY(arguments_[run.input_count() + i].read_sizes(run.output(i)));
      return run.keep_going();
    }

   private:
    typename WrappedDelegate::State& state_;
    detail::HeapAllocator scratch_;  // for one run
    std::vector<detail::Argument> arguments_;
    std::vector<executorch::runtime::EValue*> values_;
  };

 private:
  static constexpr const char* kMethodName = "forward";

  // On the heap, because the backend keeps addresses of it.
  struct State {
    State(executorch::runtime::BackendInterface* the_backend, NamedData data)
        : backend(the_backend), named_data(data) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() {
      if (is_made) backend->destroy(handle);
    }

    executorch::runtime::BackendInterface* backend;
    detail::HeapAllocator memory;  // lives as long as the handle
    detail::HostData named_data;
    std::unique_ptr<executorch::runtime::FreeableBuffer> payload;
    executorch::runtime::DelegateHandle* handle = nullptr;
    bool is_made = false;  // some backends have the handle NULL
    std::mutex mutex;      // held by the context that runs
  };

  ArgumentCounts counts_;
  std::unique_ptr<State> state_;
};

// The plugin class for ETB_DEFINE_PLUGIN.
template <class Backend>
class WrappedPlugin {
 public:
  using Delegate = WrappedDelegate<Backend>;
  static constexpr uint32_t kFlags = [] {
    if constexpr (requires { Backend::kFlags; })
      return Backend::kFlags;
    else
      return 0u;
  }();

  // Also called by the make of a derived plugin.
  Status connect(const Host& host) {
    executorch::runtime::runtime_init();
    log_ = std::make_unique<detail::LogRoute>(host);
    backend_ = Backend::find();
    if (backend_ == nullptr) return make_error(Code::UNAVAILABLE, "the backend is not in this library");
    if (!backend_->is_available())
      return make_error(Code::UNAVAILABLE, "the backend's is_available returned false");
    return {};
  }
  static Result<WrappedPlugin> make(const Host& host, const Options&) {
    WrappedPlugin plugin;
    ETB_TRY(plugin.connect(host));
    return plugin;
  }

  Verdict check_payload(const etb_payload_check& check) const {
    if constexpr (requires { Backend::check_payload(check); })
      return Backend::check_payload(check);
    else
      return {};
  }

  executorch::runtime::BackendInterface* backend() const { return backend_; }

 private:
  executorch::runtime::BackendInterface* backend_ = nullptr;
  std::unique_ptr<detail::LogRoute> log_;
};

}  // namespace etb::bridge
