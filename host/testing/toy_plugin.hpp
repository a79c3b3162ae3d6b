// SPDX-License-Identifier: Apache-2.0
// A small correct plugin for tests and benchmarks. Its delegate reads one tensor of floats and adds `gain` to
// every element. A test makes a wrong plugin by replacing functions of the tables:
//
//   ToyPlugin toy;
//   toy.delegate.execute = [](etb_context* context, const etb_exec_args* args, etb_error* error) -> etb_status { ... };
//
// `toy_tables()` has the original functions, so that a replacement can call them.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "etb/plugin.h"

namespace etb::host {

inline constexpr char kToyBackend[] = "ToyBackend";
inline constexpr char kToyPayload[] = "TOY1";  // first bytes of its payloads

struct ToyPlugin {
  ToyPlugin();
  ToyPlugin(const ToyPlugin&) = delete;
  ToyPlugin& operator=(const ToyPlugin&) = delete;

  etb_plugin_ident ident;
  etb_plugin_table plugin;
  etb_device_table device;
  etb_delegate_table delegate;
  etb_aot_table aot;
};

// State of the toy's handles.
struct ToyContextState;
struct ToyPluginState {
  const etb_host* host = nullptr;
  const etb_clock_service* clock = nullptr;
  const etb_alloc_service* alloc = nullptr;
  double gain = 1.0;
  std::atomic<int> children{0};
};
struct ToyDeviceState {
  ToyPluginState* plugin = nullptr;
  std::atomic<int> children{0};
};
struct ToyDelegateState {
  ToyPluginState* plugin = nullptr;
  ToyDeviceState* device = nullptr;
  etb_payload_view payload{};
  std::vector<etb_named_data> named_data;  // none or one
  std::atomic<int> children{0};
};
struct ToyContextState {
  ToyDelegateState* delegate = nullptr;
};

inline ToyPluginState* toy(etb_plugin* plugin) { return reinterpret_cast<ToyPluginState*>(plugin); }
inline ToyDeviceState* toy(etb_device* device) { return reinterpret_cast<ToyDeviceState*>(device); }
inline ToyDelegateState* toy(etb_delegate* delegate) { return reinterpret_cast<ToyDelegateState*>(delegate); }
inline ToyContextState* toy(etb_context* context) { return reinterpret_cast<ToyContextState*>(context); }

// Tables of a correct toy plugin.
const ToyPlugin& toy_tables();

}  // namespace etb::host
