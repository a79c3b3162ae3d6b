// SPDX-License-Identifier: Apache-2.0
// Schema: the arguments and results of operators, one row an overload, from schemas.txt,
// compiled into constant tables.
#pragma once

#include <cstdint>
#include <string_view>

namespace etb::ops {

enum class BaseType : uint8_t {
  kTensor,
  kScalar,  // int, float or bool; the kind decides type promotion
  kInt,
  kFloat,
  kBool,
  kString,
  kComplex,
  kDtype,
  kLayout,
  kMemoryFormat,
  kDevice,
  kGenerator
};

// Returns "tensor", "int", ... as in schemas.txt.
std::string_view to_text(BaseType type) noexcept;

// Type of an argument or result.
struct Type {
  BaseType base = BaseType::kTensor;
  bool is_optional = false;
  bool is_list = false;
  bool has_optional_items = false;  // items of a list may be none
  uint8_t list_size = 0;            // size of a list that one number may replace, 0 for none

  friend bool operator==(const Type&, const Type&) = default;
};

// One argument or result. Texts are valid until the program ends.
struct Argument {
  std::string_view name;  // "" for a result
  Type type;
  bool is_keyword = false;
  bool is_out = false;    // a tensor of the caller that receives a result
  bool is_write = false;  // its contents change
  char alias_set = 0;     // letter of the storage that it shares with others, 0 for none
  bool has_default = false;
  std::string_view default_text;  // none, true, 1, 0.5, "text", [0, 1], int64 or contiguous
};

// How the dtype of a result follows from the arguments. schemas.txt describes each.
enum class DtypeRule : uint8_t {
  kLike,
  kPromoted,
  kFloat,
  kDivision,
  kHalfToFloat,
  kGiven,
  kSum,
  kValue,
  kCreated,
  kReal,
  kComplex,
  kBool,
  kInt32,
  kInt64
};

// Positions of arguments. Iterate with `for (size_t i = 0; i < kCount; ++i) if (has(i))`.
struct ArgumentSet {
  uint8_t bits = 0;
  static constexpr size_t kCount = 8;
  constexpr bool is_empty() const noexcept { return bits == 0; }
  constexpr bool has(size_t index) const noexcept { return (bits >> index & 1) != 0; }
};

// A rule, and the arguments that it reads.
struct DtypeSource {
  DtypeRule rule = DtypeRule::kLike;
  ArgumentSet operands;
};

// Rules of an op's results.
struct ResultRule {
  // Dtypes of the first result, of the second, and of all after it.
  static constexpr size_t kDtypeCount = 3;
  DtypeSource dtypes[kDtypeCount];
  ArgumentSet broadcast;  // arguments whose sizes are broadcast; empty unless elementwise
};

// One overload. A cheap handle into the tables.
class Schema {
 public:
  std::string_view name() const noexcept;           // "aten.add.Tensor"
  std::string_view op_namespace() const noexcept;   // "aten"
  std::string_view base_name() const noexcept;      // "add"
  std::string_view overload_name() const noexcept;  // "Tensor", or "default"

  uint32_t argument_count() const noexcept;
  Argument argument(uint32_t index) const noexcept;
  // Position of the argument called `name`, -1 when there is none.
  int find_argument(std::string_view name) const noexcept;
  uint32_t result_count() const noexcept;
  Argument result(uint32_t index) const noexcept;

  bool is_core() const noexcept;
  bool is_view() const noexcept;      // a result shares the storage of an argument, nothing is written
  bool is_in_place() const noexcept;  // writes an argument that is not an out argument

  // Null if schemas.txt has no rules for the results.
  const ResultRule* result_rule() const noexcept;

  // Related overloads; null when there is none.
  const Schema* out_variant() const noexcept;         // the same op with results in the caller's tensors
  const Schema* copy_variant() const noexcept;        // for a view: the op that copies instead
  const Schema* functional_variant() const noexcept;  // for an in-place op: the op that does not write

  // True for a schema of CustomOps, which is not in the tables.
  bool is_own() const noexcept { return name_offset_ == kOwn; }

 private:
  friend struct SchemaTables;
  friend struct
      CustomSchema;  // custom_ops.cpp: the object itself has the data that the offsets refer to otherwise
  static constexpr uint32_t kOwn = UINT32_MAX;
  Schema(uint16_t namespace_nbytes, uint16_t base_nbytes, uint8_t argument_count,
         uint8_t result_count) noexcept
      : Schema(kOwn, namespace_nbytes, base_nbytes, 0, 0, argument_count, result_count, false, 0, 0, 0) {}
  constexpr Schema(uint32_t name_offset, uint16_t namespace_nbytes, uint16_t base_nbytes,
                   uint16_t overload_nbytes, uint16_t first, uint8_t argument_count, uint8_t result_count,
                   bool core, uint16_t out, uint16_t copy, uint16_t functional) noexcept
      : name_offset_(name_offset),
        namespace_nbytes_(namespace_nbytes),
        base_nbytes_(base_nbytes),
        overload_nbytes_(overload_nbytes),
        first_(first),
        argument_count_(argument_count),
        result_count_(result_count),
        is_core_(core),
        out_(out),
        copy_(copy),
        functional_(functional) {}

  // Offsets and indices instead of pointers, so that the tables need no relocation.
  uint32_t name_offset_;
  uint16_t namespace_nbytes_, base_nbytes_, overload_nbytes_;
  uint16_t first_;  // into the list of argument numbers: arguments, then results
  uint8_t argument_count_, result_count_;
  bool is_core_;
  uint16_t out_, copy_, functional_;
};

// Returns the overload "namespace.name.overload", or null when the tables lack it.
const Schema* find_schema(std::string_view name) noexcept;

// All overloads, sorted by name.
uint32_t schema_count() noexcept;
const Schema& get_schema(uint32_t index) noexcept;

}  // namespace etb::ops
