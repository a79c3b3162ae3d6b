// SPDX-License-Identifier: Apache-2.0
// Memory of a device that delegates and runs leave in use, as the device reports it.
#include <optional>

#include "conformance/checks/devices.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/growth.hpp"

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

constexpr Check kChecks[] = {
    {"leak.device-memory-of-delegates", "Delegates leave no memory of a device in use.", "", of_delegates},
    {"leak.device-memory-of-runs", "Repeated runs use no additional memory of a device.", "", of_runs},
};

}  // namespace

std::span<const Check> device_account_checks() { return kChecks; }

}  // namespace etb::conformance
