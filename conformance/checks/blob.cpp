// SPDX-License-Identifier: Apache-2.0
// blob: damaged payloads. Each row applies a few damages of one kind in a separate process, so that a crash
// costs one row.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "conformance/cases/values.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/offering.hpp"
#include "conformance/checks/option_trial.hpp"
#include "conformance/checks/version_bytes.hpp"
#include "conformance/outcome/outcome.hpp"
#include "conformance/subject/payload_verdict.hpp"
#include "etb/ext/draft/resign.h"

namespace etb::conformance {
namespace {

constexpr size_t kRowsOfAKind = 16;

// Returns the number after the last dot of the check's name.
size_t row_of(CheckContext& context) {
  const std::string& name = context.outcome().name;
  return std::strtoul(name.c_str() + name.rfind('.') + 1, nullptr, 10);
}

// The first delegate of a process may load a driver, whose memory no damage causes.
void run_undamaged(Subject& subject, const ClaimedCase& item) {
  const Result<std::unique_ptr<CaseSession>> session = CaseSession::make(subject, item.built, item.payload);
  if (session) (void)(*session)->run(item.built.runs[0]);
}

// Calls body(offering, case, row) for each case.
template <class Body>
void with_payload(CheckContext& context, Body body) {
  const auto subject = context.open();
  if (!subject) return;
  // The limit is short, because it is for one damage. Opening, claims and drivers' compilers have it each.
  context.progress().restart();
  std::vector<ClaimedCase> items = context.find_claimed_like(*subject, "model.*");
  if (items.empty()) items = context.claimed(*subject);
  const Resigner resigner(context, *subject);
  for (const ClaimedCase& item : items) {
    if (item.payload.bytes.empty()) continue;
    context.progress().restart();
    context.progress().at("the undamaged payload");
    run_undamaged(*subject, item);
    Offering offer(context, *subject, resigner, item);
    body(offer, item, row_of(context));
  }
}

void truncated(CheckContext& context) {
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t row) {
    for (size_t i = 0; i < 4; ++i) {
      const size_t length = item.payload.bytes.size() * (row * 4 + i) / (kRowsOfAKind * 4);
      offer({item.payload.bytes.begin(), item.payload.bytes.begin() + static_cast<long>(length)},
            fmt::format("cut to {} bytes", length));
    }
  });
}

void bits_flipped(CheckContext& context) {
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t row) {
    Random random(context.outcome().name);
    for (size_t i = 0; i < 16; ++i) {
      std::vector<std::byte> bytes = item.payload.bytes;
      // Damages the first bytes, which hold the structure, as often as the rest.
      const size_t span = (row + i) % 2 == 0 ? std::min<size_t>(bytes.size(), 96) : bytes.size();
      const auto at = static_cast<size_t>(random.between(0, static_cast<int64_t>(span) - 1));
      bytes[at] ^= static_cast<std::byte>(1u << random.between(0, 7));
      offer(std::move(bytes), fmt::format("a bit of byte {} flipped", at));
    }
  });
}

// Offsets, lengths and counts are words. Replaces each by zero, all ones, the sign bit, and a little more
// than the payload's size.
void words_replaced(CheckContext& context) {
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t row) {
    const size_t words = item.payload.bytes.size() / 4;
    for (size_t word = row; word < std::min<size_t>(words, kRowsOfAKind * 12); word += kRowsOfAKind)
      for (const uint32_t value : {0u, 0xffffffffu, 0x80000000u, 0x7fffffffu,
                                   static_cast<uint32_t>(item.payload.bytes.size()) + 1, 8u}) {
        std::vector<std::byte> bytes = item.payload.bytes;
        std::memcpy(bytes.data() + word * 4, &value, 4);
        offer(std::move(bytes), fmt::format("word {} is {:#x}", word, value));
      }
  });
}

void foreign(CheckContext& context) {
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t) {
    offer({}, "no bytes");
    offer(std::vector<std::byte>(1), "one byte");
    offer(std::vector<std::byte>(4096), "zeros");
    offer(std::vector<std::byte>(4096, std::byte{0xff}), "ones");
    std::vector<std::byte> twice = item.payload.bytes;
    twice.insert(twice.end(), item.payload.bytes.begin(), item.payload.bytes.end());
    offer(std::move(twice), "twice");
    const auto image = item.built.image.span();
    const auto* begin = reinterpret_cast<const std::byte*>(image.data());
    offer({begin, begin + image.size()}, "a graph image");
    Random random("foreign");
    for (int i = 0; i < 20; ++i) {
      std::vector<std::byte> noise(static_cast<size_t>(random.between(1, 600)));
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
      offer(std::move(noise), "noise");
    }
  });
}

// Numbers whose products or sums with others wrap at 32 or 64 bits.
constexpr uint64_t kWrapping[] = {
    UINT64_MAX,         UINT64_MAX - 7,     uint64_t{1} << 63, (uint64_t{1} << 63) - 1,
    uint64_t{1} << 62,  uint64_t{1} << 61,  uint64_t{1} << 32, (uint64_t{1} << 32) + 1,
    UINT64_MAX / 4 + 1, UINT64_MAX / 8 + 2, 0x5555555555555556};

// Sizes of 64 bits, at each word: alone, added to what is there, and its complement, so that an offset and a
// length together wrap to a small number.
void sizes_wrap(CheckContext& context) {
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t row) {
    const std::vector<std::byte>& good = item.payload.bytes;
    for (size_t at = row * 4; at + 8 <= std::min<size_t>(good.size(), kRowsOfAKind * 32);
         at += kRowsOfAKind * 4) {
      uint64_t old = 0;
      std::memcpy(&old, good.data() + at, 8);
      const auto put = [&](uint64_t value) {
        std::vector<std::byte> bytes = good;
        std::memcpy(bytes.data() + at, &value, 8);
        offer(std::move(bytes), fmt::format("8 bytes at {} are {:#x}", at, value));
      };
      for (const uint64_t value : kWrapping) put(value);
      put(old + (uint64_t{1} << 32));
      put(~old);
      put(0 - old);
    }
  });
}

// Two neighbours whose sum or product wraps at 32 bits: offset and length, rows and columns.
void pairs_wrap(CheckContext& context) {
  constexpr std::pair<uint32_t, uint32_t> kPairs[] = {{0xfffffff0u, 0x20u},       {0x20u, 0xfffffff0u},
                                                      {0x80000000u, 0x80000000u}, {0x10000u, 0x10000u},
                                                      {0x40000000u, 4u},          {0xffffffffu, 0xffffffffu}};
  with_payload(context, [&](Offering& offer, const ClaimedCase& item, size_t row) {
    const std::vector<std::byte>& good = item.payload.bytes;
    for (size_t at = row * 4; at + 12 <= std::min<size_t>(good.size(), kRowsOfAKind * 32);
         at += kRowsOfAKind * 4)
      for (const auto& [first, second] : kPairs)
        for (const size_t distance : {size_t{4}, size_t{8}}) {
          std::vector<std::byte> bytes = good;
          std::memcpy(bytes.data() + at, &first, 4);
          std::memcpy(bytes.data() + at + distance, &second, 4);
          offer(std::move(bytes),
                fmt::format("words at {} and {} are {:#x} and {:#x}", at, at + distance, first, second));
        }
  });
}

// Bytes after the payload. A plugin may ignore them; then its results are right.
void trailing_bytes(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  for (const ClaimedCase& item : context.claimed(*subject, 6))
    for (const size_t more : {1, 3, 4, 8, 16, 4096})
      for (const std::byte fill : {std::byte{0}, std::byte{0xff}, std::byte{'X'}}) {
        Payload payload = item.payload;
        payload.bytes.resize(payload.bytes.size() + more, fill);
        context.progress().at(fmt::format("{} bytes more", more).c_str());
        context.progress().restart();
        const auto session = CaseSession::make(*subject, item.built, std::move(payload));
        if (!session) continue;
        const RunResult result = (*session)->run(item.built.runs[0]);
        if (result.status == ETB_OK && !context.is_right(item, result))
          return context.fail(
              fmt::format("{}: with {} bytes after its payload the result is wrong", item.item->name, more));
      }
  context.take_violations(*subject);
}

// Mends the digest of a good payload, which must change no byte.
void resigned_payloads(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  const Resigner resigner(context, *subject);
  if (!resigner.exists()) return context.skip(std::string("the plugin does not offer ") + ETB_EXT_RESIGN);
  for (const ClaimedCase& item : context.claimed(*subject, 4)) {
    context.progress().at("resign");
    const auto mended = resigner.resign(item.payload.bytes);
    if (!mended) return context.fail(item.item->name + ": resign rejects a payload that compile wrote");
    if (*mended != item.payload.bytes)
      return context.fail(item.item->name + ": resign changes a payload that compile wrote");
    (void)resigner.resign({});
  }
}

// Returns the verdict of check_payload on the first bytes of `payload`. One that is not optimal has a cause.
uint32_t verdict_of(CheckContext& context, ReadyCase& ready, std::span<const std::byte> payload,
                    etb_status* out_status = nullptr) {
  etb_verdict verdict;
  const etb_status status = ask_verdict(ready.subject, payload, payload.size(), verdict);
  if (out_status != nullptr) *out_status = status;
  const bool needs_cause =
      verdict.kind == ETB_VERDICT_PREFER_RECOMPILE || verdict.kind == ETB_VERDICT_UNSUPPORTED;
  if (status == ETB_OK && needs_cause != (verdict.reasons != 0) && verdict.kind != ETB_VERDICT_UNKNOWN)
    context.fail(
        fmt::format("{}: a verdict {} with the causes {:#x}", ready.name(), verdict.kind, verdict.reasons));
  return verdict.kind;
}

// Compares the format_version of artifacts with the version in their payloads, also with other values of options. Returns a
// text if they differ.
std::string wrong_version(CheckContext& context, ReadyCase& ready, size_t place) {
  const auto compare = [&](const Payload& payload, const std::string& where) -> std::string {
    if (place >= payload.bytes.size()) return {};
    const uint32_t version = static_cast<uint32_t>(payload.bytes[place]) - base_of(payload.bytes[place]);
    if (version == payload.format_version) return {};
    return fmt::format("{}: {}, an artifact has format_version {} and its payload {}", ready.name(), where,
                       payload.format_version, version);
  };
  std::string text = compare(ready.item.payload, "compiled as usual");
  for (const OptionFacts& facts : options_of(ready.subject, context))
    for (const etb_option& option : ordinary_values(facts)) {
      if (!text.empty() || !facts.has(ETB_OBJECT_PLUGIN)) continue;
      const Compiled compiled =
          compile(ready.subject, ready.item.built.image, {.aot = {.options = {option}}});
      if (compiled.status == ETB_OK) text = compare(compiled.payload, "compiled with " + to_text(option));
    }
  return text;
}

// True if check_payload calls the payload unsupported for its format alone, once a byte is changed.
bool is_refused_for_its_format(Subject& subject, std::vector<std::byte> bytes, size_t place, uint32_t byte) {
  bytes[place] = static_cast<std::byte>(byte);
  etb_verdict verdict;
  return ask_verdict(subject, bytes, bytes.size(), verdict) == ETB_OK &&
         verdict.kind == ETB_VERDICT_UNSUPPORTED && verdict.reasons == ETB_REASON_FORMAT;
}

// The manifest lists the format versions that the plugin reads; only the plugin knows the version's offset.
// So each candidate byte becomes a newer and an older version. One of them must yield another version's
// payload, unless no change is accepted at all (a checksum).
void other_versions(CheckContext& context) {
  const std::optional<VersionRange> versions = payload_versions_of(context.spec());
  if (!versions) return context.skip("the manifest names no payload_versions, or too many to test");
  context.each_session(bare(), 1, [&](ReadyCase& ready) {
    const std::vector<std::byte>& good = ready.item.payload.bytes;
    const Resigner resigner(context, ready.subject);
    size_t incompatible_count = 0, taken_count = 0, older_count = 0;
    // Bytes equal to the artifact's format_version are counted once more.
    size_t equal_incompatible_count = 0, equal_taken_count = 0;
    std::vector<size_t> version_places;
    for (const size_t at : version_bytes(good, *versions)) {
      const uint32_t base = base_of(good[at]);
      const auto answer = [&](uint32_t version) {
        Payload payload = ready.item.payload;
        payload.bytes[at] = static_cast<std::byte>(base + version);
        context.progress().at(fmt::format("byte {} is {:#x}", at, base + version).c_str());
        context.progress().restart();
        if (resigner.exists())
          if (auto mended = resigner.resign(payload.bytes)) payload.bytes = std::move(*mended);
        const Result<std::unique_ptr<CaseSession>> made =
            CaseSession::make(ready.subject, ready.item.built, std::move(payload));
        return made ? Code::OK : made.error().code;
      };
      const Code newer = answer(versions->second + 1);
      if (resigner.exists() && newer != Code::OK && newer != Code::INCOMPATIBLE &&
          is_refused_for_its_format(ready.subject, good, at, base + versions->second + 1))
        return context.fail(
            fmt::format("check_payload refuses a payload for its format, and create with {}, expected "
                        "ETB_INCOMPATIBLE",
                        static_cast<etb_status>(newer)));
      const auto is_accepted = [&](uint32_t version) {
        std::vector<std::byte> bytes = good;
        bytes[at] = static_cast<std::byte>(base + version);
        const uint32_t verdict = verdict_of(context, ready, bytes);
        return verdict == ETB_VERDICT_OPTIMAL || verdict == ETB_VERDICT_PREFER_RECOMPILE;
      };
      for (uint32_t version = versions->first == 0 ? 0 : versions->first - 1;
           newer == Code::INCOMPATIBLE && version <= versions->second + 1; ++version)
        if (is_accepted(version) && answer(version) == Code::INCOMPATIBLE)
          return context.fail(fmt::format(
              "check_payload accepts a payload of version {}, which create refuses as ETB_INCOMPATIBLE",
              version));
      const bool is_equal = static_cast<uint32_t>(good[at]) - base == ready.item.payload.format_version;
      taken_count += newer == Code::OK ? 1 : 0;
      equal_taken_count += is_equal && newer == Code::OK ? 1 : 0;
      equal_incompatible_count += is_equal && newer == Code::INCOMPATIBLE ? 1 : 0;
      if (newer != Code::INCOMPATIBLE) continue;
      ++incompatible_count;
      version_places.push_back(at);
      if (versions->first == 0 || answer(versions->first - 1) != Code::OK) ++older_count;
    }
    if (equal_incompatible_count == 0 && equal_taken_count != 0)
      return context.fail(fmt::format(
          "an artifact has format_version {}, and no byte of its payload with this number makes it one "
          "of version {} that is refused as ETB_INCOMPATIBLE",
          ready.item.payload.format_version, versions->second + 1));
    if (version_places.size() == 1)
      if (const std::string text = wrong_version(context, ready, version_places[0]); !text.empty())
        return context.fail(text);
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
    etb_status status = ETB_OK;
    const uint32_t verdict = verdict_of(context, ready, ready.item.payload.bytes, &status);
    if (status != ETB_OK)
      context.fail(fmt::format("{}: check_payload returns {} for a payload that runs", ready.name(), status));
    if (verdict == ETB_VERDICT_UNSUPPORTED)
      context.fail(ready.name() + ": check_payload reports the payload as unsupported, although it runs");
  });
}

// Noise is rejected, and for the same cause again after other questions.
void random_bytes_are_rejected(CheckContext& context) {
  context.each_session({}, 1, [&](ReadyCase& ready) {
    Random random("noise");
    std::vector<std::vector<std::byte>> noises(20);
    std::vector<etb_verdict> first(noises.size());
    for (size_t i = 0; i < noises.size(); ++i) {
      std::vector<std::byte>& noise = noises[i];
      noise.resize(static_cast<size_t>(random.between(64, 600)));
      for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
      (void)ask_verdict(ready.subject, noise, noise.size(), first[i]);
      const uint32_t kind = verdict_of(context, ready, noise);
      if (kind == ETB_VERDICT_OPTIMAL || kind == ETB_VERDICT_PREFER_RECOMPILE)
        return context.fail("check_payload accepts noise");
    }
    for (size_t i = 0; i < noises.size(); ++i) {
      etb_verdict again;
      (void)ask_verdict(ready.subject, noises[i], noises[i].size(), again);
      if (again.kind != first[i].kind || again.reasons != first[i].reasons)
        return context.fail("check_payload has another verdict about the same bytes");
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
  add("sizes-wrap", "A payload with a size that wraps at 64 bits is rejected or runs.", sizes_wrap);
  add("pairs-wrap", "A payload with numbers whose sum or product wraps is rejected or runs.", pairs_wrap);
  rows.push_back({"blob.trailing-bytes", "Bytes after a payload are rejected, or change no result.",
                  "ABI-BLOB-01", trailing_bytes});
  rows.push_back({"blob.resigned-payloads", "The extension etb.resign/0 changes no good payload.",
                  "ABI-BLOB-01", resigned_payloads});
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
