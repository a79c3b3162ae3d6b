// SPDX-License-Identifier: Apache-2.0
// data: named data and constants that are missing, cut, longer, exchanged or changed. The plugin may reject
// them, or compute with other numbers. It must not crash or read outside; the validate layer sees that.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/cases/values.hpp"
#include "conformance/checks/groups.hpp"

namespace etb::conformance {
namespace {

// Cases with constants, models first: they have several. The designs mark constant operands by "_w".
constexpr const char* kWithConstants[] = {"model.*", "op.*.constant*", "op.*_w.*"};

// Returns claimed cases whose payload has named data.
std::vector<ClaimedCase> with_named_data(CheckContext& context, Subject& subject) {
  std::vector<ClaimedCase> out;
  for (const char* pattern : kWithConstants) {
    size_t count = 0;
    for (ClaimedCase& item : context.find_claimed_like(subject, pattern, 24))
      if (!item.payload.named.empty() && count++ < 4) out.push_back(std::move(item));
  }
  if (out.empty()) context.skip("no payload of a claimed case has named data");
  return out;
}

// True if create may return this for named data. INTERNAL is also what the suite reports about a delegate that does not
// fit the case.
bool is_refusal(Code code) {
  constexpr Code kCodes[] = {Code::INVALID_DATA,  Code::INCOMPATIBLE, Code::NOT_FOUND,
                             Code::OUT_OF_MEMORY, Code::UNAVAILABLE,  Code::INTERNAL};
  return std::find(std::begin(kCodes), std::end(kCodes), code) != std::end(kCodes);
}

// How a run may end that create accepted other named data for.
enum class Numbers : uint8_t { kAny, kRight };

// Creates a delegate of the changed payload and runs it. Both may fail.
void offer(CheckContext& context, Subject& subject, const ClaimedCase& item, Payload payload,
           const std::string& change, Numbers numbers = Numbers::kAny) {
  context.progress().at(change.c_str());
  context.progress().restart();
  const Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject, item.built, std::move(payload));
  if (!session && !is_refusal(session.error().code))
    return context.fail(fmt::format(
        "{}: {}: create returns {} ({}), expected ETB_INVALID_DATA, ETB_INCOMPATIBLE, "
        "ETB_NOT_FOUND, ETB_OUT_OF_MEMORY or ETB_UNAVAILABLE",
        item.item->name, change, static_cast<etb_status>(session.error().code), session.error().message));
  if (session) {
    const RunResult result = (*session)->run(item.built.runs[0]);
    if (numbers == Numbers::kRight && result.status == ETB_OK && !context.is_right(item, result))
      return context.fail(
          fmt::format("{}: {}: create accepts it, and a run is wrong", item.item->name, change));
  }
  for (const host::Violation& violation : subject.take_violations())
    if (violation.side == host::Side::PLUGIN)
      return context.fail(
          fmt::format("{}: {}: {}: {}", item.item->name, change, violation.rule, violation.text));
}

template <class Change>
void each_key(CheckContext& context, Change change) {
  const auto subject = context.open();
  if (!subject) return;
  for (const ClaimedCase& item : with_named_data(context, *subject)) {
    for (const auto& [key, bytes] : item.payload.named) {
      change(*subject, item, key, bytes);
      if (!context.outcome().findings.empty()) return;
    }
    // The plugin must have kept nothing of the damaged ones.
    const auto session = context.make_session(*subject, item);
    if (!session) return;
    const RunResult result = session->run(item.built.runs[0]);
    if (result.status != ETB_OK || !context.is_right(item, result))
      return context.fail(item.item->name + ": after damaged named data the right one does not run");
  }
}

void missing(CheckContext& context) {
  each_key(context, [&](Subject& subject, const ClaimedCase& item, const std::string& key, const auto&) {
    Payload payload = item.payload;
    payload.named.erase(key);
    context.progress().at(("missing " + key).c_str());
    if (const auto made = CaseSession::make(subject, item.built, std::move(payload)); made)
      context.fail(
          fmt::format("{}: create succeeds although the named data '{}' is missing", item.item->name, key));
    else if (made.error().code != Code::NOT_FOUND)
      context.fail(fmt::format("{}: create without the named data '{}' fails with {}, expected ETB_NOT_FOUND",
                               item.item->name, key, static_cast<etb_status>(made.error().code)));
    context.take_violations(subject);
  });
}

void truncated(CheckContext& context) {
  each_key(context, [&](Subject& subject, const ClaimedCase& item, const std::string& key,
                        const std::vector<std::byte>& bytes) {
    for (const size_t length : {size_t{0}, size_t{1}, bytes.size() / 2, bytes.size() - 1}) {
      if (length >= bytes.size()) continue;
      Payload payload = item.payload;
      payload.named[key].resize(length);
      offer(context, subject, item, std::move(payload), fmt::format("'{}' cut to {} bytes", key, length),
            Numbers::kRight);
    }
  });
}

void longer(CheckContext& context) {
  each_key(context, [&](Subject& subject, const ClaimedCase& item, const std::string& key,
                        const std::vector<std::byte>& bytes) {
    for (const size_t more : {size_t{1}, size_t{4}, size_t{4096}, bytes.size()}) {
      Payload payload = item.payload;
      payload.named[key].resize(bytes.size() + more, std::byte{0x7f});
      offer(context, subject, item, std::move(payload), fmt::format("'{}' with {} bytes more", key, more),
            Numbers::kRight);
    }
  });
}

void exchanged(CheckContext& context) {
  each_key(context, [&](Subject& subject, const ClaimedCase& item, const std::string& key,
                        const std::vector<std::byte>& bytes) {
    for (const auto& [other, other_bytes] : item.payload.named) {
      if (other <= key) continue;
      Payload payload = item.payload;
      payload.named[key] = other_bytes;
      payload.named[other] = bytes;
      offer(context, subject, item, std::move(payload), fmt::format("'{}' and '{}' exchanged", key, other));
    }
  });
}

void changed(CheckContext& context) {
  each_key(context, [&](Subject& subject, const ClaimedCase& item, const std::string& key,
                        const std::vector<std::byte>& bytes) {
    Random random(key);
    for (int i = 0; i < 6 && !bytes.empty(); ++i) {
      Payload payload = item.payload;
      std::vector<std::byte>& damaged = payload.named[key];
      if (i == 0)
        std::fill(damaged.begin(), damaged.end(), std::byte{0});
      else if (i == 1)
        std::fill(damaged.begin(), damaged.end(), std::byte{0xff});
      else
        damaged[static_cast<size_t>(random.between(0, static_cast<int64_t>(damaged.size()) - 1))] ^=
            static_cast<std::byte>(1u << random.between(0, 7));
      offer(context, subject, item, std::move(payload), fmt::format("'{}' changed", key));
    }
  });
}

// Likewise the constants that compile reads by their keys.
void constants(CheckContext& context) {
  const auto subject = context.open();
  if (!subject || subject->table().aot == nullptr) return;
  std::vector<ClaimedCase> items;
  for (const char* pattern : kWithConstants)
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 12))
      items.push_back(std::move(item));
  struct Change {
    const char* text;
    bool (*apply)(std::vector<std::byte>&);
  };
  const Change changes[] = {
      {"missing", [](std::vector<std::byte>&) { return false; }},
      {"empty", [](std::vector<std::byte>& bytes) { return bytes.clear(), true; }},
      {"cut to half", [](std::vector<std::byte>& bytes) { return bytes.resize(bytes.size() / 2), true; }},
      {"one byte shorter",
       [](std::vector<std::byte>& bytes) {
         return bytes.resize(bytes.size() - (bytes.empty() ? 0 : 1)), true;
       }},
      {"twice as long", [](std::vector<std::byte>& bytes) { return bytes.resize(bytes.size() * 2), true; }},
      {"all ones",
       [](std::vector<std::byte>& bytes) {
         return std::fill(bytes.begin(), bytes.end(), std::byte{0xff}), true;
       }},
      {"the one that was read before", [](std::vector<std::byte>& bytes) {
         static std::vector<std::byte> before;
         return std::swap(bytes, before), true;
       }}};
  for (const ClaimedCase& item : items) {
    for (const Change& change : changes) {
      context.progress().at(change.text);
      context.progress().restart();
      CompileOptions options;
      options.change_constant = change.apply;
      (void)compile(*subject, item.built.image, options);
      for (const host::Violation& violation : subject->take_violations())
        if (violation.side == host::Side::PLUGIN)
          return context.fail(fmt::format("{}: a constant is {}: {}: {}", item.item->name, change.text,
                                          violation.rule, violation.text));
    }
    const Compiled after = compile(*subject, item.built.image);
    if (after.status != ETB_OK || !(after.payload == item.payload))
      return context.fail(item.item->name + ": after damaged constants compile writes other bytes");
  }
}

// Programs that read the same bytes by the same keys, each in its way, live at the same time: in both orders, each runs as
// alone.
void shared_by_programs(CheckContext& context) {
  constexpr size_t kLiving = 12;
  const auto subject = context.open(bare());
  if (!subject) return;
  bool has_any = false;
  for (const char* pattern : {"quant.linear.*shared_codes*", "quant.convolution.*shared_codes*",
                              "op.linear.*shared.*", "op.convolution.*shared.*"}) {
    std::vector<ClaimedCase> items = context.find_claimed_like(*subject, pattern, kLiving);
    has_any = has_any || items.size() > 1;
    for (const char* order : {"first to last", "last to first"}) {
      context.progress().restart();
      std::vector<std::unique_ptr<CaseSession>> living;
      for (const ClaimedCase& item : items)
        if (!living.emplace_back(context.make_session(*subject, item))) return;
      for (size_t i = 0; i < items.size(); ++i) {
        const RunResult result = living[i]->run(items[i].built.runs[0]);
        if (result.status != ETB_OK || !context.is_right(items[i], result))
          return context.fail(
              fmt::format("{}: beside delegates of other programs with the same constants, made {}, a run "
                          "fails or is wrong",
                          items[i].item->name, order));
      }
      living.clear();
      std::reverse(items.begin(), items.end());
    }
  }
  if (!has_any) context.skip("the plugin claims no two programs with equal constants");
}

constexpr Check kChecks[] = {
    {"data.shared-by-programs", "Programs with the same constants run beside each other as alone.",
     "ABI-AOT-04", shared_by_programs},
    {"data.missing", "Create reports each key of named data that is missing, with ETB_NOT_FOUND.",
     "ABI-ERR-01", missing},
    {"data.truncated",
     "Named data that is too short is rejected with the status for it, or the result is right.",
     "ABI-BLOB-01", truncated},
    {"data.longer", "Named data that is too long is rejected with the status for it, or its rest ignored.",
     "ABI-BLOB-01", longer},
    {"data.exchanged", "Contents of two keys that are exchanged are rejected or run.", "ABI-BLOB-01",
     exchanged},
    {"data.changed", "Named data with other bytes is rejected or runs.", "ABI-BLOB-01", changed},
    {"data.constants",
     "Compile rejects or survives constants that are missing, cut, longer, exchanged or changed.",
     "ABI-BLOB-01", constants},
};

}  // namespace

std::span<const Check> named_data_checks() { return kChecks; }

}  // namespace etb::conformance
