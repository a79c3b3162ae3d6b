// SPDX-License-Identifier: Apache-2.0
// StaticDelegates: runs a program's delegates on plugins that are linked into it, without heap, registry or threads: for
// firmware. Programs of an operating system use PluginDelegates and a registry.
//
//   static std::byte memory[64 * 1024];
//   BumpAllocator allocator(memory);
//   StaticDelegates delegates(etb_static_plugins, allocator);
//   options.delegates = &delegates;
#pragma once

#include <span>

#include "etb/host.h"
#include "etb/static_plugins.h"
#include "host/runtime/bump_allocator.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

// The first plugin whose `provides` has the delegate id is used, by the rules of the ABI: version, profile, required functions.
// All memory is of the allocator, also that of the plugins (service alloc/1), and is never returned: load each method once.
// Not for several threads.
class StaticDelegates final : public DelegateResolver {
 public:
  static constexpr uint32_t kMaxPlugins = 8;

  // Both outlive this object, which outlives every method that is loaded with it.
  StaticDelegates(std::span<const etb_static_plugin> plugins, BumpAllocator& memory,
                  const PlatformHooks& platform = kDefaultPlatformHooks) noexcept;
  StaticDelegates(const StaticDelegates&) = delete;
  StaticDelegates& operator=(const StaticDelegates&) = delete;
  ~StaticDelegates();

  // Returns ETB_NOT_FOUND when no plugin has the id; ETB_INCOMPATIBLE (ABI version, or a function is missing); ETB_NOT_SUPPORTED
  // for a delegate that needs padding; ETB_OUT_OF_MEMORY; or the plugin's error.
  etb_status create(const DelegateRequest& request, MethodDelegate** out, etb_error* error) noexcept override;

  // Initialises the plugin of an id, if that has not happened, and returns its table; null with the error.
  const etb_plugin_table* open(std::string_view backend_id, etb_plugin** out, etb_error* error) noexcept;

 private:
  struct OpenPlugin {
    const etb_plugin_table* table;
    etb_plugin* plugin;
  };

  static const void* get_service(const etb_host* host, const char* id);
  static void* allocate(void* ctx, uint64_t nbytes, uint64_t alignment, const char* tag);
  static void release(void* ctx, void* memory);
  static void write_log(void* ctx, uint32_t level, const char* text, const etb_option* fields,
                        uint64_t field_count);
  static uint64_t now_ns(void* ctx);

  etb_status open_plugin(const etb_static_plugin& plugin, OpenPlugin& out, etb_error* error) noexcept;

  std::span<const etb_static_plugin> plugins_;
  BumpAllocator& memory_;
  const PlatformHooks& platform_;
  etb_alloc_service alloc_;
  etb_log_service log_;
  etb_clock_service clock_;
  etb_host host_;
  OpenPlugin opened_[kMaxPlugins] = {};
};

}  // namespace etb::host
