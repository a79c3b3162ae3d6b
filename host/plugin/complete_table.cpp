// SPDX-License-Identifier: Apache-2.0
#include "host/plugin/complete_table.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace etb::host {
namespace {

// Table sizes of version 1.0. They do not change when a minor version appends fields.
constexpr uint32_t kPluginTableNbytesOfOne = ETB_SIZE_THROUGH(etb_plugin_table, aot);
constexpr uint32_t kDeviceTableNbytesOfOne = ETB_SIZE_THROUGH(etb_device_table, query);
constexpr uint32_t kDelegateTableNbytesOfOne = ETB_SIZE_THROUGH(etb_delegate_table, cancel);
constexpr uint32_t kAotTableNbytesOfOne = ETB_SIZE_THROUGH(etb_aot_table, compile);

// Copies the fields that both sides know. The rest of `out` is zero.
template <class Table>
Status copy_table(const Table& raw, uint32_t nbytes_1_0, const char* name, Table& out) {
  if (raw.struct_size < nbytes_1_0)
    return make_error(Code::INCOMPATIBLE, std::string(name) + " table: struct_size " +
                                              std::to_string(raw.struct_size) + ", version 1.0 has " +
                                              std::to_string(nbytes_1_0));
  if (raw.flags != 0)
    return make_error(Code::INCOMPATIBLE, std::string(name) + " table: unknown flags " +
                                              std::to_string(raw.flags) + ", expected 0");
  if constexpr (requires { raw.reserved; })
    if (raw.reserved != 0)
      return make_error(Code::INCOMPATIBLE, std::string(name) + " table: reserved field is " +
                                                std::to_string(raw.reserved) + ", expected 0");
  out = Table{};
  std::memcpy(&out, &raw, std::min<size_t>(raw.struct_size, sizeof(Table)));
  out.struct_size = sizeof(Table);
  return {};
}

// Replaces an absent optional function: returns ETB_NOT_IMPLEMENTED with the function's name.
template <class Function>
struct Stub;

template <class... Args>
struct Stub<etb_status(ETB_CALL*)(Args...)> {
  template <const char* kName>
  static etb_status ETB_CALL call(Args... args) {
    etb_error* error = nullptr;
    ((error = error_of(args, error)), ...);
    if (error != nullptr && ETB_HAS_FIELD(etb_error, error, text)) {
      error->code = ETB_NOT_IMPLEMENTED;
      error->vendor_code = 0;
      error->reason[0] = '\0';
      copy_text(error->text, kName);
    }
    return ETB_NOT_IMPLEMENTED;
  }

 private:
  static etb_error* error_of(etb_error* error, etb_error*) { return error; }
  template <class T>
  static etb_error* error_of(T, etb_error* found) {
    return found;
  }
};

// Replaces get_extension: returns NULL for every extension.
template <class... Args>
struct Stub<const void*(ETB_CALL*)(Args...)> {
  template <const char* kName>
  static const void* ETB_CALL call(Args...) {
    return nullptr;
  }
};

#define ETB_REQUIRED(table, function)
#define ETB_OPTIONAL(table, function, cap) \
  constexpr char kAbsent_##table##_##function[] = "the plugin has no " #table "." #function;
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL

}  // namespace

Status CompleteTable::assign(const etb_plugin_table& raw) {
  ETB_TRY(copy(raw));
  if (plugin_.ident == nullptr) return make_error(Code::INCOMPATIBLE, "plugin table: ident is NULL");
  const uint32_t profiles = plugin_.ident->profiles;
  if ((profiles & ETB_PROFILE_RUNTIME) != 0 && (plugin_.device == nullptr || plugin_.delegate == nullptr))
    return make_error(Code::INCOMPATIBLE, "profile runtime without the device and the delegate table");
  if ((profiles & ETB_PROFILE_AOT) != 0 && plugin_.aot == nullptr)
    return make_error(Code::INCOMPATIBLE, "profile aot without the aot table");
  ETB_TRY(require_all());
  install_stubs();
  return {};
}

Status CompleteTable::assign_layer(const etb_plugin_table& layer, const etb_plugin_table& next) {
  ETB_TRY(copy(layer));
  if (plugin_.init == nullptr)
    fill_holes(next);
  else
    drop_what_next_lacks(next);
  ETB_TRY(require_all());
  install_stubs();
  plugin_.ident = next.ident;
  return {};
}

Status CompleteTable::copy(const etb_plugin_table& raw) {
  ETB_TRY(copy_table(raw, kPluginTableNbytesOfOne, "plugin", plugin_));
  if (raw.device != nullptr) {
    ETB_TRY(copy_table(*raw.device, kDeviceTableNbytesOfOne, "device", device_));
    plugin_.device = &device_;
  }
  if (raw.delegate != nullptr) {
    ETB_TRY(copy_table(*raw.delegate, kDelegateTableNbytesOfOne, "delegate", delegate_));
    plugin_.delegate = &delegate_;
  }
  if (raw.aot != nullptr) {
    ETB_TRY(copy_table(*raw.aot, kAotTableNbytesOfOne, "aot", aot_));
    plugin_.aot = &aot_;
  }
  plugin_.caps &= ETB_PLUGIN_CAPS_KNOWN;
  delegate_.caps &= ETB_DELEGATE_CAPS_KNOWN;
  aot_.caps &= ETB_AOT_CAPS_KNOWN;
  return {};
}

void CompleteTable::fill_holes(const etb_plugin_table& next) {
  if (plugin_.device == nullptr) plugin_.device = next.device;
  if (plugin_.delegate == nullptr) plugin_.delegate = next.delegate;
  if (plugin_.aot == nullptr) plugin_.aot = next.aot;
  const etb_plugin_table* const next_plugin = &next;
  const auto* const next_device = next.device;
  const auto* const next_delegate = next.delegate;
  const auto* const next_aot = next.aot;
#define ETB_REQUIRED(name, function)                                              \
  if (is_ours(&name##_) && name##_.function == nullptr && next_##name != nullptr) \
    name##_.function = next_##name->function;
#define ETB_OPTIONAL(name, function, cap)                                           \
  if (is_ours(&name##_) && (name##_.caps & (cap)) == 0 && next_##name != nullptr) { \
    name##_.function = next_##name->function;                                       \
    name##_.caps |= next_##name->caps & (cap);                                      \
  }
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
}

void CompleteTable::drop_what_next_lacks(const etb_plugin_table& next) {
  if (next.device == nullptr) plugin_.device = nullptr;
  if (next.delegate == nullptr) plugin_.delegate = nullptr;
  if (next.aot == nullptr) plugin_.aot = nullptr;
  plugin_.caps &= next.caps;
  if (plugin_.delegate != nullptr) delegate_.caps &= next.delegate->caps;
  if (plugin_.aot != nullptr) aot_.caps &= next.aot->caps;
}

Status CompleteTable::require_all() const {
#define ETB_REQUIRED(name, function)                    \
  if (is_ours(&name##_) && name##_.function == nullptr) \
    return make_error(Code::INCOMPATIBLE, "required function " #name "." #function " is NULL");
#define ETB_OPTIONAL(name, function, cap)                                              \
  if (is_ours(&name##_) && (name##_.caps & (cap)) != 0 && name##_.function == nullptr) \
    return make_error(Code::INCOMPATIBLE,                                              \
                      "capability bit " #cap " is set but " #name "." #function " is NULL");
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
  return {};
}

void CompleteTable::install_stubs() {
#define ETB_REQUIRED(name, function)
#define ETB_OPTIONAL(name, function, cap) \
  if ((name##_.caps & (cap)) == 0)        \
    name##_.function = &Stub<decltype(name##_.function)>::template call<kAbsent_##name##_##function>;
#include "host/plugin/table_functions.def"
#undef ETB_REQUIRED
#undef ETB_OPTIONAL
}

bool CompleteTable::is_ours(const void* table) const noexcept {
  return table == &plugin_ || table == plugin_.device || table == plugin_.delegate || table == plugin_.aot;
}

}  // namespace etb::host
