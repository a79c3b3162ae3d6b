// SPDX-License-Identifier: Apache-2.0
// For tests and fuzz targets: the host's arguments for a delegate of a payload in memory.
#pragma once

#include <cstddef>
#include <span>

#include "etb/delegate.h"

namespace etb {

// Fills every field except struct_size, which the caller has set.
inline void point_at(etb_payload_view& view, std::span<const std::byte> bytes) {
  view.data = bytes.data();
  view.nbytes = bytes.size();
  view.alignment = 16;
  view.fd = -1;
}

// Borrows payload and named data. Not movable: `args` points into it.
struct PayloadArguments {
  explicit PayloadArguments(std::span<const std::byte> bytes, const etb_named_data* named = nullptr) {
    payload.struct_size = ETB_INIT_SIZE(etb_payload_view);
    point_at(payload, bytes);
    args.struct_size = ETB_INIT_SIZE(etb_delegate_args);
    args.backend_id = "XnnpackBackend";
    args.method_name = "forward";
    args.payload = &payload;
    args.named_data = named;
  }
  PayloadArguments(const PayloadArguments&) = delete;
  PayloadArguments& operator=(const PayloadArguments&) = delete;

  etb_payload_view payload{};
  etb_delegate_args args{};
};

// Returns an option of a delegate, as a host passes it. Borrows the texts.
inline etb_option given_option(const char* key, etb_option_type type) {
  etb_option option{};
  option.struct_size = ETB_INIT_SIZE(etb_option);
  option.key = key;
  option.type = type;
  return option;
}

inline etb_option given_text(const char* key, const char* text) {
  etb_option option = given_option(key, ETB_OPTION_TEXT);
  option.text = text;
  return option;
}

inline etb_option given_number(const char* key, int64_t number) {
  etb_option option = given_option(key, ETB_OPTION_I64);
  option.i64 = number;
  return option;
}

}  // namespace etb
