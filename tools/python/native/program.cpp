// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "dtypes.hpp"
#include "frameworks.hpp"
#include "output_array.hpp"
#include "python_error.hpp"

namespace etb::python {

namespace nb = nanobind;

namespace {

// Holds a program for one call. Waits without the GIL.
class Use {
 public:
  explicit Use(OpenProgram& program) : program_(program) {
    // A finalizer of Python may run inside a call, and use the same program: it would wait for itself.
    if (program.user.load(std::memory_order_relaxed) == std::this_thread::get_id())
      raise_error(ETB_BUSY, "python.reentered",
                  "the program is used by a call that is not over on this thread");
    if (!program.mutex.try_lock()) {
      const nb::gil_scoped_release released;
      program.mutex.lock();
    }
    program.user.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    program_.user.store({}, std::memory_order_relaxed);
    program_.mutex.unlock();
  }

 private:
  OpenProgram& program_;
};

// NULL for "": an absent text.
const char* text_or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& text : texts) out.push_back(text.c_str());
  return out;
}

// etb_module_options over ProgramOptions, which it borrows.
class RawOptions {
 public:
  RawOptions(const ProgramOptions& given, etb_recording* recording)
      : data_paths_(pointers(given.data_paths)), libraries_(pointers(given.kernel_libraries)) {
    for (const auto& [id, plugin, device] : given.choices)
      choices_.push_back(
          {ETB_INIT_SIZE(etb_backend_choice), 0, id.c_str(), text_or_null(plugin), text_or_null(device)});
    for (const auto& [id, key, text] : given.settings)
      settings_.push_back({ETB_INIT_SIZE(etb_setting), 0, id.c_str(), key.c_str(), text.c_str()});
    raw.flags = given.flags;
    raw.load_mode = given.load_mode;
    raw.thread_count = given.threads;
    raw.max_memory_bytes = given.max_memory_bytes;
    raw.random_seed = given.random_seed;
    raw.data_paths = data_paths_.data(), raw.data_path_count = data_paths_.size();
    raw.kernel_libraries = libraries_.data(), raw.kernel_library_count = libraries_.size();
    raw.choices = choices_.data(), raw.choice_count = choices_.size();
    raw.settings = settings_.data(), raw.setting_count = settings_.size();
    raw.recording = recording;
    if (!given.plugin_paths.empty() || given.registry_flags != 0) open_registry(given);
  }
  RawOptions(const RawOptions&) = delete;
  RawOptions& operator=(const RawOptions&) = delete;
  ~RawOptions() { etb_registry_close(raw.registry); }  // the module keeps what it needs of it

  etb_module_options raw = ETB_MODULE_OPTIONS_INIT;

 private:
  void open_registry(const ProgramOptions& given) {
    const std::vector<const char*> paths = pointers(given.plugin_paths);
    etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
    options.flags = given.registry_flags;
    options.search_paths = paths.data(), options.search_path_count = paths.size();
    options.thread_count = given.threads;
    must([&](etb_error* error) { return etb_registry_open(&options, &raw.registry, error); });
    raw.thread_count = 0;  // the registry has the threads
  }

  std::vector<const char*> data_paths_, libraries_;
  std::vector<etb_backend_choice> choices_;
  std::vector<etb_setting> settings_;
};

Spec to_spec(const etb_value& value) {
  Spec spec;
  spec.kind = value.kind;
  if (value.kind != ETB_VALUE_TENSOR) return spec;
  const etb_tensor& tensor = value.tensor;
  spec.dtype = tensor.dtype;
  spec.sizes.assign(tensor.sizes, tensor.sizes + tensor.rank);
  spec.dim_order.resize(tensor.rank);
  for (uint32_t i = 0; i < tensor.rank; ++i)
    spec.dim_order[i] = tensor.dim_order == nullptr ? static_cast<uint8_t>(i) : tensor.dim_order[i];
  spec.nbytes = tensor.capacity_bytes;
  spec.is_dynamic = tensor.upper_sizes != nullptr;
  return spec;
}

using GetSpec = etb_status(ETB_CALL*)(etb_module*, const char*, uint32_t, etb_value*, etb_error*);

std::vector<Spec> read_specs(etb_module* module, const char* method, uint32_t count, GetSpec get) {
  std::vector<Spec> out;
  for (uint32_t i = 0; i < count; ++i) {
    etb_value value = ETB_VALUE_INIT;
    must([&](etb_error* error) { return get(module, method, i, &value, error); });
    out.push_back(to_spec(value));
  }
  return out;
}

// (kind, dtype, name of the dtype, sizes, dim order, is dynamic, bytes) for each.
nb::list to_list(const std::vector<Spec>& specs) {
  nb::list out;
  for (const Spec& spec : specs) {
    nb::list sizes, order;
    for (const int64_t size : spec.sizes) sizes.append(size);
    for (const uint8_t dim : spec.dim_order) order.append(static_cast<int>(dim));
    out.append(nb::make_tuple(spec.kind, spec.dtype, name_of(spec.dtype), nb::tuple(sizes), nb::tuple(order),
                              spec.is_dynamic, spec.nbytes));
  }
  return out;
}

etb_recording* open_recording(const ProgramOptions& given) {
  etb_recording_options options = ETB_RECORDING_OPTIONS_INIT;
  options.flags = given.record_flags;
  options.values = given.record_values;
  options.max_debug_bytes = given.max_debug_bytes;
  etb_recording* opened = nullptr;
  must([&](etb_error* error) { return etb_recording_open(&options, &opened, error); });
  return opened;
}

// The recording of a program whose mutex is held.
etb_recording* recording_of(const OpenProgram& program) {
  if (program.recording == nullptr)
    raise_error(ETB_INVALID_STATE, "python.not-recorded",
                "the runs of the program are not recorded\nhint: Runtime.load(..., profile=True)");
  return program.recording;
}

nb::bytes to_bytes(const etb_bytes& bytes) { return nb::bytes(bytes.data, bytes.nbytes); }

}  // namespace

OpenProgram::OpenProgram(const ProgramOptions& options)
    : recording(options.is_recorded ? open_recording(options) : nullptr) {}

OpenProgram::~OpenProgram() {
  const nb::gil_scoped_release released;
  etb_module_close(module);
  etb_recording_close(recording);
}

std::shared_ptr<OpenProgram> Program::use(const std::shared_ptr<Slot>& slot) {
  std::shared_ptr<OpenProgram> opened = slot->program;
  if (opened == nullptr)
    raise_error(ETB_INVALID_STATE, "python.closed",
                "the program was closed\nhint: load it again with Runtime.load");
  return opened;
}

Program Program::open_file(nb::bytes path, const ProgramOptions& options) {
  auto opened = std::make_shared<OpenProgram>(options);
  RawOptions raw(options, opened->recording);
  must([&](etb_error* error) { return etb_module_open(path.c_str(), &raw.raw, &opened->module, error); });
  return Program(std::move(opened));
}

Program Program::open_bytes(nb::bytes bytes, const ProgramOptions& options) {
  auto opened = std::make_shared<OpenProgram>(options);
  RawOptions raw(options, opened->recording);
  opened->bytes = bytes;
  must([&](etb_error* error) {
    return etb_module_open_bytes({bytes.data(), bytes.size()}, &raw.raw, &opened->module, error);
  });
  return Program(std::move(opened));
}

nb::list Program::method_names() const {
  const auto opened = use(opened_);
  nb::list names;
  for (uint32_t i = 0; i < etb_module_method_count(opened->module); ++i)
    names.append(text_of(etb_module_method_name(opened->module, i), "surrogateescape"));
  return names;
}

// By index, because a name may be no UTF-8.
Method Program::method(uint32_t index) const {
  const char* const name = etb_module_method_name(use(opened_)->module, index);
  if (name == nullptr)
    raise_error(ETB_NOT_FOUND, "python.method", "the program has no method " + std::to_string(index));
  return {opened_, name};
}

nb::list Program::decisions() const {
  const auto opened = use(opened_);
  const Use used(*opened);
  nb::list out;
  for (uint32_t i = 0; i < etb_module_decision_count(opened->module); ++i) {
    etb_decision decision = ETB_DECISION_INIT;
    must([&](etb_error* error) { return etb_module_decision(opened->module, i, &decision, error); });
    out.append(nb::make_tuple(text_of(decision.backend_id), text_of(decision.plugin_id),
                              text_of(decision.plugin_version), text_of(decision.rule),
                              text_of(decision.json)));
  }
  return out;
}

nb::tuple Program::recorded() const {
  const auto opened = use(opened_);
  const Use used(*opened);
  etb_recording* const recording = recording_of(*opened);
  etb_bytes etdump{}, values{};
  must([&](etb_error* error) { return etb_recording_bytes(recording, &etdump, error); });
  must([&](etb_error* error) { return etb_recording_debug_bytes(recording, &values, error); });
  return nb::make_tuple(to_bytes(etdump), to_bytes(values));
}

void Program::clear_recorded() const {
  const auto opened = use(opened_);
  const Use used(*opened);
  etb_recording_clear(recording_of(*opened));
}

void Program::set_option(const std::string& backend_id, const std::string& key,
                         const std::string& text) const {
  const auto opened = use(opened_);
  const Use used(*opened);
  must([&](etb_error* error) {
    return etb_module_set_option(opened->module, backend_id.c_str(), key.c_str(), text.c_str(), error);
  });
}

void Program::cancel() const { etb_module_cancel(use(opened_)->module); }

void Program::close() {
  const auto opened = std::exchange(opened_->program, nullptr);
  if (opened != nullptr) etb_module_cancel(opened->module);
}

bool Program::is_closed() const { return opened_->program == nullptr; }

nb::object Method::name() const { return text_of(name_, "surrogateescape"); }

MethodSpecs& Method::specs(OpenProgram& program) {
  std::unique_ptr<MethodSpecs>& slot = program.methods[name_];
  if (slot != nullptr) return *slot;
  uint32_t inputs = 0, outputs = 0;
  must([&](etb_error* error) { return etb_module_load_method(program.module, name_.c_str(), error); });
  must([&](etb_error* error) {
    return etb_module_io_count(program.module, name_.c_str(), &inputs, &outputs, error);
  });
  auto made = std::make_unique<MethodSpecs>();
  made->inputs = read_specs(program.module, name_.c_str(), inputs, etb_module_input_spec);
  made->outputs = read_specs(program.module, name_.c_str(), outputs, etb_module_output_spec);
  slot = std::move(made);
  return *slot;
}

void Method::load() {
  const auto opened = Program::use(slot_);
  const Use used(*opened);
  specs(*opened);
  must([&](etb_error* error) { return etb_module_load_method(opened->module, name_.c_str(), error); });
}

void Method::unload() {
  const auto opened = Program::use(slot_);
  const Use used(*opened);
  const auto found = opened->methods.find(name_);
  if (found != opened->methods.end() && found->second != nullptr && found->second->view_count != 0)
    raise_error(ETB_BUSY, "python.views",
                "method '" + name_ + "': " + std::to_string(found->second->view_count) +
                    " arrays borrow its outputs\nhint: delete these arrays first, or run with copy=True");
  const nb::gil_scoped_release released;
  etb_module_unload_method(opened->module, name_.c_str());
}

nb::list Method::input_specs() {
  const auto opened = Program::use(slot_);
  const Use used(*opened);
  return to_list(specs(*opened).inputs);
}

nb::list Method::output_specs() {
  const auto opened = Program::use(slot_);
  const Use used(*opened);
  return to_list(specs(*opened).outputs);
}

nb::list Method::run(nb::tuple inputs, int framework, bool copies, uint64_t timeout_ns,
                     uint64_t max_instructions, uint32_t priority, uint64_t run_id) {
  const auto opened = Program::use(slot_);
  const Use used(*opened);
  MethodSpecs& found = specs(*opened);
  const size_t count = nb::len(inputs);
  auto read = std::make_unique<InputValue[]>(count);
  std::vector<etb_value> given;
  given.reserve(count);
  bool has_torch = false;
  for (size_t i = 0; i < count; ++i) {
    read[i].read(inputs[i], static_cast<uint32_t>(i), i < found.inputs.size() ? &found.inputs[i] : nullptr);
    has_torch = has_torch || read[i].is_torch();
    given.push_back(read[i].value());
  }
  etb_run_limits limits = ETB_RUN_LIMITS_INIT;
  limits.flags = ETB_RUN_CANCELLABLE;
  limits.timeout_ns = timeout_ns;
  limits.max_instructions = max_instructions;
  limits.priority = priority;
  limits.run_id = run_id;
  std::vector<etb_value> outputs(found.outputs.size(), etb_value(ETB_VALUE_INIT));
  must([&](etb_error* error) {
    return etb_module_call(opened->module, name_.c_str(), given.data(), static_cast<uint32_t>(count), &limits,
                           outputs.data(), static_cast<uint32_t>(outputs.size()), error);
  });
  const bool is_torch = framework < 0 ? has_torch : framework == static_cast<int>(Framework::kTorch);
  OutputWriter writer(is_torch ? Framework::kTorch : Framework::kNumpy, copies);
  if (!copies) writer.set_owner(opened, found, std::move(read));
  nb::list out;
  for (uint32_t i = 0; i < outputs.size(); ++i) out.append(writer.write(outputs[i], i));
  return out;
}

}  // namespace etb::python
