// SPDX-License-Identifier: Apache-2.0
#include "host/delegates/device_target.hpp"

#include <cstring>

#include "etb/cpp/result.hpp"

namespace etb::host {

DeviceTarget::DeviceTarget(const etb_device_info& info) {
  target_.struct_size = ETB_INIT_SIZE(etb_target);
  target_.kind = keep(info.kind == nullptr ? "" : info.kind);
  target_.name = keep(info.name == nullptr ? "" : info.name);
  std::memcpy(target_.fingerprint, info.fingerprint, sizeof target_.fingerprint);
  for (uint64_t i = 0; i < info.attribute_count; ++i)
    attributes_.push_back(copy(*ETB_AT(etb_option, info.attributes, i)));
  target_.attributes = attributes_.data();
  target_.attribute_count = attributes_.size();
}

const char* DeviceTarget::keep(const char* text) {
  return text == nullptr ? nullptr : texts_.emplace_back(text).c_str();
}

etb_option DeviceTarget::copy(const etb_option& from) {
  etb_option out{};
  out.struct_size = ETB_INIT_SIZE(etb_option);
  out.key = keep(from.key);
  out.type = from.type;
  out.i64 = from.i64;
  out.f64 = from.f64;
  out.text = keep(from.text);
  if (from.bytes.nbytes != 0) {
    const std::string& bytes = texts_.emplace_back(static_cast<const char*>(from.bytes.data),
                                                   static_cast<size_t>(from.bytes.nbytes));
    out.bytes = {bytes.data(), bytes.size()};
  }
  if (from.item_count == 0) return out;
  std::vector<etb_option> items;
  for (uint32_t i = 0; i < from.item_count; ++i) items.push_back(copy(*ETB_AT(etb_option, from.items, i)));
  const std::vector<etb_option>& kept = items_.emplace_back(std::move(items));
  out.items = kept.data();
  out.item_count = static_cast<uint32_t>(kept.size());
  return out;
}

}  // namespace etb::host
