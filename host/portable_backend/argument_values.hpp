// The arguments of one kernel call as values, with the storage that they point to.
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
  // The value numbered `id` of the graph.
  using FindValue = std::function<EValue*(uint32_t id)>;

  explicit ArgumentValues(Precision precision) : precision_(precision) {}
  ArgumentValues(const ArgumentValues&) = delete;
  ArgumentValues& operator=(const ArgumentValues&) = delete;

  // Adds an argument that the node gives; NOT_SUPPORTED for kinds that no kernel takes.
  [[nodiscard]] Status add(const graph::Argument& argument, const ops::Type& type, const FindValue& find);
  // Adds the default that a schema names.
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
