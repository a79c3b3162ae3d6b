// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/partition/artifact_collector.hpp"

#include <algorithm>
#include <cstring>

#include "etb/cpp/guard.hpp"

namespace etb::partition {

namespace {

// Larger than any model. A corrupt offset must not exhaust memory.
constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 34;
constexpr uint64_t kMaxItems = uint64_t{1} << 20;
constexpr uint64_t kMaxAlignment = 4096;

tl::unexpected<Error> bad_artifact(const std::string& text) { return make_error(Code::INVALID_DATA, text); }

ArtifactCollector& self(void* ctx) { return *static_cast<ArtifactCollector*>(ctx); }

Status check_bytes(const etb_bytes& bytes, const char* what) {
  if (bytes.nbytes > kMaxPayloadBytes || (bytes.data == nullptr && bytes.nbytes != 0))
    return bad_artifact(std::string(what) + ": " + std::to_string(bytes.nbytes) + " bytes at " +
                        (bytes.data == nullptr ? "NULL" : "an address"));
  return {};
}

}  // namespace

// Lambdas of a member may call private functions, so the sink's C functions need no friend.
ArtifactCollector::ArtifactCollector(size_t region_count, const ConstantKeys& constants)
    : region_count_(region_count), constants_(constants) {
  writer_.struct_size = ETB_INIT_SIZE(etb_blob_writer);
  writer_.ctx = this;
  writer_.write = [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) -> etb_status {
    return self(ctx).note(self(ctx).write(offset, data, nbytes));
  };
  sink_.struct_size = ETB_INIT_SIZE(etb_artifact_sink);
  sink_.ctx = this;
  sink_.begin_payload = [](void* ctx, uint32_t graph_index, const etb_blob_writer** out) -> etb_status {
    const Status begun = out == nullptr
                             ? Status(bad_artifact("begins a payload with a NULL writer parameter"))
                             : self(ctx).begin(graph_index);
    if (begun) *out = &self(ctx).writer_;
    return self(ctx).note(begun);
  };
  sink_.named_blob = [](void* ctx, const etb_named_blob* blob) -> etb_status {
    return self(ctx).note(self(ctx).add_blob(blob));
  };
  sink_.end_payload = [](void* ctx, const etb_artifact* artifact) -> etb_status {
    return self(ctx).note(self(ctx).end(artifact));
  };
}

etb_status ArtifactCollector::note(Status status) {
  if (!failure_) return static_cast<etb_status>(failure_.error().code);
  if (!status) failure_ = std::move(status);
  return failure_ ? ETB_OK : static_cast<etb_status>(failure_.error().code);
}

Status ArtifactCollector::begin(uint32_t graph_index) {
  const size_t expected = compiled_.artifacts.size();
  if (is_open_)
    return bad_artifact("begins the payload of region " + std::to_string(graph_index) +
                        " before it ended the previous one");
  if (graph_index != expected || expected >= region_count_)
    return bad_artifact("begins the payload of region " + std::to_string(graph_index) + ", expected " +
                        (expected < region_count_ ? std::to_string(expected) : std::string("no more")));
  is_open_ = true;
  payload_.clear();
  return {};
}

Status ArtifactCollector::write(uint64_t offset_bytes, const void* data, uint64_t nbytes) {
  if (!is_open_) return bad_artifact("writes before begin_payload or after end_payload");
  ETB_TRY(check_bytes({data, nbytes}, "payload"));
  if (offset_bytes > kMaxPayloadBytes || nbytes > kMaxPayloadBytes - offset_bytes)
    return bad_artifact("writes " + std::to_string(nbytes) + " bytes at " + std::to_string(offset_bytes) +
                        " of a payload");
  if (payload_.size() < offset_bytes + nbytes) payload_.resize(offset_bytes + nbytes);
  if (nbytes != 0) std::memcpy(payload_.data() + offset_bytes, data, nbytes);
  return {};
}

Status ArtifactCollector::add_blob(const etb_named_blob* blob) {
  ETB_TRY(ETB_ACCEPT(etb_named_blob, blob, alignment));
  if (blob->key == nullptr || blob->key[0] == '\0') return bad_artifact("a named blob has no key");
  NamedBlob made;
  made.key = blob->key;
  const std::string who = "named blob '" + made.key + "'";
  ETB_TRY(check_bytes(blob->value, who.c_str()));
  made.alignment = blob->alignment;
  if ((made.alignment & (made.alignment - 1)) != 0 || made.alignment > kMaxAlignment)
    return bad_artifact(who + ": alignment " + std::to_string(made.alignment));
  if (blob->constant_key != nullptr) {
    made.constant_key = blob->constant_key;
    if (blob->value.nbytes != 0) return bad_artifact(who + ": has both bytes and a constant key");
    if (constants_.find(made.constant_key) == nullptr)
      return bad_artifact(who + ": unknown constant '" + made.constant_key + "'");
  }
  const auto* data = static_cast<const std::byte*>(blob->value.data);
  made.bytes.assign(data, data + blob->value.nbytes);
  const auto [number, is_new] = blob_numbers_.emplace(made.key, compiled_.blobs.size());
  if (is_new) {
    if (compiled_.blobs.size() >= kMaxItems)
      return bad_artifact("adds more than " + std::to_string(kMaxItems) + " named blobs");
    compiled_.blobs.push_back(std::move(made));
    return {};
  }
  NamedBlob& before = compiled_.blobs[number->second];
  before.alignment = made.alignment = std::max(before.alignment, made.alignment);
  // One may name a constant and the other bring its bytes, or name another constant with equal bytes.
  const auto content = [&](const NamedBlob& of) -> std::span<const std::byte> {
    return of.constant_key.empty() ? std::span<const std::byte>(of.bytes)
                                   : constants_.find(of.constant_key)->bytes;
  };
  const auto old_bytes = content(before), new_bytes = content(made);
  const auto are_equal = [&] {
    return old_bytes.size() == new_bytes.size() &&
           (old_bytes.empty() || old_bytes.data() == new_bytes.data() ||
            std::memcmp(old_bytes.data(), new_bytes.data(), new_bytes.size()) == 0);
  };
  if (are_equal()) {
    if (before.constant_key.empty()) before = std::move(made);
    return {};
  }
  return bad_artifact(who + ": added twice with different bytes (ABI-AOT-04)");
}

Status ArtifactCollector::take_specs(const etb_artifact& from, Artifact& to) {
  if (from.spec_count > kMaxItems || (from.specs == nullptr && from.spec_count != 0))
    return bad_artifact("an artifact with " + std::to_string(from.spec_count) + " compile specs");
  for (uint64_t i = 0; i < from.spec_count; ++i) {
    const etb_compile_spec* spec = ETB_AT(etb_compile_spec, from.specs, i);
    ETB_TRY(ETB_ACCEPT(etb_compile_spec, spec, value));
    if (spec->key == nullptr) return bad_artifact("a compile spec has no key");
    ETB_TRY(check_bytes(spec->value, "compile spec"));
    to.specs.emplace_back(spec->key,
                          std::string(static_cast<const char*>(spec->value.data), spec->value.nbytes));
  }
  return {};
}

Status ArtifactCollector::take_debug_map(const etb_artifact& from, Artifact& to) {
  if (from.debug_entry_count > kMaxItems || (from.debug_map == nullptr && from.debug_entry_count != 0))
    return bad_artifact("an artifact with " + std::to_string(from.debug_entry_count) + " debug entries");
  for (uint64_t i = 0; i < from.debug_entry_count; ++i) {
    const etb_debug_entry* entry = ETB_AT(etb_debug_entry, from.debug_map, i);
    ETB_TRY(ETB_ACCEPT(etb_debug_entry, entry, handle_count));
    if (entry->handle_count > kMaxItems || (entry->handles == nullptr && entry->handle_count != 0))
      return bad_artifact("a debug entry with " + std::to_string(entry->handle_count) + " handles");
    to.debug_map.push_back({entry->debug_id, entry->name == nullptr ? "" : entry->name,
                            std::vector<uint32_t>(entry->handles, entry->handles + entry->handle_count)});
  }
  return {};
}

Status ArtifactCollector::end(const etb_artifact* artifact) {
  if (!is_open_) return bad_artifact("ends a payload that was not begun");
  ETB_TRY(ETB_ACCEPT(etb_artifact, artifact, debug_entry_count));
  if (artifact->graph_index != compiled_.artifacts.size())
    return bad_artifact("ends the payload of region " + std::to_string(artifact->graph_index) + ", began " +
                        std::to_string(compiled_.artifacts.size()));
  if (artifact->named_key_count > kMaxItems ||
      (artifact->named_keys == nullptr && artifact->named_key_count != 0))
    return bad_artifact("an artifact with " + std::to_string(artifact->named_key_count) + " named keys");
  Artifact made;
  for (uint64_t i = 0; i < artifact->named_key_count; ++i) {
    if (artifact->named_keys[i] == nullptr) return bad_artifact("a named key is NULL");
    made.named_keys.emplace_back(artifact->named_keys[i]);
  }
  ETB_TRY(take_specs(*artifact, made));
  ETB_TRY(take_debug_map(*artifact, made));
  made.format_version = artifact->format_version;
  made.scratch_bytes = artifact->scratch_bytes;
  made.resident_bytes = artifact->resident_bytes;
  made.payload = std::move(payload_);
  compiled_.artifacts.push_back(std::move(made));
  is_open_ = false;
  return {};
}

Result<Compiled> ArtifactCollector::finish() {
  if (!failure_) return tl::make_unexpected(failure_.error());
  if (is_open_ || compiled_.artifacts.size() != region_count_)
    return bad_artifact("reports success after " + std::to_string(compiled_.artifacts.size()) +
                        " payloads, expected " + std::to_string(region_count_));
  for (size_t i = 0; i < compiled_.artifacts.size(); ++i)
    for (const std::string& key : compiled_.artifacts[i].named_keys)
      if (blob_numbers_.count(key) == 0)
        return bad_artifact("the payload of region " + std::to_string(i) + " reads named blob '" + key +
                            "', which it did not add");
  return std::move(compiled_);
}

}  // namespace etb::partition
