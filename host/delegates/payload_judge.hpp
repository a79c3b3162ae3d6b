// SPDX-License-Identifier: Apache-2.0
// PayloadJudge: asks plugins whether they run a payload on the device that is chosen, and compares that device with the one that
// the payload was compiled for.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/format/target_record.hpp"
#include "host/delegates/device_target.hpp"
#include "host/plugin/plugin_context.hpp"
#include "host/registry/decision.hpp"
#include "host/runtime/delegate_resolver.hpp"

namespace etb::host {

class PayloadJudge {
 public:
  // Reads what the program stores about the payloads of the delegate id. Everything is borrowed during the life of the object.
  // Returns INVALID_DATA for a record that is none.
  [[nodiscard]] static Result<PayloadJudge> make(const DelegateRequest& request,
                                                 std::span<const etb_compile_spec> specs);

  // True if the program states a device that the payload was compiled for.
  bool knows_target() const noexcept { return compiled_for_.has_value(); }

  // Returns the verdict of a plugin. `device`: where the payload would run; NULL: any device of the machine. If the payload was
  // compiled for another device, the text of a verdict that is not optimal names both.
  Result<PayloadVerdict> judge(const PluginContext& plugin, const DeviceTarget* device);

  // Returns what to tell the user about the payload on this plugin; "": nothing.
  std::string notice_for(const std::string& plugin_id) const;

 private:
  PayloadJudge(const DelegateRequest& request, std::span<const etb_compile_spec> specs)
      : request_(&request), specs_(specs) {}

  const DelegateRequest* request_;
  std::span<const etb_compile_spec> specs_;
  std::optional<format::TargetRecord> compiled_for_;
  std::map<std::string, std::string> notices_;  // by plugin
};

}  // namespace etb::host
