#include "host/registry/probe.hpp"

#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "host/registry/child_process.hpp"
#include "host/registry/fault.hpp"
#include "host/registry/hex.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

// One JSON text a line: first where the child is, at the end what it found. The parent trusts none of it, since the
// plugin's code runs in the child.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}

  void at(const char* stage) { send({{"stage", stage}}); }

  void send(const json& message) {
    const std::string line = message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
    for (size_t done = 0; done < line.size();) {
      const ssize_t count = ::write(fd_, line.data() + done, line.size() - done);
      if (count <= 0) return;
      done += static_cast<size_t>(count);
    }
  }

 private:
  int fd_;
};

std::string text_of(const char* text) { return text == nullptr ? "" : std::string(text, strnlen(text, 256)); }

json from_device(const etb_device_info& info) {
  return {{"kind", text_of(info.kind)},
          {"name", text_of(info.name)},
          {"driver_version", text_of(info.driver_version)},
          {"uuid", format_hex(info.uuid)},
          {"memory_total_bytes", info.memory_total_bytes}};
}

Result<json> try_plugin(const PluginEntry& entry, const LoadOptions& options, Channel& channel) {
  channel.at("loading");
  ETB_ASSIGN(const std::shared_ptr<LoadedPlugin> plugin, LoadedPlugin::load(entry, options));
  json devices = json::array();
  if (plugin->is_layer()) return devices;
  channel.at("in init");
  ETB_ASSIGN(const PluginContext context, PluginContext::make(plugin, plugin->table(), plugin->host()));
  if ((plugin->ident().profiles & ETB_PROFILE_RUNTIME) != 0) {
    channel.at("enumerating devices");
    ETB_TRY(context.each_device([&](const etb_device_info& info) {
      if (devices.size() < 1024) devices.push_back(from_device(info));
    }));
  }
  channel.at("in deinit");
  return devices;
}

void run_child(const PluginEntry& entry, const LoadOptions& options, int fd) {
  Channel channel(fd);
  const Result<json> devices = try_plugin(entry, options, channel);
  if (devices)
    channel.send({{"devices", *devices}});
  else
    channel.send({{"error",
                   {{"code", static_cast<int>(devices.error().code)},
                    {"reason", devices.error().reason},
                    {"text", devices.error().message}}}});
}

struct Report {
  std::string stage = "starting";
  std::optional<json> devices;
  std::optional<Error> error;
};

// A member of an object that came from the child, whatever it is, made fit to print.
std::string text_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? made_printable(it->get_ref<const std::string&>(), 1024) : "";
}

uint64_t number_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<uint64_t>() : 0;
}

Error read_error(const json& object) {
  const uint64_t code = number_in(object, "code");
  return Error{code == 0 || code > 0xffff ? Code::INTERNAL : static_cast<Code>(code), text_in(object, "text"),
               text_in(object, "reason"), 0};
}

Report read_report(const std::string& output) {
  Report report;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const json line = json::parse(output.begin() + static_cast<long>(begin),
                                  output.begin() + static_cast<long>(end), nullptr, false);
    begin = end + 1;
    if (!line.is_object()) continue;
    if (line.contains("stage")) report.stage = text_in(line, "stage");
    if (line.contains("devices")) report.devices = line["devices"];
    if (line.contains("error") && line["error"].is_object()) report.error = read_error(line["error"]);
  }
  return report;
}

std::vector<ProbedDevice> read_devices(const json& list) {
  std::vector<ProbedDevice> out;
  if (!list.is_array()) return out;
  for (const json& item : list)
    if (item.is_object())
      out.push_back({text_in(item, "kind"), text_in(item, "name"), text_in(item, "driver_version"),
                     text_in(item, "uuid"), number_in(item, "memory_total_bytes")});
  return out;
}

}  // namespace

Result<std::vector<ProbedDevice>> probe_plugin(const PluginEntry& entry, const LoadOptions& options,
                                               std::chrono::milliseconds deadline) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  ETB_ASSIGN(const ChildOutcome outcome,
             run_in_child([&](int fd) { run_child(entry, options, fd); }, deadline));
  const Report report = read_report(outcome.output);
  if (outcome.end == ChildEnd::kTimedOut)
    return refuse(Reason::kTimedOut, to_text(outcome, deadline) + " while " + report.stage);
  // A plugin that ends the process with code 0 has not answered either.
  if (outcome.end == ChildEnd::kSignalled || outcome.value != 0 || (!report.devices && !report.error))
    return refuse(Reason::kCrashed, to_text(outcome, deadline) + " while " + report.stage);
  if (report.error) return tl::make_unexpected(*report.error);
  return read_devices(*report.devices);
}

}  // namespace etb::host
