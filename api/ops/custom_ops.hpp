// SPDX-License-Identifier: Apache-2.0
// CustomOps: custom ops of a vendor or an application, declared in the notation of torch.library.
//
//   my::scale(Tensor x, float factor=2.0) -> Tensor
//   my::split.sizes(Tensor x, int[] sizes, *, bool reverse=False) -> (Tensor, Tensor)
//   my::scale.into(Tensor x, float factor=2.0, *, Tensor(a!) out) -> Tensor(a!)
//
// Results are tensors or one list of tensors. An op that writes its arguments cannot be declared, except as
// the variant of another op that writes its results into `out` arguments. An op without such a line gets the
// variant of ExecuTorch's conventions: my::scale.out, my::split.sizes_out, with the arguments of the op,
// then out, or out0, out1, ...
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/ops/schema.hpp"
#include "etb/cpp/result.hpp"

namespace etb::ops {

struct CustomSchema;

class CustomOps {
 public:
  CustomOps();
  ~CustomOps();
  CustomOps(const CustomOps&) = delete;
  CustomOps& operator=(const CustomOps&) = delete;

  static constexpr size_t kMaxTextBytes = 4096;
  static constexpr size_t kMaxOps = 4096;

  // Declares an op. Accepts the same line again. Rejects another line for a declared name,
  // and an op of the tables.
  [[nodiscard]] Status declare(std::string_view text);

  // Finds "my.scale.default". Null when it was not declared. Valid during the life of this object.
  const Schema* find(std::string_view name) const noexcept;
  // The declaration, or "" for a generated variant.
  static std::string_view text(const Schema& own) noexcept;
  bool is_empty() const noexcept { return schemas_.empty(); }
  // Calls visit(schema) for each declared op, sorted by name.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, schema] : schemas_)
      if (!text(as_schema(*schema)).empty()) visit(as_schema(*schema));
  }

 private:
  static const Schema& as_schema(const CustomSchema& own) noexcept;
  Status add(std::unique_ptr<CustomSchema> schema);
  void link(CustomSchema& schema);

  std::map<std::string, std::unique_ptr<CustomSchema>, std::less<>> schemas_;
};

// Returns "my.scale.default" for "my::scale", "my.split.sizes" for "my::split.sizes".
std::string dotted_name(std::string_view text);

}  // namespace etb::ops
