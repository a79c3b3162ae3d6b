// SPDX-License-Identifier: Apache-2.0
// Compiles for each device of the machine, as `etbackend compile --target` does with a file that
// `list --devices --json` wrote, and runs what it compiled there.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "host/layers/replay/from_trace.hpp"

namespace etb::conformance {
namespace {

std::vector<format::TraceTarget> describe(const DeviceFacts& facts) {
  format::TraceTarget out;
  out.kind = facts.kind;
  out.name = facts.name;
  std::copy(facts.fingerprint.begin(), facts.fingerprint.end(), out.fingerprint.begin());
  out.attributes = facts.attributes;
  return {std::move(out)};
}

// Returns true if the case was compiled for the device. A device need not suit each case.
bool runs_on_its_device(CheckContext& context, Subject& subject, const ClaimedCase& item,
                        const DeviceFacts& facts, etb_device* device) {
  const std::vector<format::TraceTarget> description = describe(facts);
  const host::replay::Target target(description);
  CompileOptions options;
  options.aot.target = target.get();
  const std::string where = fmt::format("{}, compiled for '{}': ", item.item->name, facts.name);
  context.progress().at("partition for a device");
  if (!partition(subject, item.built.image, options.aot).is_whole_claim()) return false;
  context.progress().at("compile for a device");
  Compiled compiled = compile(subject, item.built.image, options);
  if (compiled.status != ETB_OK) {
    context.fail(where + "claimed, but compile fails: " + compiled.error);
    return true;
  }
  const Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject, item.built, std::move(compiled.payload), {}, device);
  if (!session) {
    context.fail(where + "create on this device fails: " + session.error().message);
    return true;
  }
  const RunResult result = (*session)->run(item.built.runs[0]);
  if (result.status != ETB_OK)
    context.fail(where + "execute fails: " + result.error.text);
  else if (!context.is_right(item, result))
    context.fail(where + "a wrong result");
  return true;
}

void compiled_for_each_device(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 6);
  for (const DeviceFacts& facts : devices_of(context, *subject)) {
    OpenDevice device(context, *subject, facts);
    if (!is_open(context, facts, device)) continue;
    size_t run_count = 0;
    for (const ClaimedCase& item : items) {
      if (runs_on_its_device(context, *subject, item, facts, device.handle())) ++run_count;
      if (!context.outcome().findings.empty()) return;
    }
    if (run_count == 0 && !items.empty())
      context.fail(fmt::format("'{}': the plugin claims none of its cases for this device", facts.name));
    expect_closed(context, facts, device);
  }
}

// A device of the same kind with less of one attribute: what is claimed for it compiles.
void claims_for_smaller_devices(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 16);
  if (items.empty()) return;
  for (ClaimedCase& item : context.find_claimed_like(*subject, "*.large.*", 24))
    items.push_back(std::move(item));
  size_t count = 0;
  for (const DeviceFacts& facts : devices_of(context, *subject))
    for (size_t number = 0; number < facts.attributes.size(); ++number)
      for (const int64_t divisor : {2, 8, 64}) {
        std::vector<format::TraceTarget> description = describe(facts);
        format::TraceOption& attribute = description[0].attributes[number];
        if (attribute.type != ETB_OPTION_I64 || attribute.i64 / divisor < 1) continue;
        attribute.i64 /= divisor;
        ++count;
        const host::replay::Target target(description);
        CompileOptions options;
        options.aot.target = target.get();
        for (const ClaimedCase& item : items) {
          context.progress().at("partition for a smaller device");
          context.progress().restart();
          if (!partition(*subject, item.built.image, options.aot).is_whole_claim()) continue;
          if (const Compiled compiled = compile(*subject, item.built.image, options);
              compiled.status != ETB_OK)
            return context.fail(fmt::format("{}: claimed for '{}' with {} of {}, but compile fails: {}",
                                            item.item->name, facts.name, attribute.i64, attribute.key,
                                            compiled.error));
        }
      }
  if (count == 0) context.skip("no device has attributes that are numbers");
}

constexpr Check kChecks[] = {
    {"dev.smaller-devices", "What is claimed for a target with less of a device's attribute compiles.",
     "ABI-AOT-03", claims_for_smaller_devices},
    {"dev.compiled-for-each-device", "What is compiled for a target made from a device runs on this device.",
     "ABI-AOT-03", compiled_for_each_device},
};

}  // namespace

std::span<const Check> device_target_checks() { return kChecks; }

}  // namespace etb::conformance
