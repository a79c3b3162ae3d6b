// SPDX-License-Identifier: Apache-2.0
// The sink and the reader of constants of one call of compile with several graphs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etb/aot.h"
#include "etb/cpp/graph_view.hpp"

namespace etb::conformance {

// The payloads that one compilation of several graphs writes.
struct SeveralPayloads {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<std::string>> keys;  // keys in the list of each artifact
  std::map<std::string, std::vector<std::byte>> named;
  const graph::View* constants_of = nullptr;  // has the constants; outlives the calls
  std::string defect;
  bool is_open = false;
  etb_blob_writer writer{};
  etb_artifact_sink sink{};
  etb_constant_reader constants{};

  SeveralPayloads() {
    writer = {ETB_INIT_SIZE(etb_blob_writer), 0, this,
              [](void* ctx, uint64_t offset, const void* data, uint64_t nbytes) {
                auto& payloads = static_cast<SeveralPayloads*>(ctx)->bytes;
                if (payloads.empty()) return etb_status{ETB_INVALID_STATE};
                std::vector<std::byte>& to = payloads.back();
                to.resize(std::max<size_t>(to.size(), offset + nbytes));
                std::copy_n(static_cast<const std::byte*>(data), nbytes,
                            to.begin() + static_cast<std::ptrdiff_t>(offset));
                return etb_status{ETB_OK};
              }};
    sink.struct_size = ETB_INIT_SIZE(etb_artifact_sink);
    sink.ctx = this;
    sink.begin_payload = [](void* ctx, uint32_t index, const etb_blob_writer** out) {
      auto& self = *static_cast<SeveralPayloads*>(ctx);
      if (self.is_open || index != self.bytes.size())
        self.defect = fmt::format("payload {} is begun as number {}", index, self.bytes.size());
      self.is_open = true;
      self.bytes.emplace_back();
      *out = &self.writer;
      return etb_status{ETB_OK};
    };
    sink.named_blob = [](void* ctx, const etb_named_blob* blob) {
      auto& self = *static_cast<SeveralPayloads*>(ctx);
      const auto* data = static_cast<const std::byte*>(blob->value.data);
      std::vector<std::byte> value;
      if (blob->constant_key == nullptr)
        value.assign(data, data + blob->value.nbytes);
      else if (const auto found = self.find(blob->constant_key))
        value.assign(found->begin(), found->end());
      const auto& kept = self.named.try_emplace(blob->key, value).first->second;
      if (kept != value) self.defect = fmt::format("two blobs with the key '{}' have other bytes", blob->key);
      return etb_status{ETB_OK};
    };
    sink.end_payload = [](void* ctx, const etb_artifact* artifact) {
      auto& self = *static_cast<SeveralPayloads*>(ctx);
      if (!self.is_open || artifact->graph_index + 1 != self.bytes.size())
        self.defect = fmt::format("payload {} is ended as number {}", artifact->graph_index,
                                  static_cast<int64_t>(self.bytes.size()) - 1);
      self.is_open = false;
      std::vector<std::string>& listed = self.keys.emplace_back();
      for (uint64_t i = 0; i < artifact->named_key_count; ++i) listed.emplace_back(artifact->named_keys[i]);
      return etb_status{ETB_OK};
    };
    constants = {ETB_INIT_SIZE(etb_constant_reader), 0, this,
                 [](void* ctx, const char* key, etb_payload_view* out, etb_error*) {
                   const auto found = static_cast<SeveralPayloads*>(ctx)->find(key);
                   if (!found) return etb_status{ETB_NOT_FOUND};
                   out->data = found->data();
                   out->nbytes = found->size();
                   out->alignment = 16;
                   out->fd = -1;
                   return etb_status{ETB_OK};
                 }};
  }

  // Returns the bytes of a constant of the graphs.
  std::optional<std::span<const std::byte>> find(const char* key) const {
    for (uint32_t i = 0; constants_of != nullptr && i < constants_of->c().constants.count; ++i) {
      const etb_graph_constant constant = constants_of->constant(i);
      if (std::strcmp(constant.key, key) == 0)
        return std::span(static_cast<const std::byte*>(constant.data), static_cast<size_t>(constant.nbytes));
    }
    return std::nullopt;
  }
  SeveralPayloads(const SeveralPayloads&) = delete;
  SeveralPayloads& operator=(const SeveralPayloads&) = delete;
};

}  // namespace etb::conformance
