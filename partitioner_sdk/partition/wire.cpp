// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/wire.hpp"

#include <set>

#include "etb/cpp/bytes.hpp"

namespace etb::partition {

namespace {

constexpr uint64_t kMaxAlignment = 4096;

// Writes lists and texts as their count and their items.
class Writer {
 public:
  template <class T>
  Writer& number(T value) {
    bytes_.write(value);
    return *this;
  }
  Writer& text(std::string_view text) {
    bytes_.write(static_cast<uint64_t>(text.size()));
    bytes_.write_bytes({reinterpret_cast<const std::byte*>(text.data()), text.size()});
    return *this;
  }
  template <class T, class Put>
  Writer& list(const std::vector<T>& items, Put put) {
    bytes_.write(static_cast<uint64_t>(items.size()));
    for (const T& item : items) put(item);
    return *this;
  }
  Writer& numbers(const std::vector<uint32_t>& items) {
    return list(items, [&](uint32_t item) { number(item); });
  }
  std::vector<std::byte> take() { return bytes_.take(); }

 private:
  ByteWriter bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T number() {
    return bytes_.read<T>();
  }
  std::span<const std::byte> blob() { return bytes_.read_bytes(bytes_.read<uint64_t>()); }
  std::string text() {
    const std::span<const std::byte> raw = blob();
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }
  // Every item needs at least `item_nbytes`, so a corrupt count cannot exhaust memory.
  template <class T, class Get>
  std::vector<T> list(uint64_t item_nbytes, Get get) {
    const auto count = bytes_.read<uint64_t>();
    std::vector<T> items;
    if (!bytes_.fits(count, item_nbytes)) {
      bytes_.read_bytes(UINT64_MAX);  // makes finish() an error
      return items;
    }
    for (uint64_t i = 0; i < count; ++i) items.push_back(get());
    return items;
  }
  std::vector<uint32_t> numbers() {
    return list<uint32_t>(4, [&] { return number<uint32_t>(); });
  }
  std::vector<std::byte> bytes() {
    const std::span<const std::byte> raw = blob();
    return {raw.begin(), raw.end()};
  }
  Status finish() { return bytes_.finish(); }

 private:
  ByteReader bytes_;
};

Artifact read_artifact(Reader& in) {
  Artifact out;
  out.payload = in.bytes();
  out.format_version = in.number<uint32_t>();
  out.named_keys = in.list<std::string>(8, [&] { return in.text(); });
  out.scratch_bytes = in.number<uint64_t>();
  out.resident_bytes = in.number<uint64_t>();
  out.specs = in.list<std::pair<std::string, std::string>>(16, [&] {
    std::string key = in.text();
    return std::pair{std::move(key), in.text()};
  });
  out.debug_map = in.list<DebugEntry>(24, [&] {
    DebugEntry entry;
    entry.debug_id = in.number<int64_t>();
    entry.name = in.text();
    entry.handles = in.numbers();
    return entry;
  });
  out.estimate.latency_ns = in.number<double>();
  out.estimate.confidence = in.number<double>();
  out.estimate.moved_bytes = in.number<uint64_t>();
  out.estimate.peak_bytes = in.number<uint64_t>();
  out.estimate.energy_nj = in.number<double>();
  return out;
}

Status verify_compiled(const Compiled& compiled, size_t region_count, const ConstantKeys& constants) {
  const auto fail = [](const std::string& text) { return make_error(Code::INVALID_DATA, text); };
  if (compiled.artifacts.size() != region_count)
    return fail(std::to_string(compiled.artifacts.size()) + " payloads, expected " +
                std::to_string(region_count));
  std::set<std::string_view> keys;
  for (const NamedBlob& blob : compiled.blobs) {
    if (blob.key.empty() || !keys.insert(blob.key).second)
      return fail("named blob '" + blob.key + "': the key is empty or repeated");
    if ((blob.alignment & (blob.alignment - 1)) != 0 || blob.alignment > kMaxAlignment)
      return fail("named blob '" + blob.key + "': alignment " + std::to_string(blob.alignment));
    if (!blob.constant_key.empty() && constants.find(blob.constant_key) == nullptr)
      return fail("named blob '" + blob.key + "': unknown constant '" + blob.constant_key + "'");
  }
  for (const Artifact& artifact : compiled.artifacts)
    for (const std::string& key : artifact.named_keys)
      if (keys.count(key) == 0)
        return fail("a payload reads named blob '" + key + "', which the plugin did not add");
  return {};
}

}  // namespace

std::vector<std::byte> to_bytes(const std::vector<std::string>& texts) {
  Writer out;
  out.list(texts, [&](const std::string& text) { out.text(text); });
  return out.take();
}

std::vector<std::byte> to_bytes(const Answers& answers) {
  Writer out;
  out.list(answers.claims, [&](const ClaimItem& claim) {
    out.numbers(claim.nodes).number(claim.flags).number(claim.group).number(claim.cost_ns);
  });
  out.list(answers.rejects, [&](const RejectItem& reject) {
    out.numbers(reject.nodes).text(reject.reason).text(reject.text);
  });
  return out.take();
}

std::vector<std::byte> to_bytes(const Compiled& compiled) {
  Writer out;
  const auto put_bytes = [&](const std::vector<std::byte>& bytes) {
    out.text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  out.list(compiled.artifacts, [&](const Artifact& artifact) {
    put_bytes(artifact.payload);
    out.number(artifact.format_version);
    out.list(artifact.named_keys, [&](const std::string& key) { out.text(key); });
    out.number(artifact.scratch_bytes).number(artifact.resident_bytes);
    out.list(artifact.specs, [&](const auto& spec) { out.text(spec.first).text(spec.second); });
    out.list(artifact.debug_map, [&](const DebugEntry& entry) {
      out.number(entry.debug_id).text(entry.name).numbers(entry.handles);
    });
    const Estimate& estimate = artifact.estimate;
    out.number(estimate.latency_ns).number(estimate.confidence).number(estimate.moved_bytes);
    out.number(estimate.peak_bytes).number(estimate.energy_nj);
  });
  out.list(compiled.blobs, [&](const NamedBlob& blob) {
    out.text(blob.key);
    put_bytes(blob.bytes);
    out.text(blob.constant_key).number(blob.alignment);
  });
  return out.take();
}

Result<std::vector<std::string>> read_texts(std::span<const std::byte> bytes) {
  Reader in(bytes);
  std::vector<std::string> texts = in.list<std::string>(8, [&] { return in.text(); });
  ETB_TRY(in.finish());
  return texts;
}

Result<Answers> read_answers(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Answers out;
  out.claims = in.list<ClaimItem>(24, [&] {
    ClaimItem claim;
    claim.nodes = in.numbers();
    claim.flags = in.number<uint32_t>();
    claim.group = in.number<uint32_t>();
    claim.cost_ns = in.number<double>();
    return claim;
  });
  out.rejects = in.list<RejectItem>(24, [&] {
    RejectItem reject;
    reject.nodes = in.numbers();
    reject.reason = in.text();
    reject.text = in.text();
    return reject;
  });
  ETB_TRY(in.finish());
  return out;
}

Result<Compiled> read_compiled(std::span<const std::byte> bytes, size_t region_count,
                               const ConstantKeys& constants) {
  Reader in(bytes);
  Compiled out;
  out.artifacts = in.list<Artifact>(84, [&] { return read_artifact(in); });
  out.blobs = in.list<NamedBlob>(32, [&] {
    NamedBlob blob;
    blob.key = in.text();
    blob.bytes = in.bytes();
    blob.constant_key = in.text();
    blob.alignment = in.number<uint64_t>();
    return blob;
  });
  ETB_TRY(in.finish());
  ETB_TRY(verify_compiled(out, region_count, constants));
  return out;
}

}  // namespace etb::partition
