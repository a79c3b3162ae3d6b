// SPDX-License-Identifier: Apache-2.0
//
// The functions of a plugin table over a plugin class: init, deinit, options, extensions. Part of etb/cpp/plugin.hpp.
#pragma once

#include <string_view>
#include <utility>

#include "etb/cpp/plugin_objects.hpp"

namespace etb::detail {

template <class P>
etb_status init(const etb_host* host, const etb_option* options, uint64_t option_count, etb_plugin** out,
                etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(accept_struct(host, ETB_SIZE_THROUGH(etb_host, layer_link), ~0u, "etb_host"));
    ETB_ASSIGN(const Options checked,
               Options::make(options, option_count, option_rows<P>(), ETB_OBJECT_PLUGIN));
    const Host services(host);
    ETB_ASSIGN(P made, make_plugin<P>(services, checked));
    *out = reinterpret_cast<etb_plugin*>(new PluginObject<P>{services, std::move(made)});
    return {};
  });
}

template <class P>
etb_status deinit(etb_plugin* plugin, etb_error* error) {
  return guard(error,
               [&] { return end_object(reinterpret_cast<PluginObject<P>*>(plugin), nullptr, "plugin"); });
}

template <class P>
const void* get_extension(etb_plugin* plugin, uint32_t object_kind, void*, const char* id) {
  const void* found = nullptr;
  guard(nullptr, [&]() -> Status {
    found = reinterpret_cast<PluginObject<P>*>(plugin)->impl.get_extension(object_kind, id);
    return {};
  });
  return found;
}

template <class P>
etb_status option_schema(etb_plugin*, const etb_option_schema_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_option_schema_sink, sink, put));
    for (const OptionRow& row : option_rows<P>()) {
      const etb_option default_value = row.default_option();
      const etb_option_schema schema = row.schema(default_value);
      ETB_TRY(from_host(sink->put(sink->ctx, &schema), "option schema sink"));
    }
    return {};
  });
}

template <class T>
concept GivesOptions = requires(const T object, std::string_view key, etb_option& out) {
  object.get_option(key, out);
};

template <class P>
Result<const OptionRow*> find_option_row(const char* key, uint32_t object_kind) {
  for (const OptionRow& row : option_rows<P>())
    if (key != nullptr && std::string_view(key) == row.key && (row.scopes & object_kind) != 0) return &row;
  return make_error(Code::NOT_FOUND, "option '" + std::string(key != nullptr ? key : "") + "': unknown key");
}

// Calls `use` with the plugin's object that a handle of this kind names.
template <class P, class Use>
void use_object(etb_plugin* plugin, uint32_t object_kind, void* object, const Use& use) {
  switch (object_kind) {
    case ETB_OBJECT_PLUGIN:
      return use(reinterpret_cast<PluginObject<P>*>(plugin)->impl);
    case ETB_OBJECT_DEVICE:
      return use(static_cast<DeviceObject<P>*>(object)->opened);
    case ETB_OBJECT_DELEGATE:
      return use(static_cast<DelegateObject<P>*>(object)->impl);
    case ETB_OBJECT_CONTEXT:
      return use(static_cast<ContextObject<P>*>(object)->impl);
    default:
      return;
  }
}

inline Status not_of_this_object(const OptionRow& row) {
  return make_error(Code::NOT_SUPPORTED, "option '" + std::string(row.key) + "': not of this object");
}

// Checks the new value against its row first, so that a rejected one changes nothing (ABI-OPT-02).
template <class P>
etb_status set_option(etb_plugin* plugin, uint32_t object_kind, void* object, const etb_option* option,
                      etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_option, option, items));
    ETB_ASSIGN(const OptionRow* row, find_option_row<P>(option->key, object_kind));
    if (row->mutable_when == ETB_OPTION_FIXED)
      return make_error(Code::INVALID_STATE,
                        "option '" + std::string(row->key) + "': fixed, set it when the object is made");
    ETB_ASSIGN(const Options options, Options::make(option, 1, option_rows<P>(), object_kind));
    Status changed = not_of_this_object(*row);
    use_object<P>(plugin, object_kind, object, [&]<class T>(T& impl) {
      if constexpr (SetsOptions<T>) changed = impl.set_option(options);
    });
    return changed;
  });
}

template <class P>
etb_status get_option(etb_plugin* plugin, uint32_t object_kind, void* object, const char* key,
                      const etb_option_sink* sink, etb_error* error) {
  return guard(error, [&]() -> Status {
    ETB_TRY(ETB_ACCEPT(etb_option_sink, sink, put));
    ETB_ASSIGN(const OptionRow* row, find_option_row<P>(key, object_kind));
    etb_option value = row->default_option();
    // The default may be another value than the one in force, so an object without get_option returns none.
    Status found = not_of_this_object(*row);
    use_object<P>(plugin, object_kind, object, [&]<class T>(const T& impl) {
      if constexpr (GivesOptions<T>) found = impl.get_option(key, value);
    });
    ETB_TRY(std::move(found));
    return from_host(sink->put(sink->ctx, &value), "option sink");
  });
}

// True if a class of the plugin changes, or reports, options of its objects.
template <class P>
constexpr bool sets_any_options() {
  using Delegate = typename P::Delegate;
  return SetsOptions<P> || SetsOptions<typename OpenedOf<P>::Type> || SetsOptions<Delegate> ||
         SetsOptions<typename ContextOf<Delegate>::Type>;
}
template <class P>
constexpr bool gives_any_options() {
  using Delegate = typename P::Delegate;
  return GivesOptions<P> || GivesOptions<typename OpenedOf<P>::Type> || GivesOptions<Delegate> ||
         GivesOptions<typename ContextOf<Delegate>::Type>;
}

}  // namespace etb::detail
