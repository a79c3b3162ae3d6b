// blob: damaged payloads. Each row tries some damages of one kind in a process of its own, so that a crash costs one row.
#include <fmt/format.h>

#include <cstring>
#include <deque>

#include "conformance/cases/values.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/process_facts.hpp"

namespace etb::conformance {
namespace {

constexpr size_t kRowsOfAKind = 16;
constexpr size_t kMaxAllocation = size_t{64} << 20;
constexpr size_t kMaxAllocationOfATaken = size_t{1} << 30;

// The number behind the last dot of the check's name.
size_t row_of(CheckContext& context) {
  const std::string& name = context.outcome().name;
  return std::strtoul(name.c_str() + name.rfind('.') + 1, nullptr, 10);
}

// Offers a damaged payload: it is refused or runs, without a crash, a touch outside, or much memory.
void offer(CheckContext& context, Subject& subject, const ClaimedCase& item, std::vector<std::byte> bytes,
           const std::string& damage) {
  const size_t before = peak_address_bytes();
  Payload payload = item.payload;
  payload.bytes = std::move(bytes);
  context.progress().at(damage.c_str());
  const Result<std::unique_ptr<Session>> session = Session::make(subject, item.built, std::move(payload));
  if (session) (void)(*session)->run(item.built.runs[0]);
  // What is still a payload after the damage may honestly describe larger tensors.
  const size_t most = session ? kMaxAllocationOfATaken : kMaxAllocation;
  if (const size_t grown = peak_address_bytes() - before; grown > most)
    context.fail(fmt::format("{}: {} and took {} MiB more address space, expected at most {}", damage,
                             session ? "taken" : "refused", grown >> 20, most >> 20));
  context.take_violations(subject);
}

template <class Body>
void with_payload(CheckContext& context, Body body) {
  const auto subject = context.open();
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed_like(*subject, "model.*", 1);
  if (items.empty()) {
    context.outcome().state = State::kNotRun;
    items = context.claimed(*subject, 1);
  }
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
      // The front, where the structure is, as often as the rest.
      const size_t span = (row + i) % 2 == 0 ? std::min<size_t>(bytes.size(), 96) : bytes.size();
      const auto at = static_cast<size_t>(random.between(0, static_cast<int64_t>(span) - 1));
      bytes[at] ^= static_cast<std::byte>(1u << random.between(0, 7));
      offer(context, subject, item, std::move(bytes), fmt::format("a bit of byte {} flipped", at));
    }
  });
}

// Offsets, lengths and counts are words: each becomes zero, all ones, the sign bit, and a little more than the payload has.
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

std::vector<Check> make_rows() {
  static std::deque<std::string> names;
  std::vector<Check> rows;
  const auto add = [&](const char* kind, const char* sentence, void (*run)(CheckContext&)) {
    for (size_t i = 0; i < kRowsOfAKind; ++i)
      rows.push_back(
          {names.emplace_back(fmt::format("blob.{}.{:02}", kind, i)).c_str(), sentence, "ABI-BLOB-01", run});
  };
  add("truncated", "A payload that is cut off is refused.", truncated);
  add("bits-flipped", "A payload with a flipped bit is refused or runs.", bits_flipped);
  add("words-replaced", "A payload with a wrong offset, length or count is refused or runs.", words_replaced);
  rows.push_back({"blob.foreign", "Bytes that are no payload are refused.", "ABI-BLOB-01", foreign});
  return rows;
}

}  // namespace

std::span<const Check> blob_checks() {
  static const std::vector<Check> rows = make_rows();
  return rows;
}

}  // namespace etb::conformance
