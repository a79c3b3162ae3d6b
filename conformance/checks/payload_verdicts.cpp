// SPDX-License-Identifier: Apache-2.0
// blob: verdicts of check_payload about payloads that are not whole.
#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <set>

#include "conformance/checks/groups.hpp"
#include "conformance/subject/payload_verdict.hpp"

namespace etb::conformance {
namespace {

bool is_refused(etb_status status, const etb_verdict& verdict) {
  return status != ETB_OK || verdict.kind == ETB_VERDICT_UNSUPPORTED || verdict.kind == ETB_VERDICT_UNKNOWN;
}

// A place in the first bytes of payloads with their size, less a constant.
struct StatedSize {
  size_t at = 0;
  uint64_t less = 0;
};

uint64_t number_at(const std::vector<std::byte>& bytes, size_t at) {
  uint64_t out = 0;
  std::memcpy(&out, bytes.data() + at, sizeof(out));
  return out;
}

// Finds the place by payloads of several sizes.
std::optional<StatedSize> stated_size_of(const std::vector<ClaimedCase>& items) {
  constexpr size_t kHeaderBytes = 64, kLeastSizes = 4;
  constexpr uint64_t kMostLess = 256;
  std::set<size_t> sizes;
  for (const ClaimedCase& item : items) sizes.insert(item.payload.bytes.size());
  if (sizes.size() < kLeastSizes || *sizes.begin() < kHeaderBytes + sizeof(uint64_t)) return std::nullopt;
  for (size_t at = 0; at < kHeaderBytes; at += 4) {
    const uint64_t less = items[0].payload.bytes.size() - number_at(items[0].payload.bytes, at);
    bool is_stated = less <= kMostLess;
    for (const ClaimedCase& item : items)
      is_stated = is_stated && number_at(item.payload.bytes, at) + less == item.payload.bytes.size();
    if (is_stated) return StatedSize{at, less};
  }
  return std::nullopt;
}

// payload_nbytes shows that a payload is shorter than its header states.
void shorter_than_stated(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const std::vector<ClaimedCase> items = context.claimed(*subject, 12);
  const std::optional<StatedSize> stated = stated_size_of(items);
  if (!stated)
    return context.skip("the first bytes of payloads do not state their size, as a number of 64 bits");
  for (const ClaimedCase& item : items) {
    const std::vector<std::byte>& payload = item.payload.bytes;
    for (const size_t nbytes : {payload.size() - 1, payload.size() / 2}) {
      etb_verdict verdict;
      context.progress().at("check_payload of a payload that was cut");
      const etb_status status = ask_verdict(*subject, std::span(payload).first(nbytes), nbytes, verdict);
      if (is_refused(status, verdict)) continue;
      return context.fail(fmt::format(
          "{}: check_payload has the verdict {} about {} bytes of a payload that states {} at byte {}",
          item.item->name, verdict.kind, nbytes, payload.size() - stated->less, stated->at));
    }
  }
  context.take_violations(*subject);
}

constexpr Check kChecks[] = {
    {"blob.shorter-than-stated",
     "check_payload rejects a payload that is shorter than its first bytes state.", "", shorter_than_stated},
};

}  // namespace

std::span<const Check> payload_verdict_checks() { return kChecks; }

}  // namespace etb::conformance
