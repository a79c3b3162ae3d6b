// SPDX-License-Identifier: Apache-2.0
// Modules of the C API (etb/module.h): opening and closing, methods, inputs, outputs. run_c.cpp has the runs.
#include "etb/module.h"

#include <algorithm>
#include <set>

#include "host/application/module_handle.hpp"

etb_module::etb_module(etb::host::ModuleParts given, etb::host::Module opened, std::string name)
    : parts(std::move(given)),
      module(std::move(opened)),
      program_name(std::move(name)),
      names(module.method_names()),
      run_thread(
          [this](const etb::host::AsyncRun& run, etb_error* error) {
            return etb::host::answer(error, [&] { return module.run(run.method, run.limits); });
          },
          [this] { end_run(); }) {
  const bool has_forward = std::find(names.begin(), names.end(), "forward") != names.end();
  default_method = has_forward || names.empty() ? "forward" : names[0];
  if (parts.recording != nullptr) parts.recording->add_program(program_name, module.program());
}

etb_module::~etb_module() {
  if (parts.recording == nullptr) return;
  static_cast<void>(etb::host::answer(nullptr, [&]() -> etb::Status {
    parts.recording->keep_digest_of(module.program());
    return {};
  }));
}

namespace {

using etb::Code;
using etb::make_error;
using etb::Result;
using etb::Status;
using etb::host::answer;
using etb::host::check_pointer;
using etb::host::EValue;
using etb::host::HandleKind;
using etb::host::Module;
using etb::host::ModuleOptions;
using etb::host::use;

// `name` returns the program's name for recordings.
template <class Open, class Name>
etb_status open_module(const etb_module_options* given, etb_module** out, etb_error* error, Open open,
                       Name name) noexcept {
  return answer(error, [&]() -> Status {
    ETB_TRY(check_pointer(out, "out"));
    ETB_ASSIGN(etb::host::ModuleParts parts, etb::host::read_module_options(given));
    const etb::host::RecordingUse recording(parts.recording.get());
    ETB_TRY(recording.check());
    ETB_ASSIGN(Module opened, open(parts.options));
    if (parts.delegates != nullptr) parts.delegates->file = opened.program()->mapped_file();
    auto made = std::make_unique<etb_module>(std::move(parts), std::move(opened), name());
    add_handle(made.get(), HandleKind::kModule);
    *out = made.release();
    return {};
  });
}

etb_status get_spec(etb_module* module, const char* method, uint32_t index, bool is_input, etb_value* out,
                    etb_error* error) noexcept {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(ETB_ACCEPT(etb_value, out, tensor));
    ETB_ASSIGN(const auto meta, used.module.method_meta(used.method_or_default(method)));
    const uint32_t count = is_input ? meta.input_count() : meta.output_count();
    if (index >= count)
      return make_error(Code::INVALID_ARGUMENT, std::string(is_input ? "input " : "output ") +
                                                    std::to_string(index) + ": the method has " +
                                                    std::to_string(count));
    *out = ETB_VALUE_INIT;
    put_spec(is_input ? meta.input(index) : meta.output(index), used.spec, *out);
    return {};
  });
}

// Rejects an id that no delegate of the program has: no method would ever use its options.
Status check_delegate_id(const Module& module, const std::string& wanted) {
  std::set<std::string> ids;
  for (const std::string& name : module.method_names()) {
    ETB_ASSIGN(const auto meta, module.method_meta(name));
    for (uint32_t i = 0; i < meta.view().delegate_count(); ++i) ids.emplace(meta.view().delegate(i).id());
  }
  if (ids.contains(wanted)) return {};
  std::string known;
  for (const std::string& id : ids) known += (known.empty() ? "the program has '" : ", '") + id + "'";
  return make_error(Code::NOT_FOUND,
                    "delegate '" + wanted + "': " + (known.empty() ? "the program has no delegate" : known));
}

}  // namespace

extern "C" {

etb_status ETB_CALL etb_module_open(const char* path, const etb_module_options* options, etb_module** out,
                                    etb_error* error) {
  return open_module(
      options, out, error,
      [path](const ModuleOptions& read) -> Result<Module> {
        ETB_TRY(check_pointer(path, "path"));
        return Module::open(path, read);
      },
      [path] { return std::string(path).substr(std::string_view(path).rfind('/') + 1); });
}

etb_status ETB_CALL etb_module_open_bytes(etb_bytes bytes, const etb_module_options* options,
                                          etb_module** out, etb_error* error) {
  return open_module(
      options, out, error,
      [bytes](const ModuleOptions& read) -> Result<Module> {
        ETB_TRY(etb::host::check_array(static_cast<const std::byte*>(bytes.data), bytes.nbytes, "bytes"));
        return Module::from_bytes(
            {static_cast<const std::byte*>(bytes.data), static_cast<size_t>(bytes.nbytes)}, read);
      },
      [] { return "program in memory"; });
}

etb_status ETB_CALL etb_module_open_descriptor(int descriptor, uint64_t offset, uint64_t nbytes,
                                               const etb_module_options* options, etb_module** out,
                                               etb_error* error) {
  return open_module(
      options, out, error,
      [=](const ModuleOptions& read) { return Module::from_descriptor(descriptor, offset, nbytes, read); },
      [] { return "program of a descriptor"; });
}

etb_status ETB_CALL etb_module_open_again(etb_module* module, const etb_module_options* options,
                                          etb_module** out, etb_error* error) {
  return open_module(
      options, out, error,
      [module](const ModuleOptions& read) -> Result<Module> {
        ETB_TRY(check_handle(module, HandleKind::kModule));
        return Module::from_program(module->module.program(), read);
      },
      [module] { return module->program_name; });
}

void ETB_CALL etb_module_close(etb_module* module) {
  // A module that is closed by its own run thread would wait for itself.
  if (module == nullptr || (!etb::host::is_checked() && module->run_thread.is_own_thread())) return;
  if (!etb::host::remove_handle(module, HandleKind::kModule)) return;
  module->is_cancelled = true;
  delete module;
}

uint32_t ETB_CALL etb_module_method_count(const etb_module* module) {
  return check_handle(module, HandleKind::kModule) ? static_cast<uint32_t>(module->names.size()) : 0;
}

const char* ETB_CALL etb_module_method_name(const etb_module* module, uint32_t index) {
  return index < etb_module_method_count(module) ? module->names[index].c_str() : nullptr;
}

etb_status ETB_CALL etb_module_load_method(etb_module* module, const char* method, etb_error* error) {
  return use(module, error,
             [&](etb_module& used) { return used.module.load_method(used.method_or_default(method)); });
}

void ETB_CALL etb_module_unload_method(etb_module* module, const char* method) {
  static_cast<void>(use(module, nullptr, [&](etb_module& used) -> Status {
    used.module.unload_method(used.method_or_default(method));
    return {};
  }));
}

etb_status ETB_CALL etb_module_io_count(etb_module* module, const char* method, uint32_t* out_input_count,
                                        uint32_t* out_output_count, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_ASSIGN(const auto meta, used.module.method_meta(used.method_or_default(method)));
    if (out_input_count != nullptr) *out_input_count = meta.input_count();
    if (out_output_count != nullptr) *out_output_count = meta.output_count();
    return {};
  });
}

etb_status ETB_CALL etb_module_delegate_count(etb_module* module, const char* method, uint32_t* out_count,
                                              etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(check_pointer(out_count, "out_count"));
    ETB_ASSIGN(const auto meta, used.module.method_meta(used.method_or_default(method)));
    *out_count = meta.view().delegate_count();
    return {};
  });
}

etb_status ETB_CALL etb_module_delegate_id(etb_module* module, const char* method, uint32_t index,
                                           const char** out_id, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(check_pointer(out_id, "out_id"));
    ETB_ASSIGN(const auto meta, used.module.method_meta(used.method_or_default(method)));
    const uint32_t count = meta.view().delegate_count();
    if (index >= count)
      return make_error(Code::INVALID_ARGUMENT,
                        "delegate " + std::to_string(index) + ": the method has " + std::to_string(count));
    used.delegate_id = meta.view().delegate(index).id();
    *out_id = used.delegate_id.c_str();
    return {};
  });
}

etb_status ETB_CALL etb_module_input_spec(etb_module* module, const char* method, uint32_t index,
                                          etb_value* out, etb_error* error) {
  return get_spec(module, method, index, true, out, error);
}

etb_status ETB_CALL etb_module_output_spec(etb_module* module, const char* method, uint32_t index,
                                           etb_value* out, etb_error* error) {
  return get_spec(module, method, index, false, out, error);
}

etb_status ETB_CALL etb_module_set_input(etb_module* module, const char* method, uint32_t index,
                                         const etb_value* value, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(check_pointer(value, "value"));
    etb::host::InputValue input;
    ETB_TRY(input.read(*value, index));
    return used.module.set_input(used.method_or_default(method), index, input.get());
  });
}

etb_status ETB_CALL etb_module_set_output(etb_module* module, const char* method, uint32_t index,
                                          void* memory, uint64_t nbytes, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(check_pointer(memory, "memory"));
    return used.module.set_output(used.method_or_default(method), index,
                                  {static_cast<std::byte*>(memory), static_cast<size_t>(nbytes)});
  });
}

etb_status ETB_CALL etb_module_set_option(etb_module* module, const char* backend_id, const char* key,
                                          const char* text, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(check_pointer(backend_id, "backend_id"));
    ETB_TRY(check_pointer(key, "key"));
    ETB_TRY(check_pointer(text, "text"));
    if (used.parts.delegates == nullptr)
      return make_error(Code::NOT_SUPPORTED, "the module was opened with ETB_MODULE_NO_PLUGINS");
    ETB_TRY(check_delegate_id(used.module, backend_id));
    return used.parts.delegates->change_option(backend_id, key, text);
  });
}

etb_status ETB_CALL etb_module_get_output(etb_module* module, const char* method, uint32_t index,
                                          etb_value* out, etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(ETB_ACCEPT(etb_value, out, tensor));
    ETB_ASSIGN(const EValue value, used.module.get_output(used.method_or_default(method), index));
    *out = ETB_VALUE_INIT;
    put_value(value, *out);
    return {};
  });
}

uint32_t ETB_CALL etb_module_decision_count(const etb_module* module) {
  if (!check_handle(module, HandleKind::kModule) || module->parts.delegates == nullptr) return 0;
  return static_cast<uint32_t>(module->parts.delegates->decisions().size());
}

etb_status ETB_CALL etb_module_decision(etb_module* module, uint32_t index, etb_decision* out,
                                        etb_error* error) {
  return use(module, error, [&](etb_module& used) -> Status {
    ETB_TRY(ETB_ACCEPT(etb_decision, out, json));
    used.decisions.clear();
    if (used.parts.delegates != nullptr) used.decisions = used.parts.delegates->decisions();
    if (index >= used.decisions.size())
      return make_error(Code::INVALID_ARGUMENT, "decision " + std::to_string(index) + ": the module has " +
                                                    std::to_string(used.decisions.size()));
    const etb::host::Decision& decision = *used.decisions[index];
    const etb::host::Candidate* const winner = decision.winner();
    used.decision_json = to_json(decision);
    *out = ETB_DECISION_INIT;
    out->backend_id = decision.name.c_str();
    out->plugin_id = winner == nullptr ? "" : winner->id.c_str();
    out->plugin_version = winner == nullptr ? "" : winner->version.c_str();
    out->rule = decision.rule.c_str();
    out->json = used.decision_json.c_str();
    return {};
  });
}

}  // extern "C"
