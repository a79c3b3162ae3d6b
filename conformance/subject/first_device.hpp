// SPDX-License-Identifier: Apache-2.0
// The first device that the plugin under test lists.
#pragma once

#include <cstring>
#include <vector>

#include "conformance/subject/subject.hpp"

namespace etb::conformance {

// A device of the plugin, opened for a check.
class FirstDevice {
 public:
  explicit FirstDevice(Subject& subject, const std::vector<etb_option>& options = {}) : subject_(subject) {
    etb_error error = ETB_ERROR_INIT;
    const etb_device_sink sink = {ETB_INIT_SIZE(etb_device_sink), 0, this,
                                  [](void* ctx, const etb_device_info* info) {
                                    auto& self = *static_cast<FirstDevice*>(ctx);
                                    if (!self.has_uuid_)
                                      std::memcpy(self.uuid_, info->uuid, sizeof(self.uuid_));
                                    self.has_uuid_ = true;
                                    return etb_status{ETB_OK};
                                  }};
    (void)subject.table().device->enumerate(subject.handle(), &sink, &error);
    if (has_uuid_)
      status_ =
          subject.table().device->open(subject.handle(), uuid_, options.empty() ? nullptr : options.data(),
                                       options.size(), &handle_, &error);
  }
  ~FirstDevice() {
    etb_error error = ETB_ERROR_INIT;
    if (handle_ != nullptr) (void)subject_.table().device->close(handle_, &error);
  }
  FirstDevice(const FirstDevice&) = delete;
  FirstDevice& operator=(const FirstDevice&) = delete;
  etb_device* handle() const { return handle_; }
  etb_status status() const { return status_; }  // status of open; ETB_NOT_FOUND if the plugin lists no device

 private:
  Subject& subject_;
  uint8_t uuid_[16] = {};
  bool has_uuid_ = false;
  etb_status status_ = ETB_NOT_FOUND;
  etb_device* handle_ = nullptr;
};

}  // namespace etb::conformance
