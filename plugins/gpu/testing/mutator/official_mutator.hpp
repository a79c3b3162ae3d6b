// SPDX-License-Identifier: Apache-2.0
// OfficialMutator: changes official payloads for libFuzzer, as graphs of values and calls.
#pragma once

#include "plugins/gpu/testing/mutator/official_graph.hpp"
#include "plugins/gpu/testing/mutator/random_numbers.hpp"

namespace etb::gpu {

class OfficialMutator {
 public:
  explicit OfficialMutator(uint32_t seed) : random_(seed) {}

  // Applies one change to a value, a call or a constant, or adds a call.
  void mutate(OfficialGraph& graph);
  // Appends the calls of another graph. Some of its inputs become tensors of this one.
  void join(OfficialGraph& graph, const OfficialGraph& other);

  RandomNumbers& random() { return random_; }

 private:
  void change_sizes(OfficialGraph& graph);
  void change_size(OfficialGraph& graph);
  void change_rank(OfficialGraph& graph);
  void change_types(OfficialGraph& graph);
  void change_type(OfficialGraph& graph);
  void change_value(OfficialGraph& graph);
  void change_kind(OfficialGraph& graph);
  void change_constant(OfficialGraph& graph);
  void change_argument(OfficialGraph& graph);
  void change_operator(OfficialGraph& graph);
  void repeat_call(OfficialGraph& graph);
  void append_call(OfficialGraph& graph);
  void change_arguments_of_graph(OfficialGraph& graph);
  void remove_call(OfficialGraph& graph);

  // Return the index of a value, which may be new.
  int32_t tensor(OfficialGraph& graph);
  int32_t argument(OfficialGraph& graph);
  int32_t add(OfficialGraph& graph, OfficialValue value);
  OfficialValue* pick_tensor(OfficialGraph& graph);
  // Makes the result of the last call an output.
  void show_result(OfficialGraph& graph);

  RandomNumbers random_;
};

// Replaces declared sizes of results, and sizes of constants, by those that the reader expects, until it accepts the payload or states
// another error. So a change of one call need not change all values after it. Returns the payload.
std::vector<std::byte> repair(OfficialGraph& graph);

}  // namespace etb::gpu
