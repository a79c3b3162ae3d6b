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

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "etb/etbackend.h"

namespace etb {

// A failed call of the library.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const etb_error& error)
      : std::runtime_error(error.text),
        code_(error.code),
        reason_(error.reason),
        hint_(etb_error_hint(&error)) {}

  etb_status code() const noexcept { return code_; }              // ETB_NOT_FOUND and the like
  const std::string& reason() const noexcept { return reason_; }  // stable id for programs, or ""
  const std::string& hint() const noexcept { return hint_; }      // advice for the user, or ""

 private:
  etb_status code_;
  std::string reason_, hint_;
};

namespace detail {

// Calls `call(&error)` and throws unless it returns ETB_OK. Clears only the begin of each text: zeroing all of an
// error would take longer than a small call.
template <class Call>
void must(Call call) {
  etb_error error;
  error.struct_size = sizeof error;
  error.flags = 0;
  error.vendor_code = 0;
  error.reason[0] = error.text[0] = '\0';
  if (const etb_status status = call(&error); status != ETB_OK) {
    error.code = status;
    throw Failure(error);
  }
}

}  // namespace detail

// The dtype of a C++ type.
template <class T>
constexpr etb_dtype dtype_of() noexcept {
  if constexpr (std::is_same_v<T, bool>)
    return ETB_DTYPE_BOOL;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return ETB_DTYPE_UINT8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return ETB_DTYPE_INT8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return ETB_DTYPE_INT16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return ETB_DTYPE_INT32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return ETB_DTYPE_INT64;
  else if constexpr (std::is_same_v<T, float>)
    return ETB_DTYPE_FLOAT32;
  else if constexpr (std::is_same_v<T, double>)
    return ETB_DTYPE_FLOAT64;
  else
    static_assert(!sizeof(T), "no dtype for this type; use Value::view");
}

// An input or output: a tensor, a number, a bool, or none. It owns its elements, or borrows them (view(), outputs).
class Value {
 public:
  Value() = default;  // none
  Value(int64_t integer) { raw_.kind = ETB_VALUE_INT, raw_.integer = integer; }
  Value(int integer) : Value(int64_t{integer}) {}
  Value(double real) { raw_.kind = ETB_VALUE_DOUBLE, raw_.real = real; }
  Value(const char*) = delete;  // would become a bool
  Value(bool boolean) { raw_.kind = ETB_VALUE_BOOL, raw_.boolean = boolean ? 1 : 0; }

  // Copies the elements, in row-major order. Throws std::invalid_argument when their number is not that of the
  // sizes.
  template <class T>
  Value(std::span<const int64_t> sizes, std::span<const T> elements) {
    check_count(sizes, elements.size());
    const auto* const first = reinterpret_cast<const std::byte*>(elements.data());
    bytes_ = std::make_shared<std::vector<std::byte>>(first, first + elements.size_bytes());
    set_tensor(dtype_of<T>(), sizes, bytes_->data(), elements.size_bytes());
  }
  template <class T>
  Value(std::initializer_list<int64_t> sizes, std::initializer_list<T> elements)
      : Value(std::span(sizes.begin(), sizes.size()), std::span<const T>(elements.begin(), elements.size())) {
  }
  template <class T>
  Value(std::initializer_list<int64_t> sizes, const std::vector<T>& elements)
      : Value(std::span(sizes.begin(), sizes.size()), std::span<const T>(elements)) {}

  // Borrows row-major elements, which live as long as the value. The library only reads inputs.
  template <class T>
  static Value view(std::span<const int64_t> sizes, std::span<const T> elements) {
    check_count(sizes, elements.size());
    return view(dtype_of<T>(), sizes, elements.data(), elements.size_bytes());
  }
  static Value view(etb_dtype dtype, std::span<const int64_t> sizes, const void* data, uint64_t nbytes) {
    Value value;
    value.set_tensor(dtype, sizes, const_cast<void*>(data), nbytes);
    return value;
  }

  uint32_t kind() const noexcept { return raw_.kind; }  // ETB_VALUE_*
  bool is_tensor() const noexcept { return raw_.kind == ETB_VALUE_TENSOR; }
  etb_dtype dtype() const { return tensor().dtype; }
  std::span<const int64_t> sizes() const { return {tensor().sizes, tensor().rank}; }

  // Number of elements.
  size_t size() const {
    size_t count = 1;
    for (const int64_t size : sizes()) count *= static_cast<size_t>(size);
    return count;
  }

  // The elements in the order in which they lie: row-major, unless the tensor has another dim order (raw()). Throws
  // std::invalid_argument for another dtype.
  template <class T>
  std::span<const T> data() const {
    if (tensor().dtype != dtype_of<T>())
      throw std::invalid_argument("etb::Value: the tensor has another dtype");
    return {static_cast<const T*>(tensor().data), size()};
  }

  int64_t to_int() const { return expect(ETB_VALUE_INT).integer; }
  double to_double() const { return expect(ETB_VALUE_DOUBLE).real; }
  bool to_bool() const { return expect(ETB_VALUE_BOOL).boolean != 0; }

  // The value as the C API has it; valid as long as this object is, and not moved.
  const etb_value& raw() const {
    if (is_tensor()) raw_.tensor.sizes = const_cast<int64_t*>(sizes_.data());
    return raw_;
  }

  // Borrows an output of a module; its sizes are copied. Only Module makes the tag.
  class Output {
    friend class Module;
    Output() = default;
  };
  Value(Output, const etb_value& output) : raw_(output) {
    if (is_tensor()) copy_sizes({output.tensor.sizes, output.tensor.rank});
  }

 private:
  const etb_value& expect(uint32_t kind) const {
    if (raw_.kind != kind) throw std::invalid_argument("etb::Value: the value is of another kind");
    return raw_;
  }
  const etb_tensor& tensor() const {
    expect(ETB_VALUE_TENSOR);
    return raw().tensor;
  }

  static void check_count(std::span<const int64_t> sizes, size_t count) {
    size_t expected = 1;
    for (const int64_t size : sizes) expected *= static_cast<size_t>(size);
    if (expected != count)
      throw std::invalid_argument("etb::Value: " + std::to_string(count) + " elements, the sizes need " +
                                  std::to_string(expected));
  }

  void copy_sizes(std::span<const int64_t> sizes) { std::copy(sizes.begin(), sizes.end(), sizes_.begin()); }

  void set_tensor(etb_dtype dtype, std::span<const int64_t> sizes, void* data, uint64_t nbytes) {
    if (sizes.size() > sizes_.size())
      throw std::invalid_argument("etb::Value: rank " + std::to_string(sizes.size()) + ", expected at most " +
                                  std::to_string(sizes_.size()));
    copy_sizes(sizes);
    raw_ = etb_value_tensor(dtype, static_cast<uint32_t>(sizes.size()), sizes_.data(), data, nbytes);
  }

  mutable etb_value raw_ = ETB_VALUE_INIT;
  std::array<int64_t, ETB_MAX_RANK> sizes_{};  // of a tensor; inside, so that outputs need no allocations
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

// A search for plugins (etb/registry.h). Modules opened with it keep what they need of it.
class Registry {
 public:
  explicit Registry(const etb_registry_options& options = ETB_REGISTRY_OPTIONS_INIT) {
    etb_registry* made = nullptr;
    detail::must([&](etb_error* error) { return etb_registry_open(&options, &made, error); });
    handle_.reset(made);
  }

  etb_registry* get() const noexcept { return handle_.get(); }

  // All plugins found, usable or not. The texts are borrowed from this object.
  std::vector<etb_plugin_info> plugins() const {
    std::vector<etb_plugin_info> out(etb_registry_plugin_count(get()), etb_plugin_info(ETB_PLUGIN_INFO_INIT));
    for (uint32_t i = 0; i < out.size(); ++i)
      detail::must([&](etb_error* error) { return etb_registry_plugin(get(), i, &out[i], error); });
    return out;
  }

  // The decision for a name as JSON.
  std::string explain(const std::string& name) const {
    std::string text;
    etb_text_sink sink{};
    sink.struct_size = ETB_INIT_SIZE(etb_text_sink);
    sink.ctx = &text;
    sink.put = [](void* ctx, const char* part) -> etb_status {
      static_cast<std::string*>(ctx)->append(part);
      return ETB_OK;
    };
    detail::must([&](etb_error* error) { return etb_registry_explain(get(), name.c_str(), &sink, error); });
    return text;
  }

 private:
  struct Close {
    void operator()(etb_registry* registry) const noexcept { etb_registry_close(registry); }
  };
  std::unique_ptr<etb_registry, Close> handle_;
};

// Options of a recording (etb/recording.h). Texts are copied.
struct RecordingOptions {
  // Choice by name and index, as etb_recording_filter.
  struct Filter {
    std::string pattern = {};  // regular expression; "": any name
    uint64_t first_id = 0, id_count = 0;
  };
  bool has_instructions = true;            // false: only the times of whole methods
  uint32_t values = ETB_RECORD_NO_VALUES;  // ETB_RECORD_*
  bool has_allocations = false;
  Filter event_filter = {}, value_filter = {};
  std::string debug_path = {};   // file of the debug buffer; "": memory
  uint64_t max_debug_bytes = 0;  // 0: 16 GiB
  uint64_t max_event_bytes = 0;  // 0: 512 MiB
};

// A record of what a module does, as an ETDump:
//
//   etb::Recording recording;
//   etb::ModuleOptions options;
//   options.recording = &recording;
//   etb::Module("model.pte", options).forward(x);
//   recording.write("run.etdp");
class Recording {
 public:
  explicit Recording(const RecordingOptions& options = {}) {
    const etb_recording_filter events = to_raw(options.event_filter), values = to_raw(options.value_filter);
    etb_recording_options raw = ETB_RECORDING_OPTIONS_INIT;
    raw.flags = options.has_allocations ? ETB_RECORD_ALLOCATIONS : 0;
    raw.instructions = options.has_instructions ? ETB_RECORD_ALL : ETB_RECORD_METHOD;
    raw.values = options.values;
    raw.event_filter = &events;
    raw.value_filter = &values;
    raw.debug_path = options.debug_path.empty() ? nullptr : options.debug_path.c_str();
    raw.max_debug_bytes = options.max_debug_bytes;
    raw.max_event_bytes = options.max_event_bytes;
    etb_recording* made = nullptr;
    detail::must([&](etb_error* error) { return etb_recording_open(&raw, &made, error); });
    handle_.reset(made);
  }

  etb_recording* get() const noexcept { return handle_.get(); }

  // Writes the ETDump, and ends a debug buffer in a file.
  void write(const std::string& path) const {
    detail::must([&](etb_error* error) { return etb_recording_write(get(), path.c_str(), error); });
  }
  // The ETDump, and the debug buffer in memory.
  std::vector<std::byte> bytes() const { return copy(&etb_recording_bytes); }
  std::vector<std::byte> debug_bytes() const { return copy(&etb_recording_debug_bytes); }

  void clear() noexcept { etb_recording_clear(get()); }
  // Index of the inputs of the next runs in a BundledProgram; -1: none.
  void set_input_index(int32_t index) noexcept { etb_recording_set_input_index(get(), index); }
  uint64_t dropped_count() const noexcept { return etb_recording_dropped_count(get()); }

 private:
  struct Close {
    void operator()(etb_recording* recording) const noexcept { etb_recording_close(recording); }
  };
  static etb_recording_filter to_raw(const RecordingOptions::Filter& filter) {
    return {ETB_INIT_SIZE(etb_recording_filter), 0, filter.pattern.empty() ? nullptr : filter.pattern.c_str(),
            filter.first_id, filter.id_count};
  }
  template <class Get>
  std::vector<std::byte> copy(Get get_bytes) const {
    etb_bytes bytes{};
    detail::must([&](etb_error* error) { return get_bytes(get(), &bytes, error); });
    const auto* const first = static_cast<const std::byte*>(bytes.data);
    return std::vector<std::byte>(first, first + bytes.nbytes);
  }
  std::unique_ptr<etb_recording, Close> handle_;
};

// Options of a module. Texts are copied when the module is opened.
struct ModuleOptions {
  uint32_t thread_count = 0;           // for kernels and plugins; 0: one for each processor
  uint32_t load_mode = ETB_LOAD_MMAP;  // ETB_LOAD_*
  uint64_t max_memory_bytes = 0;       // 0: 16 GiB, or less
  bool allows_plugins = true;
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
  const etb_trace_sink* trace = nullptr;         // lives as long as the module
  const Recording* recording = nullptr;          // lives as long as the module; not with `trace`
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

  etb_module* get() const noexcept { return handle_.get(); }

  std::vector<std::string> method_names() const {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < etb_module_method_count(get()); ++i)
      names.emplace_back(etb_module_method_name(get(), i));
    return names;
  }

  // Loads a method before its first run, which would load it otherwise.
  void load(const std::string& method = {}) {
    detail::must([&](etb_error* error) { return etb_module_load_method(get(), name_of(method), error); });
  }

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
    raw.flags = options.allows_plugins ? 0 : ETB_MODULE_NO_PLUGINS;
    raw.load_mode = options.load_mode;
    raw.thread_count = options.thread_count;
    raw.max_memory_bytes = options.max_memory_bytes;
    raw.registry = options.registry == nullptr ? nullptr : options.registry->get();
    raw.data_paths = data_files.data(), raw.data_path_count = data_files.size();
    raw.kernel_libraries = libraries.data(), raw.kernel_library_count = libraries.size();
    raw.choices = choices.data(), raw.choice_count = choices.size();
    raw.settings = settings.data(), raw.setting_count = settings.size();
    raw.allocator = options.allocator;
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
