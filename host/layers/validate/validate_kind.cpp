// SPDX-License-Identifier: Apache-2.0
// The layer "validate" by text: "validate", "validate:strict:guard-pages".
#include <sstream>

#include "host/layers/layer_kinds.hpp"
#include "host/layers/validate/validation.hpp"

namespace etb::host {
namespace {

class ActiveValidation final : public ActiveLayer {
 public:
  ActiveValidation(const ValidateOptions& options, const LayerHost& host)
      : print_(host.print), validation_(options) {}
  Layer layer() const noexcept override { return validation_.layer(); }
  bool finish() override {
    const uint64_t all = validation_.violation_count();
    const std::vector<Violation> kept = validation_.take();
    for (const Violation& violation : kept) print_(format_violation(violation));
    if (all > kept.size()) print_("and " + std::to_string(all - kept.size()) + " more");
    return all == 0;
  }

 private:
  std::function<void(const std::string&)> print_;
  Validation validation_;
};

Result<std::unique_ptr<ActiveLayer>> make(const std::string& settings, const LayerHost& host) {
  ValidateOptions options;
  if (!settings.empty() && settings[0] != ':')
    return make_error(Code::INVALID_ARGUMENT, "found '" + settings + "', expected :strict or :guard-pages");
  std::istringstream words(settings.empty() ? "" : settings.substr(1));
  if (settings == ":") return make_error(Code::INVALID_ARGUMENT, "found '', expected strict or guard-pages");
  for (std::string word; std::getline(words, word, ':');) {
    if (word == "strict")
      options.strict = true;
    else if (word == "guard-pages")
      options.memory = ValidateOptions::Memory::GUARD_PAGES;
    else
      return make_error(Code::INVALID_ARGUMENT, "found '" + word + "', expected strict or guard-pages");
  }
  return std::make_unique<ActiveValidation>(options, host);
}

}  // namespace

const LayerKind kValidateKind{"validate", "validate[:strict][:guard-pages]",
                              "checks both sides of every call against the rules of the ABI", make};

}  // namespace etb::host
