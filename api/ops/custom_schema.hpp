// SPDX-License-Identifier: Apache-2.0
// CustomSchema: the signature of a custom op. custom_ops.cpp creates it, schema.cpp reads it.
#pragma once

#include <string>
#include <vector>

#include "api/ops/schema.hpp"

namespace etb::ops {

struct CustomArgument {
  std::string name;
  std::string default_text;
  Argument fields;  // all except the texts

  Argument row() const noexcept {
    Argument out = fields;
    out.name = name;
    out.default_text = default_text;
    return out;
  }
};

struct CustomSchema final : Schema {
  CustomSchema(uint16_t namespace_nbytes, uint16_t base_nbytes, uint8_t argument_count, uint8_t result_count)
      : Schema(namespace_nbytes, base_nbytes, argument_count, result_count) {}
  static const CustomSchema& of(const Schema& schema) noexcept {
    return static_cast<const CustomSchema&>(schema);
  }

  std::string text;       // the declaration
  std::string text_name;  // "my.scale.default"
  std::vector<CustomArgument> arguments, results;
  const Schema* out = nullptr;
};

}  // namespace etb::ops
