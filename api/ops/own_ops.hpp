// Ops that the tables lack: a vendor's or an application's own, declared in the notation that torch.library takes.
//
//   my::scale(Tensor x, float factor=2.0) -> Tensor
//   my::split.sizes(Tensor x, int[] sizes, *, bool reverse=False) -> (Tensor, Tensor)
//   my::scale.into(Tensor x, float factor=2.0, *, Tensor(a!) out) -> Tensor(a!)
//
// Results are tensors or one list of tensors. An op that writes its arguments cannot be declared, only the variant of another that
// writes its results into `out` arguments. An op without such a line gets the variant that ExecuTorch's conventions give it:
// my::scale.out, my::split.sizes_out, with the arguments of the op, then out, or out0, out1, ...
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/ops/schema.hpp"
#include "etb/cpp/result.hpp"

namespace etb::ops {

struct OwnSchema;

class OwnOps {
 public:
  OwnOps();
  ~OwnOps();
  OwnOps(const OwnOps&) = delete;
  OwnOps& operator=(const OwnOps&) = delete;

  static constexpr size_t kMaxTextBytes = 4096;
  static constexpr size_t kMaxOps = 4096;

  // The same line twice is one op; another line for a name that is there, or for an op of the tables, is refused.
  [[nodiscard]] Status declare(std::string_view text);

  // "my.scale.default"; null when it was not declared. Lives as long as this.
  const Schema* find(std::string_view name) const noexcept;
  // As it was declared; "" for a variant that was made.
  static std::string_view text(const Schema& own) noexcept;
  bool is_empty() const noexcept { return schemas_.empty(); }
  // Calls visit(schema) for each declared one, by name.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, schema] : schemas_)
      if (!text(as_schema(*schema)).empty()) visit(as_schema(*schema));
  }

 private:
  static const Schema& as_schema(const OwnSchema& own) noexcept;
  Status add(std::unique_ptr<OwnSchema> schema);
  void link(OwnSchema& schema);

  std::map<std::string, std::unique_ptr<OwnSchema>, std::less<>> schemas_;
};

// "my.scale.default" from "my::scale", "my.split.sizes" from "my::split.sizes".
std::string dotted_name(std::string_view text);

}  // namespace etb::ops
