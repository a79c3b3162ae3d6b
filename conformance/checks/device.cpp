// SPDX-License-Identifier: Apache-2.0
// dev: devices. They are enumerated, opened, queried, run on and closed.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

void described_completely(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList first = devices_of(context, *subject), second = devices_of(context, *subject);
  // The device that a delegate runs on by default is one that enumerate lists.
  if (first.empty() && context.outcome().findings.empty())
    for (const ClaimedCase& item : context.find_claimed(*subject, 1))
      if (const auto session = CaseSession::make(*subject, item.built, item.payload);
          session && (*session)->run(item.built.runs[0]).status == ETB_OK)
        context.fail("enumerate reports no device, but a delegate runs");
  std::set<std::string> uuids;
  for (size_t i = 0; i < first.size(); ++i) {
    const DeviceFacts& facts = first[i];
    if (!facts.defect.empty()) context.fail(fmt::format("device {} '{}': {}", i, facts.name, facts.defect));
    if (!uuids.insert(facts.uuid).second)
      context.fail(fmt::format("device {} '{}' has the uuid of another", i, facts.name));
    if (second.size() != first.size() || !second[i].is_same_device(facts))
      return context.fail(fmt::format("device {} '{}' differs in the second enumeration", i, facts.name));
  }
}

void opens_as_described(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList devices = devices_of(context, *subject);
  if (devices.empty() && context.outcome().findings.empty()) return context.skip("the machine has no device");
  size_t open_count = 0;
  for (const DeviceFacts& facts : devices) {
    OpenDevice device(context, *subject, facts);
    if (!is_open(context, facts, device)) continue;
    ++open_count;
    for (int i = 0; i < 2; ++i) {
      const std::optional<DeviceFacts> found = query(context, *subject, device.handle());
      if (!found) break;
      if (!found->defect.empty()) context.fail(fmt::format("query of '{}': {}", facts.name, found->defect));
      if (!found->is_same_device(facts))
        context.fail(fmt::format("query of '{}' describes another device, '{}'", facts.name, found->name));
    }
    expect_closed(context, facts, device);
  }
  if (open_count == 0 && context.outcome().findings.empty())
    context.warn("every device is unavailable, so none was tested");
}

// Compares with the result on the default device.
void run_on_device(CheckContext& context, Subject& subject, const ClaimedCase& item, const DeviceFacts& facts,
                   OpenDevice& device, size_t& run_count) {
  context.progress().at("delegate.create on a device");
  Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject, item.built, item.payload, {}, device.handle());
  const auto where = [&] { return fmt::format("{} on '{}': ", item.item->name, facts.name); };
  if (!session) {
    const Code code = session.error().code;
    if (code != Code::UNAVAILABLE && code != Code::INCOMPATIBLE && code != Code::NOT_SUPPORTED)
      context.fail(where() + "create fails: " + session.error().message);
    return;
  }
  ++run_count;
  if (const etb_status early = device.close(); early != ETB_BUSY) {
    if (early == ETB_OK) (void)session->release();  // its device is gone
    return context.fail(where() +
                        fmt::format("close while a delegate lives returns {}, expected ETB_BUSY", early));
  }
  const RunResult result = (*session)->run(item.built.runs[0]);
  if (result.status != ETB_OK) context.fail(where() + "execute fails: " + result.error.text);
  if (result.status == ETB_OK && !context.is_right(item, result)) context.fail(where() + "a wrong result");
  if (const auto used = query(context, subject, device.handle()); used && !used->is_same_device(facts))
    context.fail(where() + "query describes another device while a delegate lives");
  if (const Status ended = (*session)->end(); !ended) context.fail(where() + ended.error().message);
}

void each_device_runs(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList devices = devices_of(context, *subject);
  const std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  if (items.empty()) return;
  size_t run_count = 0, open_count = 0;
  for (const DeviceFacts& facts : devices) {
    OpenDevice device(context, *subject, facts);
    if (!is_open(context, facts, device)) continue;
    ++open_count;
    for (const ClaimedCase& item : items) {
      run_on_device(context, *subject, item, facts, device, run_count);
      if (!context.outcome().findings.empty()) return;
    }
    expect_closed(context, facts, device);
  }
  if (open_count != 0 && run_count == 0) context.fail("no device runs any of the claimed cases");
}

// Runs a case many times on both devices at once.
void run_on_both(CheckContext& context, Subject& subject, const ClaimedCase& item, const OpenDevice& first,
                 const OpenDevice& second) {
  const auto a = CaseSession::make(subject, item.built, item.payload, {}, first.handle()),
             b = CaseSession::make(subject, item.built, item.payload, {}, second.handle());
  if (!a || !b) return;
  const int runs = context.repeats(200, 8);
  std::atomic<int> wrong_count{0};
  context.progress().restart();
  context.progress().at("runs on two devices");
  const auto run = [&](CaseSession& session) {
    for (int i = 0; i < runs && wrong_count == 0; ++i)
      if (const RunResult result = session.run(item.built.runs[0]);
          result.status != ETB_OK || !context.is_right(item, result))
        ++wrong_count;
  };
  std::thread other([&] { run(**b); });
  run(**a);
  other.join();
  if (wrong_count != 0)
    context.fail(item.item->name + ": runs on two devices at once: an error or a wrong result");
}

// The same device twice if there is only one, which may then be in use.
void two_at_once(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList devices = devices_of(context, *subject);
  const std::vector<ClaimedCase> items = context.claimed(*subject, 4);
  if (devices.empty() || items.empty()) return;
  OpenDevice first(context, *subject, devices.front()), second(context, *subject, devices.back());
  if (!is_open(context, devices.front(), first) || !is_open(context, devices.back(), second)) return;
  if (first.handle() == second.handle()) return context.fail("two open devices are one handle");
  etb_error error = ETB_ERROR_INIT;
  context.progress().at("deinit while devices are open");
  if (const etb_status status = subject->table().deinit(subject->handle(), &error); status != ETB_BUSY)
    return context.fail(fmt::format("deinit while devices are open returns {}, expected ETB_BUSY", status));
  for (const ClaimedCase& item : items) run_on_both(context, *subject, item, first, second);
  expect_closed(context, devices.front(), first);
  const auto after = query(context, *subject, second.handle());
  if (after && !after->is_same_device(devices.back()))
    context.fail("after another device was closed, query describes another one");
  expect_closed(context, devices.back(), second);
}

void options_are_checked(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList devices = devices_of(context, *subject);
  const etb_device_table& table = *subject->table().device;
  for (const DeviceFacts& facts : devices) {
    const auto opens = [&](const etb_option& option) {
      etb_device* device = nullptr;
      etb_error error = ETB_ERROR_INIT;
      context.progress().at(to_text(option).c_str());
      const etb_status status =
          table.open(subject->handle(), OpenDevice::uuid_of(facts), &option, 1, &device, &error);
      if (status == ETB_OK && device != nullptr) (void)table.close(device, &error);
      return status;
    };
    if (opens(make_option("no-plugin-has-this-option", ETB_OPTION_I64)) == ETB_OK)
      context.fail(fmt::format("'{}': open accepts an unknown option", facts.name));
    const etb_status hint = opens(make_option("x-vendor-hint", ETB_OPTION_I64));
    if (hint != ETB_OK && hint != ETB_UNAVAILABLE)
      context.fail(fmt::format("'{}': open rejects an option that starts with x-", facts.name));
  }
}

// Returns an option of a device as text, "" if the plugin does not report it.
std::string read_option(Subject& subject, const OpenDevice& device, const std::string& key) {
  std::string out;
  const etb_option_sink sink = {ETB_INIT_SIZE(etb_option_sink), 0, &out,
                                [](void* ctx, const etb_option* option) {
                                  *static_cast<std::string*>(ctx) = to_text(*option);
                                  return etb_status{ETB_OK};
                                }};
  etb_error error = ETB_ERROR_INIT;
  (void)subject.table().get_option(subject.handle(), ETB_OBJECT_DEVICE, device.handle(), key.c_str(), &sink,
                                   &error);
  return out;
}

// An option of one handle of a device is none of another handle, even of the same device.
void options_stay_with_their_handle(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  size_t count = 0;
  for (const OptionFacts& facts : options_of(*subject, context))
    for (const DeviceFacts& each : devices_of(context, *subject)) {
      if (!facts.has(ETB_OBJECT_DEVICE)) continue;
      OpenDevice first(context, *subject, each);
      const std::string usual = read_option(*subject, first, facts.key);
      if (first.status() != ETB_OK || usual.empty()) continue;
      for (const etb_option& option : ordinary_values(facts)) {
        etb_error error = ETB_ERROR_INIT;
        context.progress().at(to_text(option).c_str());
        if (subject->table().set_option(subject->handle(), ETB_OBJECT_DEVICE, first.handle(), &option,
                                        &error) != ETB_OK)
          continue;
        ++count;
        const std::string changed = read_option(*subject, first, facts.key);
        const OpenDevice second(context, *subject, each);
        if (second.status() != ETB_OK) continue;
        if (const std::string found = read_option(*subject, second, facts.key); found != usual)
          context.fail(
              fmt::format("'{}': after {} was set, another handle of the device has '{}', expected '{}'",
                          each.name, to_text(option), found, usual));
        if (const std::string found = read_option(*subject, first, facts.key); found != changed)
          context.fail(
              fmt::format("'{}': after the device was opened again, the first handle has '{}', "
                          "expected '{}'",
                          each.name, found, changed));
      }
    }
  if (count == 0 && context.outcome().findings.empty())
    context.skip("no option of a device can be read and changed");
}

// Opens and closes a device so often. Returns its free memory as the last one saw it, nothing after a failure.
std::optional<uint64_t> open_repeatedly(CheckContext& context, Subject& subject, const DeviceFacts& facts,
                                        int times) {
  std::optional<uint64_t> memory_free;
  for (int i = 0; i < times; ++i) {
    OpenDevice device(context, subject, facts);
    if (!is_open(context, facts, device)) return std::nullopt;
    if (i + 1 == times) {
      const auto found = query(context, subject, device.handle());
      if (!found) return std::nullopt;
      memory_free = found->memory_free;
    }
    expect_closed(context, facts, device);
    if (!context.outcome().findings.empty()) return std::nullopt;
  }
  return memory_free;
}

// Opening and closing leaves neither heap memory, descriptors nor device memory.
void opened_often(CheckContext& context) {
  constexpr int kWarmUp = 10, kLoops = 100, kTries = 3;
  constexpr double kMostGrown = 16;
  const auto subject = context.open(bare());
  if (!subject) return;
  const DeviceList devices = devices_of(context, *subject);
  if (devices.empty()) return;
  const DeviceFacts& facts = devices[0];
  const auto memory_before = open_repeatedly(context, *subject, facts, kWarmUp);
  if (!memory_before) return;
  // The threads of a driver allocate when they like: a leak is in each try.
  double grown = kMostGrown + 1;
  for (int i = 0; i < kTries && grown > kMostGrown; ++i) {
    const size_t heap = heap_bytes(), descriptors = open_descriptor_count();
    const auto memory_free = open_repeatedly(context, *subject, facts, kLoops);
    if (!memory_free) return;
    const double more = (static_cast<double>(heap_bytes()) - static_cast<double>(heap)) / kLoops;
    grown = i == 0 ? more : std::min(grown, more);
    constexpr uint64_t kMostLost = uint64_t{256} << 20;  // other programs use the device, too
    if (facts.kind != "cpu" && *memory_free + kMostLost < *memory_before)
      context.warn(fmt::format("{} MiB of device memory less after {} times",
                               (*memory_before - *memory_free) >> 20, kLoops));
    if (open_descriptor_count() > descriptors + kLoops / 10)
      return context.fail(fmt::format("{} more open descriptors after {} devices were opened and closed",
                                      open_descriptor_count() - descriptors, kLoops));
  }
  if (grown > kMostGrown)
    context.fail(fmt::format("{:.1f} more heap bytes for each device opened and closed", grown));
}

constexpr Check kChecks[] = {
    {"dev.options-stay-with-their-handle", "An option of one handle of a device is none of another handle.",
     "ABI-OPT-02", options_stay_with_their_handle},
    {"dev.described-completely",
     "Each device has its own uuid, a kind, a name in UTF-8 and no more free memory than memory.",
     "ABI-TYPE-03", described_completely},
    {"dev.opens-as-described", "Each device opens, and query describes it as enumerate did.", "ABI-SINK-03",
     opens_as_described},
    {"dev.each-device-runs",
     "Each open device runs claimed cases that suit it, and is not closed while a delegate lives.",
     "ABI-LIFE-01", each_device_runs},
    {"dev.two-at-once", "Two devices are open at the same time and run, and closing one keeps the other.",
     "ABI-LIFE-01", two_at_once},
    {"dev.options-are-checked", "Open rejects an unknown option, and ignores one that starts with x-.",
     "ABI-OPT-01", options_are_checked},
    {"dev.opened-often", "A device is opened and closed a hundred times and leaves nothing.", "ABI-LIFE-01",
     opened_often},
};

}  // namespace

std::span<const Check> device_checks() { return kChecks; }

}  // namespace etb::conformance
