// SPDX-License-Identifier: Apache-2.0
// For tests and fuzz targets: named data in which every key has the same zeros.
#pragma once

#include <array>

#include "etb/cpp/payload.hpp"

namespace etb::gpu {

inline etb_named_data zero_data() {
  static constexpr std::array<std::byte, 64 << 10> kZeros = {};
  return {ETB_INIT_SIZE(etb_named_data), 0, nullptr,
          [](void*, const char*, etb_payload_view* out, etb_error*) -> etb_status {
            out->data = kZeros.data();
            out->nbytes = kZeros.size();
            out->alignment = 16;
            out->fd = -1;
            return ETB_OK;
          }};
}

}  // namespace etb::gpu
