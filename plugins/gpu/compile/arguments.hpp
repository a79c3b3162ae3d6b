// SPDX-License-Identifier: Apache-2.0
// Reads the arguments of a graph's node by their schema names. An image may leave out arguments that equal the default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etb/cpp/compile.hpp"

namespace etb::gpu {

// Returns an error that rejects a node. Reasons: "dtype", "rank", "layout", "dynamic", "quant", "attribute", "op", "constant".
[[nodiscard]] tl::unexpected<Error> reject(const char* reason, std::string text);

class Arguments {
 public:
  explicit Arguments(const Node& node) : node_(&node) {}

  // Returns none if the argument is missing or none.
  std::optional<graph::Argument> find(const char* name) const;
  bool has(const char* name) const { return find(name).has_value(); }

  [[nodiscard]] Result<uint32_t> tensor(const char* name) const;
  [[nodiscard]] Result<std::vector<uint32_t>> tensors(const char* name) const;
  // Fractions are rejected where an integer is asked for; so are numbers known only at run time.
  [[nodiscard]] Result<int64_t> integer(const char* name, int64_t otherwise) const;
  [[nodiscard]] Result<double> number(const char* name, double otherwise) const;
  [[nodiscard]] Result<bool> flag(const char* name, bool otherwise) const;
  // Returns an empty list if the argument is missing. A single number is a list of one.
  [[nodiscard]] Result<std::vector<int64_t>> integers(const char* name) const;
  // Returns two numbers, for height and width: one number counts for both, no number is `otherwise`.
  [[nodiscard]] Result<std::vector<int64_t>> pair(const char* name, std::vector<int64_t> otherwise) const;
  // Returns a dimension of a tensor of `rank`, counted from the front. Rank 0 counts as 1.
  [[nodiscard]] Result<uint32_t> dim(const char* name, int64_t otherwise, uint32_t rank) const;
  std::string_view text(const char* name) const;

 private:
  const Node* node_;
};

// Limits a number of the graph to the range of a payload's integers.
int32_t to_int32(int64_t number);

}  // namespace etb::gpu
