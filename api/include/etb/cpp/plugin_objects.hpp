// SPDX-License-Identifier: Apache-2.0
//
// The arguments that the classes of a plugin receive, and the objects that the host's handles name. Part of
// etb/cpp/plugin.hpp.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "etb/cpp/async_run.hpp"
#include "etb/cpp/guard.hpp"
#include "etb/cpp/host.hpp"
#include "etb/cpp/option.hpp"
#include "etb/cpp/payload.hpp"
#include "etb/cpp/run.hpp"
#include "etb/plugin.h"

namespace etb {

// Arguments for making a delegate.
struct CreateArgs {
  Payload payload;  // move it to keep the bytes; else they are released when make returns
  NamedData named_data;
  CompileSpecs specs;
  Options options;  // scope delegate
  std::string_view backend_id;
  const Host& host;
  const uint8_t* device_uuid;    // 16 bytes, NULL: the default device
  etb_device* device = nullptr;  // handle of device_uuid, for etb::device_of; NULL: the default device
};

// Arguments for opening a device. A view: valid for the call.
struct DeviceArgs {
  const uint8_t* uuid;  // 16 bytes, of a device that enumerate lists now
  Options options;      // scope device
};

struct DelegateInfo {
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  uint64_t resident_bytes = 0;
  uint64_t context_bytes = 0;
  uint64_t scratch_bytes = 0;  // size of Run::scratch()
  uint64_t scratch_alignment = 64;
  uint32_t max_contexts = ETB_UNLIMITED;
};

// Sink of the devices of the machine.
class DeviceSink {
 public:
  explicit DeviceSink(const etb_device_sink* raw) : raw_(raw) {}
  Status put(const etb_device_info& info) const {
    return from_host(raw_->put(raw_->ctx, &info), "device sink");
  }

 private:
  const etb_device_sink* raw_;
};

namespace detail {

template <class P>
constexpr std::span<const OptionRow> option_rows() {
  if constexpr (requires { P::kOptions; })
    return P::kOptions;
  else
    return {};
}

template <class P>
constexpr bool kHasAot = requires {
  P::kOps;
};

template <class P>
constexpr uint32_t plugin_flags() {
  if constexpr (requires { P::kFlags; })
    return P::kFlags;
  else
    return 0;
}

template <class P>
constexpr uint32_t profiles() {
  return ETB_PROFILE_RUNTIME | (kHasAot<P> ? ETB_PROFILE_AOT : 0);
}

// For a delegate whose runs have no state of their own.
template <class D>
struct StatelessContext {
  explicit StatelessContext(const D& made) : delegate(&made) {}
  Status execute(const Run& run) const { return delegate->execute(run); }
  const D* delegate;
};

template <class D>
struct ContextOf {
  using Type = StatelessContext<D>;
};
template <class D>
requires requires { typename D::Context; }
struct ContextOf<D> {
  using Type = typename D::Context;
};

// A class that opens devices by itself: its open_device returns what the base keeps until the host closes the device.
template <class P>
concept OpensDevices = requires(P plugin, const DeviceArgs& args) {
  plugin.open_device(args);
};
struct NothingOpened {};
template <class P>
struct OpenedOf {
  using Type = NothingOpened;
};
template <OpensDevices P>
struct OpenedOf<P> {
  using Type =
      typename decltype(std::declval<P&>().open_device(std::declval<const DeviceArgs&>()))::value_type;
  static_assert(std::is_object_v<Type>, "open_device returns a Result of what is open, as close ends it");
};

// The objects that handles name. Each counts the objects made from it, because an early destroy returns
// ETB_BUSY (ABI-LIFE-01).
template <class P>
struct PluginObject {
  Host host;
  P impl;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct DeviceObject {
  PluginObject<P>& plugin;
  std::array<uint8_t, 16> uuid;
  typename OpenedOf<P>::Type opened;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct DelegateObject {
  PluginObject<P>& plugin;
  std::atomic<uint32_t>& siblings;  // the count of the device, or of the plugin
  typename P::Delegate impl;
  DelegateInfo info;
  std::atomic<uint32_t> children{0};
};
template <class P>
struct ContextObject {
  DelegateObject<P>& delegate;
  typename ContextOf<typename P::Delegate>::Type impl;
  std::atomic<bool> is_in_flight{false};  // an asynchronous run
};

template <class T>
concept SetsOptions = requires(T object, const Options& options) {
  object.set_option(options);
};

// Deletes an object without children and subtracts it from its parent's count.
template <class T>
Status end_object(T* object, std::atomic<uint32_t>* siblings, const char* name) {
  if (object == nullptr) return make_error(Code::INVALID_HANDLE, std::string(name) + ": found NULL");
  if constexpr (requires { object->children; }) {
    if (const uint32_t alive = object->children.load(); alive != 0)
      return make_error(Code::BUSY,
                        std::string(name) + ": " + std::to_string(alive) + " objects made from it are alive");
  }
  delete object;
  if (siblings != nullptr) siblings->fetch_sub(1);
  return {};
}

// Makes an object by value, with a static `make` or a default constructor.
template <class P>
Result<P> make_plugin(const Host& host, const Options& options) {
  if constexpr (requires { P::make(host, options); })
    return P::make(host, options);
  else
    return P{};
}

// Hashes an id to 64 bits, for the default device's uuid and fingerprint (FNV-1a).
constexpr uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace detail
}  // namespace etb
