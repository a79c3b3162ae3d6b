// SPDX-License-Identifier: Apache-2.0
#include "api/ops/schema.hpp"

#include <algorithm>
#include <iterator>

#include "api/ops/custom_schema.hpp"

namespace etb::ops {

namespace {

struct ArgumentRow {
  uint32_t name_offset;
  uint32_t default_offset;
  uint8_t name_nbytes;
  uint8_t default_nbytes;
  BaseType base;
  uint8_t flags;
  uint8_t list_size;
  char alias_set;
};

constexpr uint8_t kOptional = 1, kList = 2, kOptionalItems = 4, kKeyword = 8, kOut = 16, kWrite = 32,
                  kDefault = 64;
constexpr uint16_t kNoSchema = 0xFFFF;

// Result rules, sorted by the index of the schema.
struct ResultRuleRow {
  uint16_t schema;
  ResultRule rule;
};

}  // namespace

struct SchemaTables {
// All names are one literal. Clang warns from 64 KiB on, the least that every compiler has to accept.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "api/ops/schema_tables.inc"
#pragma GCC diagnostic pop

  static Argument argument(uint32_t position) noexcept {
    const ArgumentRow& row = kArguments[kArgumentNumbers[position]];
    Argument out;
    out.name = {kText + row.name_offset, row.name_nbytes};
    out.type = {row.base, (row.flags & kOptional) != 0, (row.flags & kList) != 0,
                (row.flags & kOptionalItems) != 0, row.list_size};
    out.is_keyword = (row.flags & kKeyword) != 0;
    out.is_out = (row.flags & kOut) != 0;
    out.is_write = (row.flags & kWrite) != 0;
    out.alias_set = row.alias_set;
    out.has_default = (row.flags & kDefault) != 0;
    out.default_text = {kText + row.default_offset, row.default_nbytes};
    return out;
  }
  static const Schema* related(uint16_t index) noexcept {
    return index == kNoSchema ? nullptr : &kSchemas[index];
  }
};

std::string_view to_text(BaseType type) noexcept {
  constexpr std::string_view kNames[] = {"tensor", "scalar",        "int",     "float",
                                         "bool",   "string",        "complex", "dtype",
                                         "layout", "memory_format", "device",  "generator"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view Schema::name() const noexcept {
  if (is_own()) return CustomSchema::of(*this).text_name;
  return {SchemaTables::kText + name_offset_,
          size_t{namespace_nbytes_} + base_nbytes_ + overload_nbytes_ + 2};
}
std::string_view Schema::op_namespace() const noexcept { return name().substr(0, namespace_nbytes_); }
std::string_view Schema::base_name() const noexcept {
  return name().substr(namespace_nbytes_ + 1u, base_nbytes_);
}
std::string_view Schema::overload_name() const noexcept {
  return name().substr(size_t{namespace_nbytes_} + base_nbytes_ + 2);
}

uint32_t Schema::argument_count() const noexcept { return argument_count_; }
Argument Schema::argument(uint32_t index) const noexcept {
  if (is_own()) return CustomSchema::of(*this).arguments[index].row();
  return SchemaTables::argument(first_ + index);
}
uint32_t Schema::result_count() const noexcept { return result_count_; }
Argument Schema::result(uint32_t index) const noexcept {
  if (is_own()) return CustomSchema::of(*this).results[index].row();
  return SchemaTables::argument(uint32_t{first_} + argument_count_ + index);
}

int Schema::find_argument(std::string_view name) const noexcept {
  for (uint32_t i = 0; i < argument_count_; ++i) {
    if (argument(i).name == name) return static_cast<int>(i);
  }
  return -1;
}

bool Schema::is_core() const noexcept { return is_core_; }

bool Schema::is_view() const noexcept {
  for (uint32_t i = 0; i < argument_count_; ++i) {
    if (argument(i).is_write) return false;
  }
  // A result that is a list has no letter in schemas.txt, so the argument's mark counts.
  for (uint32_t i = 0; i < argument_count_; ++i) {
    if (argument(i).alias_set != 0) return true;
  }
  return false;
}

bool Schema::is_in_place() const noexcept {
  for (uint32_t i = 0; i < argument_count_; ++i) {
    const Argument row = argument(i);
    if (row.is_write && !row.is_out) return true;
  }
  return false;
}

const ResultRule* Schema::result_rule() const noexcept {
  if (is_own()) return nullptr;
  const auto index = static_cast<uint16_t>(this - SchemaTables::kSchemas);
  const auto* const found =
      std::lower_bound(std::begin(SchemaTables::kResultRules), std::end(SchemaTables::kResultRules), index,
                       [](const ResultRuleRow& row, uint16_t key) { return row.schema < key; });
  return found != std::end(SchemaTables::kResultRules) && found->schema == index ? &found->rule : nullptr;
}

const Schema* Schema::out_variant() const noexcept {
  return is_own() ? CustomSchema::of(*this).out : SchemaTables::related(out_);
}
const Schema* Schema::copy_variant() const noexcept {
  return is_own() ? nullptr : SchemaTables::related(copy_);
}
const Schema* Schema::functional_variant() const noexcept {
  return is_own() ? nullptr : SchemaTables::related(functional_);
}

const Schema* find_schema(std::string_view name) noexcept {
  const Schema* found =
      std::lower_bound(std::begin(SchemaTables::kSchemas), std::end(SchemaTables::kSchemas), name,
                       [](const Schema& row, std::string_view key) { return row.name() < key; });
  return found != std::end(SchemaTables::kSchemas) && found->name() == name ? found : nullptr;
}

uint32_t schema_count() noexcept { return static_cast<uint32_t>(std::size(SchemaTables::kSchemas)); }
const Schema& get_schema(uint32_t index) noexcept { return SchemaTables::kSchemas[index]; }

}  // namespace etb::ops
