// SPDX-License-Identifier: Apache-2.0
// ArgumentValues: the arguments of one kernel call, with their storage.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "api/ops/schema.hpp"
#include "etb/cpp/graph_view.hpp"
#include "host/portable_backend/graph_executor.hpp"
#include "host/runtime/evalue.hpp"

namespace etb::host {

class ArgumentValues {
 public:
  // Returns the value with number `id` of the graph.
  using FindValue = std::function<EValue*(uint32_t id)>;

  explicit ArgumentValues(Precision precision) : precision_(precision) {}
  ArgumentValues(const ArgumentValues&) = delete;
  ArgumentValues& operator=(const ArgumentValues&) = delete;

  // Adds an argument of the node. Returns NOT_SUPPORTED for kinds that no kernel accepts.
  [[nodiscard]] Status add(const graph::Argument& argument, const ops::Type& type, const FindValue& find);
  // Adds a default of the schema.
  [[nodiscard]] Status add_default(std::string_view text, const ops::Type& type);
  void add_tensor(EValue* value) { pointers_.push_back(value); }
  void add_tensor_list(std::vector<EValue*> items);

  EValue** pointers() noexcept { return pointers_.data(); }
  size_t count() const noexcept { return pointers_.size(); }

 private:
  EValue* keep(EValue value);
  Status add_ints(const std::vector<int64_t>& ints);
  int64_t widened_dtype(int64_t code) const;

  Precision precision_;
  std::vector<EValue*> pointers_;
  std::deque<EValue> values_;
  std::deque<std::vector<EValue*>> lists_;
  std::deque<std::vector<double>> doubles_;
  std::deque<std::vector<uint8_t>> bools_;
  std::deque<std::string> texts_;
};

}  // namespace etb::host
