// SPDX-License-Identifier: Apache-2.0
#include "host/registry/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/format/hex.hpp"
#include "etb/cpp/sink.hpp"
#include "host/layers/start_plugin.hpp"
#include "host/plugin/device.hpp"
#include "host/registry/child_process.hpp"
#include "host/registry/diagnostic.hpp"
#include "host/registry/process_objects.hpp"
#include "host/registry/untrusted_json.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

// Sends one JSON text a line: the stage that the child has reached, at the end its report. The parent trusts
// none of it, because the plugin's code runs in the child.
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

constexpr uint64_t kMaxAttributes = 256;

// The form of target files (partitioner_sdk/partition/target_file.hpp). Returns null for a value that it lacks.
json from_attribute(const etb_option& attribute, bool may_be_list = true) {
  switch (attribute.type) {
    case ETB_OPTION_BOOL:
      return attribute.i64 != 0;
    case ETB_OPTION_I64:
      return attribute.i64;
    case ETB_OPTION_F64:
      return std::isfinite(attribute.f64) ? json(attribute.f64) : json();
    case ETB_OPTION_TEXT:
      return text_of(attribute.text);
    case ETB_OPTION_BYTES:
      if (attribute.bytes.data == nullptr || attribute.bytes.nbytes > 256) return nullptr;
      return {{"hex", format::to_hex({static_cast<const uint8_t*>(attribute.bytes.data),
                                      static_cast<size_t>(attribute.bytes.nbytes)})}};
    case ETB_OPTION_LIST: {
      if (!may_be_list || attribute.items == nullptr || attribute.item_count > kMaxAttributes) return nullptr;
      json list = json::array();
      for (uint32_t i = 0; i < attribute.item_count; ++i) {
        list.push_back(from_attribute(*ETB_AT(etb_option, attribute.items, i), false));
        if (list.back().is_null()) return nullptr;
      }
      return list;
    }
    default:
      return nullptr;
  }
}

json from_attributes(const etb_device_info& info) {
  json out = json::object();
  if (info.attributes == nullptr) return out;
  for (uint64_t i = 0; i < std::min(info.attribute_count, kMaxAttributes); ++i) {
    const etb_option& attribute = *ETB_AT(etb_option, info.attributes, i);
    const std::string key = text_of(attribute.key);
    json value = from_attribute(attribute);
    if (!key.empty() && !value.is_null()) out[key] = std::move(value);
  }
  return out;
}

json from_device(const etb_device_info& info) {
  return {{"kind", text_of(info.kind)},
          {"name", text_of(info.name)},
          {"driver_version", text_of(info.driver_version)},
          {"uuid", format::to_hex(info.uuid)},
          {"memory_total_bytes", info.memory_total_bytes},
          {"memory_free_bytes", info.memory_free_bytes},
          {"fingerprint", format::to_hex(info.fingerprint)},
          {"attributes", from_attributes(info)}};
}

// Stores why a plugin has no device, and the remedy: its latest warning, or its error when asked to open one.
void add_reason(const PluginContext& context, std::string message, json& report) {
  constexpr std::string_view kHint = "\nhint: ";
  const uint8_t any[16] = {};
  if (message.empty())
    if (const Result<Device> device = context.open_device(any);
        !device && device.error().code == Code::UNAVAILABLE)
      message = device.error().message;
  if (message.empty()) return;
  const size_t end = std::min(message.find(kHint), message.size());
  report["no_device_reason"] = message.substr(0, end);
  if (end < message.size()) report["no_device_hint"] = message.substr(end + kHint.size());
}

// Reads the op table.
Status add_ops(const PluginContext& context, json& report) {
  json rows = json::array();
  auto put = [&](const etb_op_capability& op) -> etb_status {
    if (rows.size() < kMaxProbedOps) rows.push_back(from_op(op));
    return ETB_OK;
  };
  const auto sink = sink_to<etb_op_sink>(put);
  etb_error error = ETB_ERROR_INIT;
  ETB_TRY(check(context.table().aot->op_table(context.handle(), &sink, &error), error));
  report["ops"] = std::move(rows);
  return {};
}

// Paths of the objects in this process.
std::vector<std::string> loaded_objects() {
  std::vector<std::string> out;
  for (const ProcessObject& object : process_objects()) {
    // Shows a library that was loaded through a descriptor with the descriptor's target.
    std::error_code is_no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(object.path, is_no_link);
    const bool is_descriptor = object.path.find("/fd/") != std::string::npos;
    out.push_back(is_descriptor && !is_no_link ? target.string() : object.path);
  }
  return out;
}

Result<json> try_plugin(const PluginEntry& entry, const LoadOptions& options, const ProbeQuestions& questions,
                        Channel& channel) {
  channel.at("loading");
  const std::vector<std::string> before = loaded_objects();
  ETB_ASSIGN(const std::shared_ptr<LoadedPlugin> plugin, LoadedPlugin::load(entry, options));
  json report{{"devices", json::array()}, {"libraries", json::array()}};
  for (const std::string& object : loaded_objects())
    if (std::find(before.begin(), before.end(), object) == before.end())
      report["libraries"].push_back(object);
  if (plugin->is_layer()) return report;
  channel.at("in init");
  std::string warning;
  LogSink log(ETB_LOG_WARNING, [&](const LogLine& line) { warning = line.text; });
  StartArgs args;
  args.services.log = &log;
  args.application = options.host;
  args.plugin_dir = plugin->host().plugin_dir;
  args.host_flags = plugin->host().flags;
  ETB_ASSIGN(const PluginContext context, start_plugin(plugin, plugin->table(), args));
  if (questions.devices && (plugin->ident().profiles & ETB_PROFILE_RUNTIME) != 0) {
    channel.at("enumerating devices");
    ETB_TRY(context.each_device([&](const etb_device_info& info) {
      if (report["devices"].size() < 1024) report["devices"].push_back(from_device(info));
    }));
    if (report["devices"].empty()) add_reason(context, warning, report);
  }
  if (questions.ops && (plugin->ident().profiles & ETB_PROFILE_AOT) != 0) {
    channel.at("listing operators");
    ETB_TRY(add_ops(context, report));
  }
  channel.at("in deinit");
  return report;
}

void run_child(const PluginEntry& entry, const LoadOptions& options, const ProbeQuestions& questions,
               int fd) {
  Channel channel(fd);
  const Result<json> report = try_plugin(entry, options, questions, channel);
  if (report)
    channel.send({{"report", *report}});
  else
    channel.send({{"error",
                   {{"code", static_cast<int>(report.error().code)},
                    {"reason", report.error().reason},
                    {"text", report.error().message}}}});
}

struct Answer {
  std::string stage = "starting";
  std::optional<json> report;
  std::optional<Error> error;
};

Error read_error(const json& object) {
  const uint64_t code = number_in(object, "code");
  return Error{code == 0 || code > 0xffff ? Code::INTERNAL : static_cast<Code>(code), text_in(object, "text"),
               text_in(object, "reason"), 0};
}

Answer read_answer(const std::string& output) {
  Answer answer;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const json line = json::parse(output.begin() + static_cast<long>(begin),
                                  output.begin() + static_cast<long>(end), nullptr, false);
    begin = end + 1;
    if (!line.is_object()) continue;
    if (line.contains("stage")) answer.stage = text_in(line, "stage");
    if (line.contains("report") && line["report"].is_object()) answer.report = line["report"];
    if (line.contains("error") && line["error"].is_object()) answer.error = read_error(line["error"]);
  }
  return answer;
}

std::string object_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return "{}";
  return found->dump(-1, ' ', true, json::error_handler_t::replace);
}

ProbeReport read_report(const json& object) {
  ProbeReport out;
  if (const auto list = object.find("devices"); list != object.end() && list->is_array())
    for (const json& item : *list)
      if (item.is_object())
        out.devices.push_back({text_in(item, "kind"), text_in(item, "name"), text_in(item, "driver_version"),
                               text_in(item, "uuid"), number_in(item, "memory_total_bytes"),
                               number_in(item, "memory_free_bytes"), text_in(item, "fingerprint"),
                               object_in(item, "attributes")});
  out.no_device_reason = text_in(object, "no_device_reason");
  out.no_device_hint = text_in(object, "no_device_hint");
  if (const auto list = object.find("libraries"); list != object.end() && list->is_array())
    for (const json& item : *list)
      if (item.is_string()) out.libraries.push_back(made_printable(item.get_ref<const std::string&>()));
  const auto ops = object.find("ops");
  out.has_ops = ops != object.end();
  if (out.has_ops) out.ops = read_ops(*ops);
  return out;
}

}  // namespace

Result<ProbeReport> probe_plugin(const PluginEntry& entry, const LoadOptions& options,
                                 std::chrono::milliseconds deadline, const ProbeQuestions& questions) {
  if (entry.problem) return tl::make_unexpected(*entry.problem);
  ETB_ASSIGN(const ChildOutcome outcome,
             run_in_child([&](int fd) { run_child(entry, options, questions, fd); }, deadline));
  const Answer answer = read_answer(outcome.output);
  if (outcome.end == ChildEnd::kTimedOut)
    return refuse(Reason::kTimedOut, to_text(outcome, deadline) + " while " + answer.stage);
  // A plugin that ends the process with code 0 has sent no answer either.
  if (outcome.end == ChildEnd::kSignalled || outcome.value != 0 || (!answer.report && !answer.error))
    return refuse(Reason::kCrashed, to_text(outcome, deadline) + " while " + answer.stage);
  if (answer.error) return tl::make_unexpected(*answer.error);
  return read_report(*answer.report);
}

}  // namespace etb::host
