// SPDX-License-Identifier: Apache-2.0
// The layer "fault" by text: "fault=device-lost,nth=3+seed=7"; "fault" has no rules and changes nothing.
#include "host/layers/fault/fault.hpp"
#include "host/layers/layer_kinds.hpp"

namespace etb::host {
namespace {

class ActiveFaults final : public ActiveLayer {
 public:
  ActiveFaults(fault::Rules rules, const LayerHost& host)
      : print_(host.print), has_rules_(!rules.rules.empty()), faults_(std::move(rules), host.print) {}
  Layer layer() const noexcept override { return faults_.layer(); }
  bool finish() override {
    const uint64_t count = faults_.fault_count();
    if (has_rules_)
      print_("fault: " + std::to_string(count) + (count == 1 ? " fault" : " faults") + " happened");
    return true;
  }

 private:
  std::function<void(const std::string&)> print_;
  bool has_rules_;
  Faults faults_;
};

Result<std::unique_ptr<ActiveLayer>> make(const std::string& settings, const LayerHost& host) {
  if (!settings.empty() && settings[0] != '=')
    return make_error(Code::INVALID_ARGUMENT, "found '" + settings + "', expected =RULES");
  ETB_ASSIGN(fault::Rules rules, fault::parse_rules(settings.empty() ? "" : settings.substr(1)));
  return std::make_unique<ActiveFaults>(std::move(rules), host);
}

}  // namespace

const LayerKind kFaultKind{"fault", "fault=RULES",
                           "makes calls fail, late, or with damaged data, by rule and seed", make};

}  // namespace etb::host
