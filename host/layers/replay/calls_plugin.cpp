// SPDX-License-Identifier: Apache-2.0
// Calls of the plugin's and the device's table.
#include <cstring>

#include "etb/cpp/sink.hpp"
#include "host/layers/record/to_trace.hpp"
#include "host/layers/replay/compare.hpp"
#include "host/layers/replay/replayer.hpp"

namespace etb::host::replay {
namespace {

// A sink that collects items in the form of the trace.
template <class Sink, class Item>
class Collector {
 public:
  Collector() : put_{this}, sink_(sink_to<Sink>(put_)) {}
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  const Sink* sink() const { return &sink_; }
  const std::vector<Item>& items() const { return items_; }

 private:
  struct Put {
    Collector* self;
    template <class C>
    etb_status operator()(const C& item) const {
      self->items_.push_back(record::to_trace(item));
      return ETB_OK;
    }
  };
  std::vector<Item> items_;
  Put put_;
  Sink sink_;
};

}  // namespace

Status Replayer::option_schema() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  ETB_TRY(expect_offered(live->context->table().caps & ETB_PLUGIN_CAP_OPTION_SCHEMA));
  Collector<etb_option_schema_sink, format::TraceSchema> found;
  const etb_plugin_table& functions = live->context->table();
  if (call([&](etb_error* error) {
        return functions.option_schema(live->context->handle(), found.sink(), error);
      }))
    differ(DifferenceKind::OPTION, compare_schemas(recorded().schemas, found.items()));
  return {};
}

// Returns the kind and the handle of the object that an option belongs to.
Result<std::pair<uint32_t, void*>> Replayer::option_target(uint64_t& out_plugin) {
  const uint64_t number = begin().target_number;
  out_plugin = begin().object_number;
  ETB_ASSIGN(LivePlugin* const live, plugin());
  const auto found = [&](auto& objects) -> void* {
    const auto place = objects.find(key(number));
    return place == objects.end() ? nullptr : place->second.handle;
  };
  void* handle = nullptr;
  switch (begin().target_kind) {
    case ETB_OBJECT_DEVICE:
      handle = found(devices_);
      break;
    case ETB_OBJECT_DELEGATE:
      handle = found(delegates_);
      break;
    case ETB_OBJECT_CONTEXT:
      handle = found(contexts_);
      break;
    default:
      handle = live->context->handle();
  }
  if (handle == nullptr)
    return make_error(Code::NOT_FOUND, object_name(begin().target_kind, number) + " does not exist here");
  return std::pair(begin().target_kind, handle);
}

Status Replayer::set_option() {
  uint64_t owner = 0;
  ETB_ASSIGN(const auto target, option_target(owner));
  ETB_TRY(expect_offered(plugins_.at(key(owner)).context->table().caps & ETB_PLUGIN_CAP_SET_OPTION));
  if (begin().options.size() != 1) return make_error(Code::INVALID_DATA, "no option, expected one");
  const OptionList given(begin().options);
  const PluginContext& context = *plugins_.at(key(owner)).context;
  call([&](etb_error* error) {
    return context.table().set_option(context.handle(), target.first, target.second, given.span().data(),
                                      error);
  });
  return {};
}

Status Replayer::get_option() {
  uint64_t owner = 0;
  ETB_ASSIGN(const auto target, option_target(owner));
  ETB_TRY(expect_offered(plugins_.at(key(owner)).context->table().caps & ETB_PLUGIN_CAP_GET_OPTION));
  Collector<etb_option_sink, format::TraceOption> found;
  const PluginContext& context = *plugins_.at(key(owner)).context;
  if (call([&](etb_error* error) {
        return context.table().get_option(context.handle(), target.first, target.second, begin().key.c_str(),
                                          found.sink(), error);
      }))
    differ(DifferenceKind::OPTION, compare_options(recorded().options, found.items()));
  return {};
}

// Devices differ between machines, so only the status is compared.
Status Replayer::enumerate() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  Collector<etb_device_sink, format::TraceDevice> found;
  const PluginContext& context = *live->context;
  call([&](etb_error* error) {
    return context.table().device->enumerate(context.handle(), found.sink(), error);
  });
  return {};
}

// Opens the device of the recorded uuid, or the first one of a machine that lacks it.
Status Replayer::open() {
  ETB_ASSIGN(LivePlugin* const live, plugin());
  const PluginContext& context = *live->context;
  Collector<etb_device_sink, format::TraceDevice> devices;
  etb_error error = fresh_error();
  context.table().device->enumerate(context.handle(), devices.sink(), &error);
  std::array<uint8_t, 16> uuid = begin().uuid;
  bool is_here = false;
  for (const format::TraceDevice& found : devices.items()) is_here = is_here || found.uuid == uuid;
  if (!is_here && !devices.items().empty() && recorded().status == ETB_OK) {
    uuid = devices.items().front().uuid;
    ++skipped_["device.open of the recorded device: this machine has another, '" +
               devices.items().front().name + "'"];
  }
  const OptionList given(begin().options);
  etb_device* made = nullptr;
  etb_status status = ETB_OK;
  const bool is_wanted = call([&](etb_error* inner) {
    return status = context.table().device->open(context.handle(), uuid.data(), given.span().data(),
                                                 given.span().size(), &made, inner);
  });
  if (is_wanted)
    devices_[key(recorded().made_number)] = {made, begin().object_number};
  else if (status == ETB_OK)
    context.table().device->close(made, nullptr);  // the recorded call failed
  return {};
}

Status Replayer::close() {
  ETB_ASSIGN(LiveDevice* const live, device());
  for (const auto& [number, other] : delegates_)
    if (number.first == now_.trace_index && other.device == begin().object_number)
      return make_error(Code::NOT_SUPPORTED, "a delegate of the device is alive");
  const etb_device_table& functions = *table(live->plugin).device;
  etb_status status = ETB_OK;
  call([&](etb_error* error) { return status = functions.close(live->handle, error); });
  if (status == ETB_OK) devices_.erase(key(begin().object_number));
  return {};
}

Status Replayer::query_device() {
  ETB_ASSIGN(LiveDevice* const live, device());
  Collector<etb_device_sink, format::TraceDevice> found;
  const etb_device_table& functions = *table(live->plugin).device;
  call([&](etb_error* error) { return functions.query(live->handle, found.sink(), error); });
  return {};
}

}  // namespace etb::host::replay
