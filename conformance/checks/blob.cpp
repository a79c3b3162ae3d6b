// SPDX-License-Identifier: Apache-2.0
// blob: damaged payloads. Each row applies a few damages of one kind in a separate process, so that a crash
// costs one row.
#include <fmt/format.h>

#include <cstring>
#include <deque>
#include <optional>

#include "conformance/cases/values.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/outcome/outcome.hpp"
#include "conformance/subject/process_facts.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kRowsOfAKind = 16;
constexpr size_t kMaxAllocation = size_t{64} << 20;
// A damaged payload may still be valid and describe larger tensors: a flipped bit of a size doubles them
// several times.
constexpr size_t kMaxAllocationOfATaken = size_t{512} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsMemory = false;  // the sanitizer reserves address space
#else
constexpr bool kCountsMemory = true;
#endif

// Returns the number after the last dot of the check's name.
size_t row_of(CheckContext& context) {
  const std::string& name = context.outcome().name;
  return std::strtoul(name.c_str() + name.rfind('.') + 1, nullptr, 10);
}

// Passes a damaged payload to the plugin. It must be rejected or run, without a crash, an access outside, or
// much memory.
void offer(CheckContext& context, Subject& subject, const ClaimedCase& item, std::vector<std::byte> bytes,
           const std::string& damage) {
  const size_t before = peak_address_bytes();
  Payload payload = item.payload;
  payload.bytes = std::move(bytes);
  context.progress().at(damage.c_str());
  context.progress().restart();
  const Result<std::unique_ptr<CaseSession>> session =
      CaseSession::make(subject, item.built, std::move(payload));
  if (session) (void)(*session)->run(item.built.runs[0]);
  const size_t most = session ? kMaxAllocationOfATaken : kMaxAllocation;
  if (const size_t grown = peak_address_bytes() - before; kCountsMemory && grown > most)
    context.fail(fmt::format("{}: create {} it and used {} MiB more address space, expected at most {}",
                             damage, session ? "accepts" : "rejects", grown >> 20, most >> 20));
  context.take_violations(subject);
}

template <class Body>
void with_payload(CheckContext& context, Body body) {
  const auto subject = context.open();
  if (!subject) return;
  std::vector<ClaimedCase> items = context.find_claimed_like(*subject, "model.*");
  if (items.empty()) items = context.claimed(*subject);
  for (const ClaimedCase& item : items)
    if (!item.payload.bytes.empty()) body(*subject, item, row_of(context));
}

void truncated(CheckContext& context) {
  with_payload(context, [&](Subject& subject, const ClaimedCase& item, size_t row) {
    for (size_t i = 0; i < 4; ++i) {
      const size_t length = item.payload.bytes.size() * (row * 4 + i) / (kRowsOfAKind * 4);
      offer(context, subject, item,
            {item.payload.bytes.begin(), item.payload.bytes.begin() + static_cast<long>(length)},
            fmt::format("cut to {} bytes", length));
    }
  });
}

void bits_flipped(CheckContext& context) {
  with_payload(context, [&](Subject& subject, const ClaimedCase& item, size_t row) {
    Random random(context.outcome().name);
    for (size_t i = 0; i < 16; ++i) {
      std::vector<std::byte> bytes = item.payload.bytes;
      // Damages the first bytes, which hold the structure, as often as the rest.
      const size_t span = (row + i) % 2 == 0 ? std::min<size_t>(bytes.size(), 96) : bytes.size();
      const auto at = static_cast<size_t>(random.between(0, static_cast<int64_t>(span) - 1));
      bytes[at] ^= static_cast<std::byte>(1u << random.between(0, 7));
      offer(context, subject, item, std::move(bytes), fmt::format("a bit of byte {} flipped", at));
    }
  });
}

// Offsets, lengths and counts are words. Replaces each by zero, all ones, the sign bit, and a little more
// than the payload's size.
void words_replaced(CheckContext& context) {
  with_payload(context, [&](Subject& subject, const ClaimedCase& item, size_t row) {
    const size_t words = item.payload.bytes.size() / 4;
    for (size_t word = row; word < std::min<size_t>(words, kRowsOfAKind * 12); word += kRowsOfAKind)
      for (const uint32_t value : {0u, 0xffffffffu, 0x80000000u, 0x7fffffffu,
                                   static_cast<uint32_t>(item.payload.bytes.size()) + 1, 8u}) {
        std::vector<std::byte> bytes = item.payload.bytes;
        std::memcpy(bytes.data() + word * 4, &value, 4);
        offer(context, subject, item, std::move(bytes), fmt::format("word {} is {:#x}", word, value));
      }
  });
}

void foreign(CheckContext& context) {
  with_payload(context, [&](Subject& subject, const ClaimedCase& item, size_t) {
    offer(context, subject, item, {}, "no bytes");
    offer(context, subject, item, std::vector<std::byte>(1), "one byte");
    offer(context, subject, item, std::vector<std::byte>(4096), "zeros");
    offer(context, subject, item, std::vector<std::byte>(4096, std::byte{0xff}), "ones");
    std::vector<std::byte> twice = item.payload.bytes;
    twice.insert(twice.end(), item.payload.bytes.begin(), item.payload.bytes.end());
    offer(context, subject, item, std::move(twice), "twice");
    const auto image = item.built.image.span();
    const auto* begin = reinterpret_cast<const std::byte*>(image.data());
    offer(context, subject, item, {begin, begin + image.size()}, "a graph image");
    Random random("foreign");
    for (int i = 0; i < 20; ++i) {
      std::vector<std::byte> noise(static_cast<size_t>(random.between(1, 600)));
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
      offer(context, subject, item, std::move(noise), "noise");
    }
  });
}

// Returns the verdict of check_payload on the first bytes of `payload`.
uint32_t verdict_of(ReadyCase& ready, std::span<const std::byte> payload) {
  etb_verdict verdict{};
  verdict.struct_size = sizeof(verdict);
  etb_payload_check check{};
  check.struct_size = sizeof(check);
  check.backend_id = ready.subject.backend_id().c_str();
  check.prefix = {payload.data(), std::min<uint64_t>(payload.size(), 4096)};
  check.payload_nbytes = payload.size();
  etb_error error = ETB_ERROR_INIT;
  const etb_status status =
      ready.subject.table().delegate->check_payload(ready.subject.handle(), &check, &verdict, &error);
  return status == ETB_OK ? verdict.kind : etb_verdict_kind{ETB_VERDICT_UNKNOWN};
}

// Returns the offsets of bytes that may hold the payload's format version, as number or digit.
std::vector<size_t> version_bytes(std::span<const std::byte> payload,
                                  std::pair<uint32_t, uint32_t> versions) {
  constexpr size_t kFront = 1024;
  std::vector<size_t> out;
  for (size_t at = 0; at < std::min(payload.size(), kFront); ++at) {
    const auto byte = static_cast<uint32_t>(payload[at]);
    const bool is_number = byte != 0 && byte >= versions.first && byte <= versions.second;
    const bool is_digit =
        byte >= '0' && byte <= '9' && byte - '0' >= versions.first && byte - '0' <= versions.second;
    if (is_number || is_digit) out.push_back(at);
  }
  return out;
}

// The manifest lists the format versions that the plugin reads; only the plugin knows the version's offset.
// So each candidate byte becomes a newer and an older version. One of them must yield another version's
// payload, unless no change is accepted at all (a checksum).
void other_versions(CheckContext& context) {
  const host::PluginEntry& entry = context.spec().entry;
  std::optional<std::pair<uint32_t, uint32_t>> versions;
  if (entry.manifest)
    for (const host::ProvidedId& provided : entry.manifest->provides)
      if (provided.id == context.spec().backend_id) versions = provided.payload_versions;
  if (!versions || versions->second > 8)
    return context.skip("the manifest names no payload_versions, or too many to test");
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const std::vector<std::byte>& good = ready.item.payload.bytes;
    size_t incompatible_count = 0, taken_count = 0, older_count = 0;
    for (const size_t at : version_bytes(good, *versions)) {
      const uint32_t base = static_cast<uint32_t>(good[at]) >= '0' ? '0' : 0;
      const auto answer = [&](uint32_t version) {
        Payload payload = ready.item.payload;
        payload.bytes[at] = static_cast<std::byte>(base + version);
        context.progress().at(fmt::format("byte {} is {:#x}", at, base + version).c_str());
        context.progress().restart();
        const Result<std::unique_ptr<CaseSession>> made =
            CaseSession::make(ready.subject, ready.item.built, std::move(payload));
        return made ? Code::OK : made.error().code;
      };
      const Code newer = answer(versions->second + 1);
      taken_count += newer == Code::OK ? 1 : 0;
      if (newer != Code::INCOMPATIBLE) continue;
      ++incompatible_count;
      if (versions->first == 0 || answer(versions->first - 1) != Code::OK) ++older_count;
    }
    if (incompatible_count == 0 && taken_count != 0)
      context.fail(
          fmt::format("payload_versions end at {}, and no byte that may be the version makes the payload one "
                      "of version {} that is "
                      "refused as ETB_INCOMPATIBLE",
                      versions->second, versions->second + 1));
    if (incompatible_count != 0 && older_count == 0)
      context.fail(fmt::format("payload_versions begin at {}, and a payload of version {} is accepted",
                               versions->first, versions->first - 1));
  });
}

void own_payload(CheckContext& context) {
  context.each_session({}, 8, [&](ReadyCase& ready) {
    if (verdict_of(ready, ready.item.payload.bytes) == ETB_VERDICT_UNSUPPORTED)
      context.fail(ready.name() + ": check_payload reports the payload as unsupported, although it runs");
  });
}

void random_bytes_are_rejected(CheckContext& context) {
  context.each_session({}, 1, [&](ReadyCase& ready) {
    Random random("noise");
    for (int i = 0; i < 20; ++i) {
      std::vector<std::byte> noise(static_cast<size_t>(random.between(64, 600)));
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
      const uint32_t verdict = verdict_of(ready, noise);
      if (verdict == ETB_VERDICT_OPTIMAL || verdict == ETB_VERDICT_PREFER_RECOMPILE)
        return context.fail("check_payload accepts noise");
    }
  });
}

std::vector<Check> make_rows() {
  static std::deque<std::string> names;
  std::vector<Check> rows;
  const auto add = [&](const char* kind, const char* sentence, void (*run)(CheckContext&)) {
    for (size_t i = 0; i < kRowsOfAKind; ++i)
      rows.push_back(
          {names.emplace_back(fmt::format("blob.{}.{:02}", kind, i)).c_str(), sentence, "ABI-BLOB-01", run});
  };
  add("truncated", "A truncated payload is rejected.", truncated);
  add("bits-flipped", "A payload with a flipped bit is rejected or runs.", bits_flipped);
  add("words-replaced", "A payload with a wrong offset, length or count is rejected or runs.",
      words_replaced);
  rows.push_back({"blob.foreign", "Bytes that are not a payload are rejected.", "ABI-BLOB-01", foreign});
  rows.push_back({"blob.other-versions-are-rejected",
                  "Payloads of newer and older versions than the manifest names are rejected.", "ABI-BLOB-01",
                  other_versions});
  rows.push_back({"blob.own-payload-is-supported",
                  "check_payload accepts payloads that compile wrote and create accepts.", "", own_payload});
  rows.push_back({"blob.random-bytes-are-rejected", "check_payload rejects noise.", "ABI-BLOB-01",
                  random_bytes_are_rejected});
  return rows;
}

}  // namespace

std::span<const Check> blob_checks() {
  static const std::vector<Check> rows = make_rows();
  return rows;
}

}  // namespace etb::conformance
