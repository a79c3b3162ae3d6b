// SPDX-License-Identifier: Apache-2.0
#include "host/application/module_options.hpp"

#include "host/application/errors.hpp"
#include "host/application/process_log.hpp"
#include "host/application/recording_handle.hpp"
#include "host/application/registry_handle.hpp"

namespace etb::host {
namespace {

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

Status check_allocator(const etb_alloc_service& service, const std::string& name) {
  ETB_TRY(ETB_ACCEPT(etb_alloc_service, &service, free));
  ETB_TRY(check_pointer(reinterpret_cast<const void*>(service.allocate), (name + ".allocate").c_str()));
  return check_pointer(reinterpret_cast<const void*>(service.free), (name + ".free").c_str());
}

Status read_allocators(const etb_memory_allocators& given, ModuleOptions& out) {
  ETB_TRY(ETB_ACCEPT(etb_memory_allocators, &given, count));
  ETB_TRY(check_array(given.by_id, given.count, "options: memory_allocators.by_id"));
  for (uint64_t i = 0; i < given.count; ++i) {
    const etb_alloc_service* const service = given.by_id[i];
    if (service != nullptr)
      ETB_TRY(check_allocator(*service, "options: memory_allocators.by_id[" + std::to_string(i) + "]"));
    out.arena_allocators.push_back(service);
  }
  return {};
}

Status read_plain_fields(const etb_module_options& given, ModuleOptions& out) {
  if (given.load_mode > ETB_LOAD_MMAP_TRY_LOCK)
    return make_error(Code::INVALID_ARGUMENT,
                      "options: load mode " + std::to_string(given.load_mode) + ", expected 0 to 3");
  if (given.thread_count > ThreadPool::kMaxWorkers)
    return make_error(Code::INVALID_ARGUMENT, "options: " + std::to_string(given.thread_count) +
                                                  " threads, expected at most " +
                                                  std::to_string(ThreadPool::kMaxWorkers));
  out.load_mode = static_cast<LoadMode>(given.load_mode);
  out.limits.max_memory_bytes = given.max_memory_bytes;
  out.shares_arenas = (given.flags & ETB_MODULE_SHARED_ARENAS) != 0;
  out.secure = (given.flags & ETB_MODULE_SECURE) != 0;
  out.async = (given.flags & ETB_MODULE_ASYNC) != 0;
  out.random_seed = given.random_seed;
  if (given.allocator != nullptr) ETB_TRY(check_allocator(*given.allocator, "options: allocator"));
  out.allocator = given.allocator;
  if (given.memory_allocators != nullptr) ETB_TRY(read_allocators(*given.memory_allocators, out));
  ETB_TRY(read_texts(given.data_paths, given.data_path_count, "options: data_paths", out.data_files));
  return read_texts(given.kernel_libraries, given.kernel_library_count, "options: kernel_libraries",
                    out.kernel_libraries);
}

Result<std::shared_ptr<Engine>> find_engine(const etb_module_options& given) {
  if (given.registry == nullptr) return default_engine(given.thread_count);
  ETB_TRY(check_handle(given.registry, HandleKind::kRegistry));
  if (given.thread_count != 0)
    return make_error(Code::INVALID_ARGUMENT, "options: thread_count " + std::to_string(given.thread_count) +
                                                  " beside a registry, whose threads the module uses");
  return given.registry->engine;
}

}  // namespace

PluginDelegates& EngineDelegates::delegates() {
  if (delegates_) return *delegates_;
  PluginDelegates& made = delegates_.emplace(engine_->registry());
  if (choices.is_async) made.allow_async_runs();
  made.lend_file(file);
  made.limit_device_memory(choices.max_device_bytes, engine_->device_memory());
  made.share_delegates(engine_->shared_delegates());
  for (const BackendChoices* const each :
       std::initializer_list<const BackendChoices*>{&engine_->choices, &choices}) {
    for (const auto& [id, plugin] : each->pins) made.pin(id, plugin);
    for (const auto& [id, device] : each->devices) made.set_device(id, device);
  }
  for (const auto& [id, texts] : choices.options)
    for (const auto& [key, text] : texts) made.set_option(id, key, text);
  return made;
}

etb_status EngineDelegates::create(const DelegateRequest& request, MethodDelegate** out,
                                   etb_error* error) noexcept {
  PluginDelegates* made = nullptr;
  const etb_status status = answer(error, [&]() -> Status {
    made = &delegates();
    return {};
  });
  return status == ETB_OK ? made->create(request, out, error) : status;
}

std::vector<std::shared_ptr<const Decision>> EngineDelegates::decisions() const {
  if (!delegates_) return {};
  return delegates_->decisions();
}

Status read_settings(const etb_setting* settings, uint64_t count, std::map<std::string, OptionTexts>& out) {
  ETB_TRY(check_array(settings, count, "options: settings"));
  for (uint64_t i = 0; i < count; ++i) {
    const etb_setting* const setting = ETB_AT(etb_setting, settings, i);
    ETB_TRY(ETB_ACCEPT(etb_setting, setting, text));
    if (setting->name == nullptr || setting->key == nullptr || setting->text == nullptr)
      return make_error(Code::INVALID_ARGUMENT,
                        "options: setting " + std::to_string(i) + ": name, key or text is NULL");
    out[setting->name][setting->key] = setting->text;
  }
  return {};
}

Status read_choices(const etb_backend_choice* choices, uint64_t count, BackendChoices& out) {
  ETB_TRY(check_array(choices, count, "options: choices"));
  for (uint64_t i = 0; i < count; ++i) {
    const etb_backend_choice* const choice = ETB_AT(etb_backend_choice, choices, i);
    ETB_TRY(ETB_ACCEPT(etb_backend_choice, choice, device));
    const std::string id = text_of(choice->backend_id);
    if (choice->plugin_id != nullptr && id.empty())
      return make_error(Code::INVALID_ARGUMENT,
                        "options: choice " + std::to_string(i) + ": a plugin without a delegate id");
    if (choice->plugin_id != nullptr) out.pins[id] = choice->plugin_id;
    if (choice->device != nullptr) out.devices[id] = choice->device;
  }
  return {};
}

Status read_texts(const char* const* texts, uint64_t count, const char* name, std::vector<std::string>& out) {
  ETB_TRY(check_array(texts, count, name));
  for (uint64_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr)
      return make_error(Code::INVALID_ARGUMENT,
                        std::string(name) + ": element " + std::to_string(i) + " is NULL");
    out.emplace_back(texts[i]);
  }
  return {};
}

Result<ModuleParts> read_module_options(const etb_module_options* given) {
  etb_module_options options = ETB_MODULE_OPTIONS_INIT;
  if (given != nullptr) {
    constexpr uint32_t kFlags =
        ETB_MODULE_NO_PLUGINS | ETB_MODULE_SHARED_ARENAS | ETB_MODULE_SECURE | ETB_MODULE_ASYNC;
    // Applications built before `recording` was there have a shorter struct.
    ETB_TRY(accept_struct(given, ETB_SIZE_THROUGH(etb_module_options, random_seed), kFlags, "options"));
    options = copy_struct(*given);
  }
  ModuleParts parts;
  ETB_TRY(read_plain_fields(options, parts.options));
  ETB_ASSIGN(parts.engine, find_engine(options));
  parts.options.pool = &parts.engine->pool();
  parts.options.platform = &logging_hooks();
  if ((options.flags & ETB_MODULE_NO_PLUGINS) == 0) {
    parts.delegates = std::make_unique<EngineDelegates>(parts.engine);
    ETB_TRY(read_choices(options.choices, options.choice_count, parts.delegates->choices));
    ETB_TRY(read_settings(options.settings, options.setting_count, parts.delegates->choices.options));
    parts.delegates->choices.is_async = parts.options.async;
    parts.delegates->choices.max_device_bytes = options.max_device_bytes;
    parts.options.delegates = parts.delegates.get();
  }
  if (options.trace != nullptr) {
    ETB_TRY(ETB_ACCEPT(etb_trace_sink, options.trace, delegate_events));
    ETB_TRY(check_pointer(reinterpret_cast<const void*>(options.trace->put), "options: trace.put"));
    parts.tracer = std::make_unique<SinkTracer>(*options.trace);
    parts.options.tracer = parts.tracer.get();
  }
  if (options.recording != nullptr) {
    ETB_TRY(check_handle(options.recording, HandleKind::kRecording));
    if (options.trace != nullptr)
      return make_error(Code::INVALID_ARGUMENT, "options: trace and recording exclude each other");
    parts.options.tracer = &options.recording->recording->tracer();
    parts.recording = options.recording->self;
  }
  return parts;
}

}  // namespace etb::host
