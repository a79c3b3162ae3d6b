// SPDX-License-Identifier: Apache-2.0
// The devices of a plugin, as checks use them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/format/call_trace.hpp"
#include "conformance/checks/check.hpp"

namespace etb::conformance {

// A device as the plugin describes it.
struct DeviceFacts {
  std::string uuid, fingerprint, kind, name, driver_version;
  uint32_t vendor_number = 0, device_number = 0;
  uint64_t memory_total = 0, memory_free = 0;
  std::vector<format::TraceOption> attributes;
  std::string defect;  // defect of the description, "" if there is none

  // True if all is equal that does not change while the process runs.
  bool is_same_device(const DeviceFacts& other) const {
    return uuid == other.uuid && fingerprint == other.fingerprint && kind == other.kind &&
           name == other.name && driver_version == other.driver_version &&
           vendor_number == other.vendor_number && device_number == other.device_number &&
           memory_total == other.memory_total;
  }
};
using DeviceList = std::vector<DeviceFacts>;

// The first four devices that enumerate reports. Adds a finding if the call fails.
DeviceList devices_of(CheckContext& context, Subject& subject);

// An opened device, closed at the end.
class OpenDevice {
 public:
  OpenDevice(CheckContext& context, Subject& subject, const DeviceFacts& facts);
  ~OpenDevice() { (void)close(); }
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  static const uint8_t* uuid_of(const DeviceFacts& facts) {
    return reinterpret_cast<const uint8_t*>(facts.uuid.data());
  }
  etb_status status() const { return status_; }
  const char* text() const { return error_.text; }
  etb_device* handle() const { return handle_; }

  // Closes the device once; ETB_OK if it is closed.
  etb_status close();

 private:
  Subject& subject_;
  etb_device* handle_ = nullptr;
  etb_error error_ = ETB_ERROR_INIT;
  etb_status status_ = ETB_OK;
};

// True if the device is open. A device may be in use or lost, but other errors are findings.
bool is_open(CheckContext& context, const DeviceFacts& facts, const OpenDevice& device);
void expect_closed(CheckContext& context, const DeviceFacts& facts, OpenDevice& device);

// Returns the device's own description. Adds a finding if there is not exactly one.
std::optional<DeviceFacts> query(CheckContext& context, Subject& subject, etb_device* device);

}  // namespace etb::conformance
