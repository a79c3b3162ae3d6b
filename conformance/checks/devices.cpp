// SPDX-License-Identifier: Apache-2.0
#include "conformance/checks/devices.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/layers/record/to_trace.hpp"
#include "host/layers/validate/call.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kMostDevices = 4;

std::string read_text(const char* text, const char* what, bool may_be_empty, std::string& defect) {
  if (text == nullptr) {
    defect = fmt::format("{} is NULL", what);
    return "";
  }
  if (!host::validate::is_utf8(text)) defect = fmt::format("{} is not UTF-8", what);
  if (*text == '\0' && !may_be_empty) defect = fmt::format("{} is empty", what);
  return text;
}

void check_attributes(const etb_device_info& info, std::string& defect) {
  for (uint64_t i = 0; i < info.attribute_count; ++i) {
    const etb_option& attribute = *ETB_AT(etb_option, info.attributes, i);
    if (attribute.key == nullptr || *attribute.key == '\0')
      defect = fmt::format("attribute {} has no key", i);
    else if (attribute.type < ETB_OPTION_BOOL || attribute.type > ETB_OPTION_LIST)
      defect = fmt::format("attribute '{}' has the type {}", attribute.key, attribute.type);
    else if (attribute.type == ETB_OPTION_F64 && std::isnan(attribute.f64))
      defect = fmt::format("attribute '{}' is not a number", attribute.key);
    else if (attribute.type == ETB_OPTION_TEXT)
      (void)read_text(attribute.text, attribute.key, true, defect);
  }
}

DeviceFacts facts_of(const etb_device_info& info) {
  DeviceFacts out;
  out.uuid.assign(reinterpret_cast<const char*>(info.uuid), sizeof(info.uuid));
  out.fingerprint.assign(reinterpret_cast<const char*>(info.fingerprint), sizeof(info.fingerprint));
  out.kind = read_text(info.kind, "kind", false, out.defect);
  out.name = read_text(info.name, "name", false, out.defect);
  out.driver_version = read_text(info.driver_version, "driver_version", true, out.defect);
  out.vendor_number = info.vendor_number;
  out.device_number = info.device_number;
  out.memory_total = info.memory_total_bytes;
  out.memory_free = info.memory_free_bytes;
  if (out.memory_total != 0 && out.memory_free > out.memory_total)
    out.defect = fmt::format("{} bytes of {} are free", out.memory_free, out.memory_total);
  constexpr uint64_t kMostBytes = uint64_t{1}
                                  << 56;  // 64 petabytes: no memory of a device, but a wrapped number
  if (out.memory_total > kMostBytes) out.defect = fmt::format("memory of {} bytes", out.memory_total);
  if (info.flags != 0) out.defect = fmt::format("flags are {:#x}, expected 0", info.flags);
  check_attributes(info, out.defect);
  if (out.defect.empty()) out.attributes = host::record::to_trace(info.attributes, info.attribute_count);
  return out;
}

etb_device_sink sink_to(DeviceList& list) {
  return {ETB_INIT_SIZE(etb_device_sink), 0, &list, [](void* ctx, const etb_device_info* info) {
            static_cast<DeviceList*>(ctx)->push_back(facts_of(*info));
            return etb_status{ETB_OK};
          }};
}

}  // namespace

DeviceList devices_of(CheckContext& context, Subject& subject) {
  DeviceList out;
  const etb_device_sink sink = sink_to(out);
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("device.enumerate");
  if (const etb_status status = subject.table().device->enumerate(subject.handle(), &sink, &error);
      status != ETB_OK)
    context.fail(fmt::format("enumerate returns {}: {}", status, error.text));
  if (out.size() > kMostDevices) out.resize(kMostDevices);
  return out;
}

OpenDevice::OpenDevice(CheckContext& context, Subject& subject, const DeviceFacts& facts)
    : subject_(subject) {
  context.progress().at("device.open");
  status_ = subject.table().device->open(subject.handle(), uuid_of(facts), nullptr, 0, &handle_, &error_);
}

etb_status OpenDevice::close() {
  if (handle_ == nullptr) return ETB_OK;
  const etb_status status = subject_.table().device->close(handle_, &error_);
  if (status == ETB_OK) handle_ = nullptr;
  return status;
}

// True if the device is open. A device may be in use or lost, but other errors are findings.
bool is_open(CheckContext& context, const DeviceFacts& facts, const OpenDevice& device) {
  if (device.status() == ETB_OK && device.handle() == nullptr)
    context.fail(fmt::format("'{}': open returns ETB_OK and no device", facts.name));
  else if (device.status() != ETB_OK && device.status() != ETB_UNAVAILABLE)
    context.fail(fmt::format("'{}', which enumerate reports, does not open: {}", facts.name, device.text()));
  return device.status() == ETB_OK && device.handle() != nullptr;
}

void expect_closed(CheckContext& context, const DeviceFacts& facts, OpenDevice& device) {
  if (const etb_status status = device.close(); status != ETB_OK)
    context.fail(fmt::format("'{}': close returns {}: {}", facts.name, status, device.text()));
}

std::optional<DeviceFacts> query(CheckContext& context, Subject& subject, etb_device* device) {
  DeviceList found;
  const etb_device_sink sink = sink_to(found);
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("device.query");
  const etb_status status = subject.table().device->query(device, &sink, &error);
  if (status != ETB_OK)
    context.fail(fmt::format("query of an open device returns {}: {}", status, error.text));
  else if (found.size() != 1)
    context.fail(fmt::format("query reports {} devices, expected 1", found.size()));
  if (status != ETB_OK || found.size() != 1) return std::nullopt;
  return found[0];
}

}  // namespace etb::conformance
