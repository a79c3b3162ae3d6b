// SPDX-License-Identifier: Apache-2.0
// Memory of a device that delegates and runs leave in use, as the device reports it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/growth.hpp"
#include "conformance/checks/large_constant.hpp"
#include "conformance/checks/large_values.hpp"
#include "conformance/checks/option_trial.hpp"

namespace etb::conformance {
namespace {

constexpr std::string_view kProcessor = "cpu";  // its memory is that of the machine, which every program uses
constexpr size_t kMostItems = 12;

// A device with memory of its own, and what of it is in use.
class Account {
 public:
  explicit Account(CheckContext& context) : context_(context), subject_(context.open(bare())) {
    if (!subject_) return;
    for (const DeviceFacts& facts : devices_of(context, *subject_)) {
      if (facts.kind == kProcessor || facts.memory_total == 0 || facts.memory_free == 0) continue;
      device_.emplace(context, *subject_, facts);
      if (is_open(context, facts, *device_)) return;
      device_.reset();
    }
    if (context.outcome().findings.empty()) context.skip("no device reports free memory of its own");
  }
  Subject& subject() { return *subject_; }
  etb_device* device() const { return device_ ? device_->handle() : nullptr; }

  size_t used_bytes() {
    const std::optional<DeviceFacts> found = query(context_, *subject_, device());
    return found ? static_cast<size_t>(found->memory_total - found->memory_free) : 0;
  }
  GrowthLimits limits() {
    return {.account = "device bytes", .device_bytes = [this] { return used_bytes(); }};
  }

 private:
  CheckContext& context_;
  std::unique_ptr<Subject> subject_;
  std::optional<OpenDevice> device_;
};

void of_delegates(CheckContext& context) {
  Account account(context);
  if (account.device() == nullptr) return;
  const std::vector<ClaimedCase> items = context.claimed(account.subject(), kMostItems);
  expect_no_growth(
      context, items.size(),
      [&](size_t i) {
        const auto session =
            CaseSession::make(account.subject(), items[i].built, items[i].payload, {}, account.device());
        if (session) (void)(*session)->run(items[i].built.runs[0]);
      },
      "delegate that was created, run and destroyed on a device", account.limits());
}

// Creates that fail for their payload, for named data and for an option.
void of_failed_creates(CheckContext& context) {
  Account account(context);
  if (account.device() == nullptr) return;
  const std::vector<ClaimedCase> items = context.claimed(account.subject(), kMostItems);
  const etb_option unknown = make_option("no-plugin-has-this-option", ETB_OPTION_I64);
  expect_no_growth(
      context, items.size(),
      [&](size_t i) {
        const auto create = [&](Payload payload, const std::vector<etb_option>& options) {
          (void)CaseSession::make(account.subject(), items[i].built, std::move(payload), options,
                                  account.device());
        };
        create(items[i].payload, {unknown});
        Payload cut = items[i].payload;
        cut.bytes.resize(cut.bytes.size() - cut.bytes.size() / 3);
        create(std::move(cut), {});
        Payload without_named = items[i].payload;
        without_named.named.clear();
        if (!items[i].payload.named.empty()) create(std::move(without_named), {});
      },
      "create on a device that fails", account.limits());
}

void of_runs(CheckContext& context) {
  Account account(context);
  if (account.device() == nullptr) return;
  const std::vector<ClaimedCase> items = context.claimed(account.subject(), kMostItems);
  std::vector<std::unique_ptr<CaseSession>> sessions;
  for (const ClaimedCase& item : items) {
    auto session = CaseSession::make(account.subject(), item.built, item.payload, {}, account.device());
    if (!session) return;  // dev.each-device-runs reports it
    sessions.push_back(std::move(*session));
  }
  expect_no_growth(
      context, items.size(), [&](size_t i) { (void)sessions[i]->run(items[i].built.runs[0]); },
      "run on a device", account.limits());
}

// Returns a delegate on a device, null if the plugin does not claim the case.
std::unique_ptr<CaseSession> make_claimed(Subject& subject, const BuiltCase& built, etb_device* device) {
  if (!partition(subject, built.image).is_whole_claim()) return nullptr;
  const Compiled compiled = compile(subject, built.image);
  if (compiled.status != ETB_OK) return nullptr;
  auto made = CaseSession::make(subject, built, compiled.payload, {}, device);
  return made ? *std::move(made) : nullptr;
}

// Makes a delegate on a new device, sets the option and runs once. Returns the bytes of the device that stay in use after
// the delegate if the run failed, 0 if not.
size_t left_by_failed_run(CheckContext& context, const LargeForm& large, const etb_option& option,
                          size_t& out_failed) {
  Account account(context);
  if (account.device() == nullptr) return 0;
  Subject& subject = account.subject();
  const Result<BuiltCase> built = with_large_values(large.form, large.elements);
  const size_t before = account.used_bytes();
  auto session = built ? make_claimed(subject, *built, account.device()) : nullptr;
  etb_error error = ETB_ERROR_INIT;
  if (!session || subject.table().set_option(subject.handle(), ETB_OBJECT_DEVICE, account.device(), &option,
                                             &error) != ETB_OK)
    return 0;
  context.progress().restart();
  context.progress().at("a run beyond a limit of a device");
  const bool has_failed = session->run(built->runs[0]).status != ETB_OK;
  session.reset();
  out_failed += has_failed ? 1 : 0;
  const size_t after = account.used_bytes();
  return has_failed && after > before ? after - before : 0;
}

// Runs that fail because an option of the device, such as a limit of memory, is at an end of its range.
void of_failed_runs(CheckContext& context) {
  Account account(context);
  if (account.device() == nullptr) return;
  if ((account.subject().table().caps & ETB_PLUGIN_CAP_SET_OPTION) == 0)
    return context.skip("the plugin has no set_option");
  constexpr size_t kSlackBytes = 4096;
  constexpr int kTries = 3;  // other programs use a device, too
  size_t failed = 0;
  for (const OptionFacts& facts : options_of(account.subject(), context)) {
    if (!facts.has(ETB_OBJECT_DEVICE) || !facts.has_range()) continue;
    for (const LargeForm& large : kLargeForms) {
      if (large.form != Large::kWide && large.form != Large::kOneNode && large.form != Large::kProducts)
        continue;
      for (const etb_option& option : ordinary_values(facts)) {
        size_t least = SIZE_MAX;
        for (int i = 0; i < kTries && least > kSlackBytes; ++i)
          least = std::min(least, left_by_failed_run(context, large, option, failed));
        if (least > kSlackBytes)
          return context.fail(
              fmt::format("{}: after a failed run and the end of its delegate, {} bytes of "
                          "the device stay in use",
                          to_text(option), least));
      }
    }
  }
  if (failed == 0) context.skip("no run fails with an option of the device at an end of its range");
}

// A context that holds memory, on a device that reports all of its memory as free. Devices with less than this may have
// nothing but a scratchpad, which is free between runs.
void is_present(CheckContext& context) {
  Account account(context);
  if (account.device() == nullptr) return;
  constexpr uint64_t kLeastBytes = uint64_t{1} << 20, kMostScratchpadBytes = uint64_t{64} << 20;
  const std::optional<DeviceFacts> facts = query(context, account.subject(), account.device());
  if (facts && facts->memory_total <= kMostScratchpadBytes)
    return context.skip("the memory of the device may be a scratchpad");
  bool has_any = false;
  for (const LargeForm& large : kLargeForms) {
    const Result<BuiltCase> built = with_large_values(large.form, large.elements);
    const auto session = built ? make_claimed(account.subject(), *built, account.device()) : nullptr;
    if (!session || session->run(built->runs[0]).status != ETB_OK) continue;
    if (session->info().context_bytes < kLeastBytes) continue;
    if (account.used_bytes() != 0) return;
    has_any = true;
  }
  if (has_any)
    context.fail("memory_free_bytes is memory_total_bytes while contexts hold megabytes");
  else
    context.skip("no context holds a megabyte");
}

// A delegate uses memory of its own device, not of another.
void of_its_own_device(CheckContext& context) {
  constexpr int64_t kRows = 512;
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<DeviceFacts> facts;
  std::vector<std::unique_ptr<OpenDevice>> devices;
  for (const DeviceFacts& found : devices_of(context, *subject)) {
    if (found.kind == kProcessor || found.memory_total == 0 || found.memory_free == 0) continue;
    auto device = std::make_unique<OpenDevice>(context, *subject, found);
    if (!is_open(context, found, *device)) continue;
    facts.push_back(found);
    devices.push_back(std::move(device));
  }
  if (devices.size() < 2 && context.outcome().findings.empty())
    return context.skip("the plugin has no two devices that report free memory of their own");
  const auto used = [&] {
    std::vector<uint64_t> out;
    for (const auto& device : devices) {
      const std::optional<DeviceFacts> found = query(context, *subject, device->handle());
      out.push_back(found ? found->memory_total - found->memory_free : 0);
    }
    return out;
  };
  for (size_t own = 0; own < devices.size(); ++own)
    for (const ConstantUse use : kConstantUses) {
      const Result<BuiltCase> built = with_constant(use, kRows, "memory of a device");
      const std::vector<uint64_t> before = used();
      const auto session = built ? make_claimed(*subject, *built, devices[own]->handle()) : nullptr;
      if (!session) continue;
      (void)session->run(built->runs[0]);
      const std::vector<uint64_t> after = used();
      const uint64_t most = session->info().resident_bytes / 2;
      for (size_t other = 0; other < devices.size(); ++other)
        if (most != 0 && after[other] > before[other] + most && after[own] < before[own] + most)
          context.fail(fmt::format("a delegate of {} bytes is created on {}, and {} has {} bytes less free",
                                   session->info().resident_bytes, facts[own].name, facts[other].name,
                                   after[other] - before[other]));
      if (!context.outcome().findings.empty()) return;
    }
}

// Name and uuid of each device.
using Uuids = std::vector<std::pair<std::string, std::string>>;

// Returns the devices of a second instance, whose host says that the plugin is in a folder. The suite's own way of opening
// says where it is.
Uuids uuids_in(CheckContext& context, Subject& subject, const std::string& folder) {
  etb_host host{};
  host.struct_size = ETB_INIT_SIZE(etb_host);
  host.abi_version = ETB_ABI_VERSION;
  host.name = "host of a folder";
  host.version = "1.0.0";
  host.plugin_dir = folder.c_str();
  host.get_service = [](const etb_host*, const char*) -> const void* { return nullptr; };
  Uuids out;
  const etb_device_sink sink = {
      ETB_INIT_SIZE(etb_device_sink), 0, &out, [](void* ctx, const etb_device_info* info) {
        const auto* const uuid = reinterpret_cast<const char*>(info->uuid);
        static_cast<Uuids*>(ctx)->emplace_back(info->name != nullptr ? info->name : "",
                                               std::string(uuid, sizeof(info->uuid)));
        return etb_status{ETB_OK};
      }};
  const etb_plugin_table& table = subject.library().table();
  etb_plugin* plugin = nullptr;
  etb_error error = ETB_ERROR_INIT;
  context.progress().at(("init in the folder " + folder).c_str());
  if (table.init(&host, nullptr, 0, &plugin, &error) != ETB_OK)
    return out;  // it may need files of its folder
  (void)table.device->enumerate(plugin, &sink, &error);
  if (table.deinit(plugin, &error) != ETB_OK) context.fail(std::string("deinit fails: ") + error.text);
  return out;
}

// A machine has the same devices for each host: the folder's name is no part of a uuid.
void uuids_in_other_folders(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const std::string folder = subject->library().host().plugin_dir;
  const Uuids first = uuids_in(context, *subject, folder);
  if (first.empty()) return context.skip("the machine has no device");
  for (const std::string& other : {folder + "/.", std::string("/nowhere")}) {
    const Uuids found = uuids_in(context, *subject, other);
    // A plugin may need files of its folder for some devices.
    for (size_t i = 0; found.size() == first.size() && i < found.size(); ++i)
      if (found[i].first == first[i].first && found[i].second != first[i].second)
        return context.fail(
            fmt::format("'{}' has another uuid if the folder of the plugin is '{}'", found[i].first, other));
  }
}

constexpr Check kChecks[] = {
    {"dev.uuids-in-other-folders",
     "A device has the same uuid for hosts that name the plugin's folder otherwise.", "",
     uuids_in_other_folders},
    {"dev.memory-is-of-the-own-device", "A delegate uses memory of the device that it was created on.", "",
     of_its_own_device},
    {"leak.device-memory-of-delegates", "Delegates leave no memory of a device in use.", "", of_delegates},
    {"leak.device-memory-of-failed-creates", "Creates that fail leave no memory of a device in use.", "",
     of_failed_creates},
    {"leak.device-memory-of-failed-runs",
     "Runs that fail with an option of the device at an end of its range leave no memory in use.", "",
     of_failed_runs},
    {"dev.free-memory-is-present",
     "A device does not report all of its memory as free while contexts hold megabytes.", "", is_present},
    {"leak.device-memory-of-runs", "Repeated runs use no additional memory of a device.", "", of_runs},
};

}  // namespace

std::span<const Check> device_account_checks() { return kChecks; }

}  // namespace etb::conformance
