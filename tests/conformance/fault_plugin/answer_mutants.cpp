// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/answer_mutants.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace faulty {
namespace {

Tables unchanged;

// ---- the change

struct Change {
  std::string field, kind;
  long first = 1, seen = 0;
  bool is_probe = false;
};
Change& change() {
  static Change made = [] {
    const auto text = [](const char* name) {
      const char* const found = std::getenv(name);
      return std::string(found != nullptr ? found : "");
    };
    return Change{text("ETB_ANSWER_FIELD"), text("ETB_ANSWER_CHANGE"),
                  std::strtol(text("ETB_ANSWER_FIRST").c_str(), nullptr, 10), 0,
                  !text("ETB_ANSWER_PROBE").empty()};
  }();
  return made;
}

bool is_wanted(const char* name) { return change().field == name && ++change().seen >= change().first; }

// Returns a copy that stays, one of all equal values: hosts keep some of them, and a copy of each would look like a leak.
template <class T>
const T& kept(T value) {
  static std::mutex mutex;
  static std::set<T> all;
  const std::lock_guard lock(mutex);
  return *all.insert(std::move(value)).first;
}

template <class T>
T changed(T value) {
  const std::string_view kind = change().kind;
  if constexpr (std::is_arithmetic_v<T>) {
    if (kind == "zero") return T{};
    if (kind == "more") return static_cast<T>(value + 1);
    if (kind == "less") return static_cast<T>(value - 1);
    if (kind == "most") return std::numeric_limits<T>::max();
    if (kind == "twice") return static_cast<T>(value + value);
  } else if constexpr (std::is_same_v<T, etb_bytes>) {
    if (kind == "null" || kind == "zero") return {};
  } else if constexpr (std::is_same_v<T, const char*>) {
    if (kind == "zero") return "";
    if (kind == "most") return "\xff\xfe";
    if (kind == "more" && value != nullptr) return kept(std::string(value) + "x").c_str();
    if (kind == "null") return nullptr;
  } else if (kind == "null") {
    return nullptr;
  }
  return value;
}

template <class T>
void change_field(const char* name, T& field) {
  if (!is_wanted(name)) return;
  T copy;
  std::memcpy(&copy, &field, sizeof(T));
  if constexpr (!std::is_array_v<T>)
    copy = changed(field);
  else if (change().kind == "zero")
    std::memset(&copy, 0, sizeof(T));
  else
    copy[0] = changed(field[0]);
  if (std::memcmp(&copy, &field, sizeof(T)) == 0) return;
  if (change().is_probe) std::abort();
  std::memcpy(&field, &copy, sizeof(T));
}

// Changes the first element in a copy.
template <class T>
void change_array(const char* name, const T*& field, uint64_t count) {
  if (!is_wanted(name) || field == nullptr || count == 0) return;
  const bool is_null = change().kind == "null";
  const T first = changed(field[0]);
  if (!is_null && first == field[0]) return;
  if (change().is_probe) std::abort();
  std::vector<T> copy(field, field + count);
  copy.front() = first;
  field = is_null ? nullptr : kept(std::move(copy)).data();
}

template <class Struct>
void change_struct(Struct& item) {
#define ETB_ANSWER(type, field) \
  if constexpr (std::is_same_v<Struct, type>) change_field(#type "." #field, item.field);
#define ETB_ANSWER_ARRAY(type, field, count) \
  if constexpr (std::is_same_v<Struct, type>) change_array(#type "." #field, item.field, item.count);
#include "tests/conformance/fault_plugin/answer_fields.def"
#undef ETB_ANSWER_ARRAY
#undef ETB_ANSWER
}

// ---- sinks

// Passes changed items to a function of the host's sink.
template <class Sink, class Item>
struct Relay {
  const Sink* sink;
  etb_status (ETB_CALL* Sink::*put)(void*, const Item*);

  static etb_status ETB_CALL pass(void* ctx, const Item* item) {
    const auto& relay = *static_cast<Relay*>(ctx);
    Item copy = *item;
    change_struct(copy);
    return (relay.sink->*relay.put)(relay.sink->ctx, &copy);
  }
};

// Calls `body` with a sink that changes items.
template <class Item, class Sink, class Body>
etb_status with_changes(const Sink* sink, Body body) {
  if (sink == nullptr) return body(sink);
  Relay<Sink, Item> relay{sink, &Sink::put};
  const Sink own = {ETB_INIT_SIZE(Sink), 0, &relay, &Relay<Sink, Item>::pass};
  return body(&own);
}

// A failed call also has an error to change.
etb_status with_error(etb_status status, etb_error* error) {
  if (status != ETB_OK && error != nullptr) change_struct(*error);
  return status;
}

// ---- devices and options

void change_devices(etb_device_table& table) {
  table.enumerate = [](etb_plugin* plugin, const etb_device_sink* sink, etb_error* error) {
    return with_changes<etb_device_info>(sink, [&](const etb_device_sink* own) {
      return with_error(unchanged.device.enumerate(plugin, own, error), error);
    });
  };
  table.query = [](etb_device* device, const etb_device_sink* sink, etb_error* error) {
    return with_changes<etb_device_info>(sink, [&](const etb_device_sink* own) {
      return with_error(unchanged.device.query(device, own, error), error);
    });
  };
  table.open = [](etb_plugin* plugin, const uint8_t* uuid, const etb_option* options, uint64_t count,
                  etb_device** out, etb_error* error) {
    return with_error(unchanged.device.open(plugin, uuid, options, count, out, error), error);
  };
}

void change_options(etb_plugin_table& table) {
  table.option_schema = [](etb_plugin* plugin, const etb_option_schema_sink* sink, etb_error* error) {
    return with_changes<etb_option_schema>(sink, [&](const etb_option_schema_sink* own) {
      return with_error(unchanged.plugin.option_schema(plugin, own, error), error);
    });
  };
  table.get_option = [](etb_plugin* plugin, uint32_t kind, void* object, const char* key,
                        const etb_option_sink* sink, etb_error* error) {
    return with_changes<etb_option>(sink, [&](const etb_option_sink* own) {
      return with_error(unchanged.plugin.get_option(plugin, kind, object, key, own, error), error);
    });
  };
  table.set_option = [](etb_plugin* plugin, uint32_t kind, void* object, const etb_option* option,
                        etb_error* error) {
    return with_error(unchanged.plugin.set_option(plugin, kind, object, option, error), error);
  };
}

// ---- delegates

etb_status ETB_CALL put_requirement(void* ctx, const etb_io_req* req) {
  const auto* const sink = static_cast<const etb_io_req_sink*>(ctx);
  etb_io_req copy = *req;
  etb_tensor_spec spec{};
  if (copy.spec != nullptr) {
    spec = *copy.spec;
    change_struct(spec);
    copy.spec = &spec;
  }
  change_struct(copy);
  return sink->put(sink->ctx, &copy);
}

etb_status ETB_CALL execute(etb_context* context, const etb_exec_args* args, etb_error* error) {
  return with_changes<etb_event>(args->events, [&](const etb_event_sink* own) {
    etb_exec_args copy = *args;
    if (args->events != nullptr) copy.events = own;
    const etb_status status = unchanged.delegate.execute(context, &copy, error);
    for (uint32_t i = 0; status == ETB_OK && i < args->output_count; ++i) {
      auto& output = const_cast<etb_tensor&>(*ETB_AT(etb_tensor, args->outputs, i));
      if (output.rank != 0) change_field("etb_tensor.first_size", output.sizes[0]);
      if (output.rank > 1) change_field("etb_tensor.last_size", output.sizes[output.rank - 1]);
      change_struct(output);
    }
    return with_error(status, error);
  });
}

void change_delegates(etb_delegate_table& table) {
  table.check_payload = [](etb_plugin* plugin, const etb_payload_check* check, etb_verdict* verdict,
                           etb_error* error) {
    const etb_status status = unchanged.delegate.check_payload(plugin, check, verdict, error);
    if (status == ETB_OK) change_struct(*verdict);
    return with_error(status, error);
  };
  table.create = [](etb_plugin* plugin, const etb_delegate_args* args, etb_delegate** out, etb_error* error) {
    return with_error(unchanged.delegate.create(plugin, args, out, error), error);
  };
  table.query = [](etb_delegate* delegate, etb_delegate_info* info, etb_error* error) {
    const etb_status status = unchanged.delegate.query(delegate, info, error);
    if (status == ETB_OK) change_struct(*info);
    return with_error(status, error);
  };
  table.query_io = [](etb_delegate* delegate, const etb_io_req_sink* sink, etb_error* error) {
    const etb_io_req_sink own = {ETB_INIT_SIZE(etb_io_req_sink), 0, const_cast<etb_io_req_sink*>(sink),
                                 put_requirement};
    return with_error(unchanged.delegate.query_io(delegate, &own, error), error);
  };
  table.execute = execute;
}

// ---- ahead of time

etb_status ETB_CALL begin_payload(void* ctx, uint32_t index, const etb_blob_writer** out_writer) {
  const auto* const sink = static_cast<const etb_artifact_sink*>(ctx);
  change_field("begin_payload.graph_index", index);
  return sink->begin_payload(sink->ctx, index, out_writer);
}
etb_status ETB_CALL named_blob(void* ctx, const etb_named_blob* blob) {
  const auto* const sink = static_cast<const etb_artifact_sink*>(ctx);
  etb_named_blob copy = *blob;
  change_struct(copy);
  return sink->named_blob(sink->ctx, &copy);
}
etb_status ETB_CALL end_payload(void* ctx, const etb_artifact* artifact) {
  const auto* const sink = static_cast<const etb_artifact_sink*>(ctx);
  etb_artifact copy = *artifact;
  std::vector<etb_debug_entry> entries(copy.debug_map, copy.debug_map + copy.debug_entry_count);
  for (etb_debug_entry& entry : entries) change_struct(entry);
  copy.debug_map = entries.data();
  change_struct(copy);
  return sink->end_payload(sink->ctx, &copy);
}

etb_status ETB_CALL partition(etb_plugin* plugin, const etb_partition_args* args,
                              const etb_partition_sink* sink, etb_error* error) {
  struct Both {
    Relay<etb_partition_sink, etb_claim> claim;
    Relay<etb_partition_sink, etb_reject> reject;
  } both = {{sink, &etb_partition_sink::claim}, {sink, &etb_partition_sink::reject}};
  const etb_partition_sink own = {
      ETB_INIT_SIZE(etb_partition_sink), 0, &both,
      [](void* ctx, const etb_claim* claim) {
        return Relay<etb_partition_sink, etb_claim>::pass(&static_cast<Both*>(ctx)->claim, claim);
      },
      [](void* ctx, const etb_reject* reject) {
        return Relay<etb_partition_sink, etb_reject>::pass(&static_cast<Both*>(ctx)->reject, reject);
      }};
  return with_error(unchanged.aot.partition(plugin, args, &own, error), error);
}

void change_compilation(etb_aot_table& table) {
  table.op_table = [](etb_plugin* plugin, const etb_op_sink* sink, etb_error* error) {
    return with_changes<etb_op_capability>(sink, [&](const etb_op_sink* own) {
      return with_error(unchanged.aot.op_table(plugin, own, error), error);
    });
  };
  table.partition = partition;
  table.estimate = [](etb_plugin* plugin, const etb_partition_args* args, etb_estimate* out,
                      etb_error* error) {
    const etb_status status = unchanged.aot.estimate(plugin, args, out, error);
    if (status == ETB_OK) change_struct(*out);
    return with_error(status, error);
  };
  table.compile = [](etb_plugin* plugin, const etb_compile_args* args, etb_error* error) {
    const etb_artifact_sink own = {ETB_INIT_SIZE(etb_artifact_sink),
                                   0,
                                   const_cast<etb_artifact_sink*>(args->sink),
                                   begin_payload,
                                   named_blob,
                                   end_payload};
    etb_compile_args copy = *args;
    copy.sink = &own;
    return with_error(unchanged.aot.compile(plugin, &copy, error), error);
  };
}

}  // namespace

void change_answers(Tables& tables) {
  if (kFault != kBreakable || change().field.empty()) return;
  unchanged = tables;
  change_options(tables.plugin);
  change_devices(tables.device);
  change_delegates(tables.delegate);
  change_compilation(tables.aot);
  change_struct(tables.plugin);
  change_struct(tables.device);
  change_struct(tables.delegate);
  change_struct(tables.aot);
}

}  // namespace faulty
