// SPDX-License-Identifier: Apache-2.0
#include "host/static_delegates/static_delegates.hpp"

#include <cstring>
#include <new>

#include "etb/cpp/fail.hpp"
#include "host/static_delegates/static_delegate.hpp"

namespace etb::host {

namespace {

// True if `list`, ids separated by one space, has the id.
bool has_id(const char* list, std::string_view id) {
  const std::string_view ids(list);
  for (size_t begin = 0; begin <= ids.size();) {
    const size_t end = std::min(ids.find(' ', begin), ids.size());
    if (!id.empty() && ids.substr(begin, end - begin) == id) return true;
    begin = end + 1;
  }
  return false;
}

// Returns the name of the first required function that the plugin lacks; null if it has all.
const char* missing_function(const etb_plugin_table& table) {
  if (!ETB_HAS_FIELD(etb_plugin_table, &table, delegate) || table.init == nullptr) return "init";
  if (table.deinit == nullptr) return "deinit";
  const etb_delegate_table* delegate = table.delegate;
  if (delegate == nullptr || !ETB_HAS_FIELD(etb_delegate_table, delegate, execute)) return "delegate";
  if (delegate->create == nullptr) return "delegate.create";
  if (delegate->destroy == nullptr) return "delegate.destroy";
  if (delegate->query == nullptr) return "delegate.query";
  if (delegate->query_io == nullptr) return "delegate.query_io";
  if (delegate->context_create == nullptr) return "delegate.context_create";
  if (delegate->context_destroy == nullptr) return "delegate.context_destroy";
  return delegate->execute == nullptr ? "delegate.execute" : nullptr;
}

}  // namespace

StaticDelegates::StaticDelegates(std::span<const etb_static_plugin> plugins, BumpAllocator& memory,
                                 const PlatformHooks& platform) noexcept
    : plugins_(plugins.first(std::min<size_t>(plugins.size(), kMaxPlugins))),
      memory_(memory),
      platform_(platform),
      alloc_{ETB_INIT_SIZE(etb_alloc_service), 0, this, &allocate, &release},
      log_{ETB_INIT_SIZE(etb_log_service), 0, this, ETB_LOG_WARNING, 0, &write_log},
      clock_{ETB_INIT_SIZE(etb_clock_service), 0, this, &now_ns},
      host_{ETB_INIT_SIZE(etb_host),
            0,
            ETB_ABI_VERSION,
            0,
            "etbackend",
            "0.1.0",
            "",
            this,
            &get_service,
            nullptr} {}

StaticDelegates::~StaticDelegates() {
  for (const OpenPlugin& opened : opened_)
    if (opened.plugin != nullptr) (void)opened.table->deinit(opened.plugin, nullptr);
}

const void* StaticDelegates::get_service(const etb_host* host, const char* id) {
  const auto& self = *static_cast<const StaticDelegates*>(host->ctx);
  if (std::strcmp(id, ETB_SERVICE_ALLOC) == 0) return &self.alloc_;
  if (std::strcmp(id, ETB_SERVICE_LOG) == 0) return &self.log_;
  return std::strcmp(id, ETB_SERVICE_CLOCK) == 0 ? &self.clock_ : nullptr;
}

void* StaticDelegates::allocate(void* ctx, uint64_t nbytes, uint64_t alignment, const char*) {
  return static_cast<StaticDelegates*>(ctx)->memory_.allocate(nbytes, alignment);
}

void StaticDelegates::release(void*, void*) {}

void StaticDelegates::write_log(void* ctx, uint32_t level, const char* text, const etb_option*, uint64_t) {
  const PlatformHooks& platform = static_cast<StaticDelegates*>(ctx)->platform_;
  if (platform.log != nullptr)
    platform.log(platform.self, level >= ETB_LOG_ERROR ? LogLevel::kError : LogLevel::kWarning, text);
}

uint64_t StaticDelegates::now_ns(void* ctx) {
  const PlatformHooks& platform = static_cast<StaticDelegates*>(ctx)->platform_;
  return platform.now_ns(platform.self);
}

etb_status StaticDelegates::open_plugin(const etb_static_plugin& plugin, OpenPlugin& out,
                                        etb_error* error) noexcept {
  const etb_plugin_table* table = plugin.query(&host_, ETB_ABI_MAKE(ETB_ABI_MAJOR, 0), ETB_ABI_VERSION);
  if (table == nullptr)
    return fail(error, ETB_INCOMPATIBLE, "plugin of '%s': it has no ABI version of this host",
                plugin.provides);
  if (const char* const missing = missing_function(*table))
    return fail(error, ETB_INCOMPATIBLE, "plugin of '%s': no %s", plugin.provides, missing);
  etb_plugin* made = nullptr;
  ETB_CHECK(table->init(&host_, nullptr, 0, &made, error));
  out = {table, made};
  return ETB_OK;
}

const etb_plugin_table* StaticDelegates::open(std::string_view backend_id, etb_plugin** out,
                                              etb_error* error) noexcept {
  for (size_t i = 0; i < plugins_.size(); ++i) {
    if (!has_id(plugins_[i].provides, backend_id)) continue;
    if (opened_[i].table == nullptr && open_plugin(plugins_[i], opened_[i], error) != ETB_OK) return nullptr;
    *out = opened_[i].plugin;
    return opened_[i].table;
  }
  fail(error, ETB_NOT_FOUND, "no linked plugin for '%.*s', %zu are linked: etb_link_static_plugins adds one",
       shown(backend_id), backend_id.data(), plugins_.size());
  return nullptr;
}

etb_status StaticDelegates::create(const DelegateRequest& request, MethodDelegate** out,
                                   etb_error* error) noexcept {
  etb_error unused = ETB_ERROR_INIT;
  if (error == nullptr) error = &unused;
  error->code = ETB_INTERNAL;
  etb_plugin* plugin = nullptr;
  const etb_plugin_table* const table = open(request.id, &plugin, error);
  if (table == nullptr) return error->code;
  auto* const delegate =
      static_cast<StaticDelegate*>(memory_.allocate(sizeof(StaticDelegate), alignof(StaticDelegate)));
  if (delegate == nullptr) return fail(error, ETB_OUT_OF_MEMORY, "no memory for a delegate");
  new (delegate) StaticDelegate(*table->delegate, memory_);
  const etb_status status = delegate->set_up(*plugin, request, error);
  if (status != ETB_OK) {
    delegate->destroy();
    return fail_in(error, status, "delegate '%.*s'", shown(request.id), request.id.data());
  }
  *out = delegate;
  return ETB_OK;
}

}  // namespace etb::host
