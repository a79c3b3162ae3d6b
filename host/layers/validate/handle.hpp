// SPDX-License-Identifier: Apache-2.0
// Handles that the host receives instead of the plugin's. They are kept for a while after their end, so that
// a late use finds a dead handle and not freed memory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "etb/all.h"
#include "host/layers/validate/state.hpp"

namespace etb::host::validate {

enum class Kind : uint32_t {
  PLUGIN = 0x706c7567,
  DEVICE = 0x64657663,
  DELEGATE = 0x646c6774,
  CONTEXT = 0x636e7478
};

// Standard layout and first in every handle: the layer reads any pointer that the host
// passes as a handle through it.
struct Handle {
  static constexpr uint64_t kMagic = 0x455442766c643031;

  Handle(Kind what, Handle* made_by, struct Instance* of) : kind(what), parent(made_by), instance(of) {}

  uint64_t magic = kMagic;
  Kind kind;
  std::atomic<bool> is_alive{true};
  std::atomic<int> call_count{0};         // calls on it in progress
  std::atomic<int> serial_call_count{0};  // those of them tagged [serial:obj]
  std::atomic<int> child_count{0};
  Handle* parent;
  struct Instance* instance;
};

const char* to_text(Kind kind);

class WatchedServices;
class PayloadGuard;
class NamedDataGuard;

// A plugin's context.
struct Instance {
  explicit Instance(State& of);
  ~Instance();

  Handle handle{Kind::PLUGIN, nullptr, this};
  State& state;
  const etb_plugin_table* next = nullptr;
  etb_plugin* plugin = nullptr;
  etb_host next_host{};
  std::unique_ptr<WatchedServices> services;
  const etb_clock_service* clock = nullptr;  // clock of the host, for times of events
};

struct DeviceHandle {
  explicit DeviceHandle(Instance& of) : handle(Kind::DEVICE, &of.handle, &of) {}
  Handle handle;
  etb_device* next = nullptr;
};

// Requirements of a delegate for an input or output.
struct IoNeed {
  uint32_t role = 0;
  uint64_t alignment = 1;
  uint64_t padding_bytes = 0;
};

struct DelegateHandle {
  DelegateHandle(Instance& of, DeviceHandle* on);
  ~DelegateHandle();
  Handle handle;
  DeviceHandle* device;
  etb_delegate* next = nullptr;
  std::unique_ptr<PayloadGuard> payload;
  std::unique_ptr<NamedDataGuard> named_data;
  std::atomic<uint32_t> running_count{0};  // contexts in execute

  std::mutex mutex;  // guards the members below
  bool has_info = false;
  etb_delegate_info info{};
  std::vector<IoNeed> inputs;
  std::vector<IoNeed> outputs;
};

struct ContextHandle {
  explicit ContextHandle(DelegateHandle& of)
      : handle(Kind::CONTEXT, &of.handle, of.handle.instance), delegate(&of) {}
  Handle handle;
  DelegateHandle* delegate;
  etb_context* next = nullptr;
  std::vector<std::vector<int64_t>> reserved_sizes;  // sizes of the inputs; empty before context_reserve
  std::atomic<uint32_t> run_count{0};
};

// Returns the layer's object for the pointer that the host holds.
inline Instance* unwrap(etb_plugin* handle) { return reinterpret_cast<Instance*>(handle); }
inline DeviceHandle* unwrap(etb_device* handle) { return reinterpret_cast<DeviceHandle*>(handle); }
inline DelegateHandle* unwrap(etb_delegate* handle) { return reinterpret_cast<DelegateHandle*>(handle); }
inline ContextHandle* unwrap(etb_context* handle) { return reinterpret_cast<ContextHandle*>(handle); }

inline Kind kind_of(const Instance*) { return Kind::PLUGIN; }
inline Kind kind_of(const DeviceHandle*) { return Kind::DEVICE; }
inline Kind kind_of(const DelegateHandle*) { return Kind::DELEGATE; }
inline Kind kind_of(const ContextHandle*) { return Kind::CONTEXT; }

}  // namespace etb::host::validate
