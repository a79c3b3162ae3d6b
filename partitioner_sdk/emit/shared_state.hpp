// SPDX-License-Identifier: Apache-2.0
// Mutable buffers that several methods share by name: a cache that prefill fills and decode reads. They get
// their own arena, with equal offsets in every method. An application that loads the methods on shared arenas
// has one state.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::emit {

class SharedState {
 public:
  // Finds buffers that one method writes and another has, too. Errors if their shapes differ.
  [[nodiscard]] static Result<SharedState> find(std::span<const ir::Module> methods);

  bool has(const std::string& target) const { return offsets_.count(target) != 0; }
  uint64_t offset(const std::string& target) const { return offsets_.at(target); }
  uint64_t nbytes() const { return nbytes_; }

 private:
  std::map<std::string, uint64_t> offsets_;
  uint64_t nbytes_ = 0;
};

}  // namespace etb::emit
