// SPDX-License-Identifier: Apache-2.0
//
// Running programs (.pte) from C++, header-only over the C API: link libetbackend.
//
//   #include "etb/cpp/module.hpp"
//
//   etb::Module module("model.pte");
//   const auto outputs = module.forward(etb::Value({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f}));
//   std::printf("%g\n", outputs[0].data<float>()[0]);
//
// Delegates of the program run on installed plugins, found by name. Options choose other plugins, devices and
// threads. Errors are exceptions of class etb::Failure, whose what() says what was found, what was expected and where.
// A Module is used by one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etb/cpp/failure.hpp"
#include "etb/cpp/fixed_memory.hpp"
#include "etb/cpp/recording.hpp"
#include "etb/cpp/registry.hpp"
#include "etb/cpp/value.hpp"
#include "etb/etbackend.h"

namespace etb {

// Options of a module. Texts are copied when the module is opened.
struct ModuleOptions {
  uint32_t thread_count = 0;           // for kernels and plugins; 0: one for each processor
  uint32_t load_mode = ETB_LOAD_MMAP;  // ETB_LOAD_*
  uint64_t max_memory_bytes = 0;       // 0: 16 GiB, or less
  uint64_t max_device_bytes = 0;       // most bytes of the delegates of one device; 0: no limit
  uint64_t random_seed = 0;            // seed of operators that draw random numbers
  bool allows_plugins = true;
  bool is_async = false;  // delegates run beside instructions that do not depend on them (ETB_MODULE_ASYNC)
  bool shares_arenas = false;  // all methods use one set of arenas; they must not depend on each other's
  bool is_secure = false;      // kernel libraries need a digest and belong to root
  const Registry* registry = nullptr;        // whose plugins and threads to use; NULL: the installed plugins
  std::vector<std::string> data_files = {};  // external weights (.ptd)
  std::vector<std::string> kernel_libraries = {};  // PATH or PATH@sha256:HEX

  // Plugin and device for the delegates of an id; empty: by the usual rules, the plugin's default device.
  struct Choice {
    std::string backend_id, plugin_id = {}, device = {};
  };
  std::vector<Choice> choices = {};

  // Option of a delegate, its device, its contexts or its runs, as text.
  struct Setting {
    std::string backend_id, key, text;
  };
  std::vector<Setting> settings = {};

  const etb_alloc_service* allocator = nullptr;  // lives as long as the module
  // Allocators of planned memory by id, from 1; NULL: `allocator`. They live as long as the module. See FixedMemory.
  std::vector<const etb_alloc_service*> memory_allocators = {};
  const etb_trace_sink* trace = nullptr;  // lives as long as the module
  const Recording* recording = nullptr;   // lives as long as the module; not with `trace`
};

// Description of an input or output. The sizes of a dynamic tensor are its largest.
struct Spec {
  uint32_t kind = ETB_VALUE_NONE;  // ETB_VALUE_*
  etb_dtype dtype = 0;             // of a tensor
  std::vector<int64_t> sizes = {};
  bool is_dynamic = false;
  uint64_t nbytes = 0;  // at the largest sizes
};

// A program with its methods. Where a function takes the name of a method, "" means "forward", or the first method.
class Module {
 public:
  explicit Module(const std::string& path, const ModuleOptions& options = {}) {
    open(options, [&](const etb_module_options* raw, etb_module** out, etb_error* error) {
      return etb_module_open(path.c_str(), raw, out, error);
    });
  }
  // The bytes live as long as the module and begin on a 16-byte boundary.
  explicit Module(std::span<const std::byte> program, const ModuleOptions& options = {}) {
    open(options, [&](const etb_module_options* raw, etb_module** out, etb_error* error) {
      return etb_module_open_bytes({program.data(), program.size()}, raw, out, error);
    });
  }

  // Opens a part of a plain file, such as an asset in a package; nbytes 0: to its end.
  static Module from_descriptor(int descriptor, uint64_t offset = 0, uint64_t nbytes = 0,
                                const ModuleOptions& options = {}) {
    Module made;
    made.open(options, [&](const etb_module_options* raw, etb_module** out, etb_error* error) {
      return etb_module_open_descriptor(descriptor, offset, nbytes, raw, out, error);
    });
    return made;
  }
  // Opens a second module on the same program, with methods, memory and state of its own: for a second thread. With the same
  // registry and choices it uses the delegates of this module, so weights are not loaded again.
  Module again(const ModuleOptions& options = {}) const {
    Module made;
    made.open(options, [&](const etb_module_options* raw, etb_module** out, etb_error* error) {
      return etb_module_open_again(get(), raw, out, error);
    });
    return made;
  }

  etb_module* get() const noexcept { return handle_.get(); }

  std::vector<std::string> method_names() const {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < etb_module_method_count(get()); ++i)
      names.emplace_back(etb_module_method_name(get(), i));
    return names;
  }

  // Inputs and outputs of a method, and the ids of its delegates. The method need not be loaded.
  std::vector<Spec> inputs(const std::string& method = {}) const { return specs(method, true); }
  std::vector<Spec> outputs(const std::string& method = {}) const { return specs(method, false); }
  std::vector<std::string> delegates(const std::string& method = {}) const {
    uint32_t count = 0;
    detail::must(
        [&](etb_error* error) { return etb_module_delegate_count(get(), name_of(method), &count, error); });
    std::vector<std::string> ids;
    for (uint32_t i = 0; i < count; ++i) {
      const char* id = nullptr;
      detail::must(
          [&](etb_error* error) { return etb_module_delegate_id(get(), name_of(method), i, &id, error); });
      ids.emplace_back(id);
    }
    return ids;
  }

  // Loads a method before its first run, which would load it otherwise.
  void load(const std::string& method = {}) {
    detail::must([&](etb_error* error) { return etb_module_load_method(get(), name_of(method), error); });
  }

  // Ends a method and its state; the next run starts from initial values.
  void unload(const std::string& method = {}) noexcept { etb_module_unload_method(get(), name_of(method)); }

  // Runs a method on one value for each input. Tensors of the result belong to the module and are valid until the
  // method runs again.
  std::vector<Value> execute(const std::string& method, std::span<const Value> inputs,
                             const etb_run_limits* limits = nullptr) {
    const uint32_t count = output_count(method);
    Slots given(inputs.size()), made(count);
    for (size_t i = 0; i < inputs.size(); ++i) given.data()[i] = inputs[i].raw();
    // The library fills all of an output; these two fields say which version of the struct it is.
    for (uint32_t i = 0; i < count; ++i) {
      made.data()[i].struct_size = ETB_INIT_SIZE(etb_value);
      made.data()[i].flags = 0;
    }
    detail::must([&](etb_error* error) {
      return etb_module_call(get(), name_of(method), given.data(), static_cast<uint32_t>(inputs.size()),
                             limits, made.data(), count, error);
    });
    std::vector<Value> outputs;
    outputs.reserve(count);
    for (uint32_t i = 0; i < count; ++i) outputs.emplace_back(Value::Output(), made.data()[i]);
    return outputs;
  }

  // Runs "forward", or the first method: module.forward(x), module.forward(x, 3).
  template <class... Inputs>
  std::vector<Value> forward(Inputs&&... inputs) {
    const Value given[sizeof...(Inputs) + 1] = {Value(std::forward<Inputs>(inputs))..., Value()};
    return execute({}, std::span(given, sizeof...(Inputs)));
  }

  // The steps of a run, for an application that sets some inputs only once, or waits for the result later.
  void set_input(uint32_t index, const Value& value, const std::string& method = {}) {
    detail::must([&](etb_error* error) {
      return etb_module_set_input(get(), name_of(method), index, &value.raw(), error);
    });
  }
  void run(const std::string& method = {}, const etb_run_limits* limits = nullptr) {
    detail::must([&](etb_error* error) { return etb_module_execute(get(), name_of(method), limits, error); });
  }
  // Returns an output of the last run; it belongs to the module and is valid until the method runs again.
  Value output(uint32_t index, const std::string& method = {}) {
    etb_value value = ETB_VALUE_INIT;
    detail::must([&](etb_error* error) {
      return etb_module_get_output(get(), name_of(method), index, &value, error);
    });
    return Value(Value::Output(), value);
  }
  // Changes an option of the delegates with this id, from the next run on: see etb_module_set_option.
  void set_option(const std::string& backend_id, const std::string& key, const std::string& text) {
    detail::must([&](etb_error* error) {
      return etb_module_set_option(get(), backend_id.c_str(), key.c_str(), text.c_str(), error);
    });
  }
  // Starts a run on a thread of the module. Until wait() has returned true, only wait() and cancel() are allowed.
  void start(const std::string& method = {}, const etb_run_limits* limits = nullptr) {
    detail::must([&](etb_error* error) {
      return etb_module_start(get(), name_of(method), limits, nullptr, nullptr, error);
    });
  }
  // As above. `done` is called once, on the module's thread, with NULL or the error of the run. The module is ready for
  // further calls then: `done` may start the next run. It must not throw, wait for the module or close it.
  void start(std::function<void(const etb_error*)> done, const std::string& method = {},
             const etb_run_limits* limits = nullptr) {
    auto held = std::make_unique<std::function<void(const etb_error*)>>(std::move(done));
    detail::must([&](etb_error* error) {
      return etb_module_start(
          get(), name_of(method), limits,
          [](void* ctx, etb_status, const etb_error* failure) {
            const std::unique_ptr<std::function<void(const etb_error*)>> call(
                static_cast<std::function<void(const etb_error*)>*>(ctx));
            (*call)(failure);
          },
          held.get(), error);
    });
    held.release();
  }
  // Returns false if the run has not ended in time. Throws the error of the run.
  bool wait(uint64_t timeout_ns = UINT64_MAX) {
    etb_error error = ETB_ERROR_INIT;
    const etb_status status = etb_module_wait(get(), timeout_ns, &error);
    if (status == ETB_OK) return true;
    if (status == ETB_DEADLINE_EXCEEDED && std::string_view(error.reason) == "module.running") return false;
    error.code = status;
    throw Failure(error);
  }
  // Asks the present run to stop; its wait() throws ETB_CANCELLED. From any thread.
  void cancel() noexcept { etb_module_cancel(get()); }

  // The plugins that serve the delegates of the loaded methods: pairs of delegate id and plugin id.
  std::vector<std::pair<std::string, std::string>> decisions() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (uint32_t i = 0; i < etb_module_decision_count(get()); ++i) {
      etb_decision decision = ETB_DECISION_INIT;
      detail::must([&](etb_error* error) { return etb_module_decision(get(), i, &decision, error); });
      out.emplace_back(decision.backend_id, decision.plugin_id);
    }
    return out;
  }

 private:
  Module() = default;

  struct Close {
    void operator()(etb_module* module) const noexcept { etb_module_close(module); }
  };

  // Values of one call: on the stack when they are few.
  class Slots {
   public:
    explicit Slots(size_t count) {
      if (count > few_.size()) many_.resize(count);
    }
    etb_value* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }

   private:
    std::array<etb_value, 8> few_;
    std::vector<etb_value> many_;
  };

  std::vector<Spec> specs(const std::string& method, bool is_input) const {
    uint32_t input_count = 0, output_count = 0;
    detail::must([&](etb_error* error) {
      return etb_module_io_count(get(), name_of(method), &input_count, &output_count, error);
    });
    const auto describe = is_input ? &etb_module_input_spec : &etb_module_output_spec;
    std::vector<Spec> found;
    for (uint32_t i = 0; i < (is_input ? input_count : output_count); ++i) {
      etb_value value = ETB_VALUE_INIT;
      detail::must([&](etb_error* error) { return describe(get(), name_of(method), i, &value, error); });
      const etb_tensor& tensor = value.tensor;
      found.push_back({value.kind, tensor.dtype,
                       std::vector<int64_t>(tensor.sizes, tensor.sizes + tensor.rank),
                       tensor.upper_sizes != nullptr, tensor.capacity_bytes});
    }
    return found;
  }

  // Keeps the answer for the latest method: a program's counts do not change.
  uint32_t output_count(const std::string& method) {
    if (!has_counted_ || method != counted_method_) {
      detail::must([&](etb_error* error) {
        return etb_module_io_count(get(), name_of(method), nullptr, &counted_outputs_, error);
      });
      counted_method_ = method;
      has_counted_ = true;
    }
    return counted_outputs_;
  }

  static const char* name_of(const std::string& method) { return method.empty() ? nullptr : method.c_str(); }

  template <class Call>
  void open(const ModuleOptions& options, Call call) {
    std::vector<const char*> data_files, libraries;
    for (const std::string& file : options.data_files) data_files.push_back(file.c_str());
    for (const std::string& library : options.kernel_libraries) libraries.push_back(library.c_str());
    std::vector<etb_backend_choice> choices;
    for (const ModuleOptions::Choice& choice : options.choices)
      choices.push_back({ETB_INIT_SIZE(etb_backend_choice), 0, choice.backend_id.c_str(),
                         name_of(choice.plugin_id), name_of(choice.device)});
    std::vector<etb_setting> settings;
    for (const ModuleOptions::Setting& setting : options.settings)
      settings.push_back({ETB_INIT_SIZE(etb_setting), 0, setting.backend_id.c_str(), setting.key.c_str(),
                          setting.text.c_str()});
    etb_module_options raw = ETB_MODULE_OPTIONS_INIT;
    raw.flags = (options.allows_plugins ? 0 : ETB_MODULE_NO_PLUGINS) |
                (options.shares_arenas ? ETB_MODULE_SHARED_ARENAS : 0) |
                (options.is_secure ? ETB_MODULE_SECURE : 0) | (options.is_async ? ETB_MODULE_ASYNC : 0);
    raw.random_seed = options.random_seed;
    raw.load_mode = options.load_mode;
    raw.thread_count = options.thread_count;
    raw.max_memory_bytes = options.max_memory_bytes;
    raw.max_device_bytes = options.max_device_bytes;
    raw.registry = options.registry == nullptr ? nullptr : options.registry->get();
    raw.data_paths = data_files.data(), raw.data_path_count = data_files.size();
    raw.kernel_libraries = libraries.data(), raw.kernel_library_count = libraries.size();
    raw.choices = choices.data(), raw.choice_count = choices.size();
    raw.settings = settings.data(), raw.setting_count = settings.size();
    raw.allocator = options.allocator;
    etb_memory_allocators memories = ETB_MEMORY_ALLOCATORS_INIT;
    memories.by_id = options.memory_allocators.data(), memories.count = options.memory_allocators.size();
    if (memories.count != 0) raw.memory_allocators = &memories;
    raw.trace = options.trace;
    raw.recording = options.recording == nullptr ? nullptr : options.recording->get();
    etb_module* made = nullptr;
    detail::must([&](etb_error* error) { return call(&raw, &made, error); });
    handle_.reset(made);
  }

  std::unique_ptr<etb_module, Close> handle_;
  std::string counted_method_;
  uint32_t counted_outputs_ = 0;
  bool has_counted_ = false;
};

}  // namespace etb
