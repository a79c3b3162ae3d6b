// SPDX-License-Identifier: Apache-2.0
#include "plugins/gpu/testing/mutator/official_mutator.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "plugins/gpu/official/ops.hpp"
#include "plugins/gpu/testing/zero_data.hpp"

namespace etb::gpu {

namespace fb = vulkan_schema;

namespace {

constexpr int8_t kTypes = 8;  // element types
constexpr int8_t kFloat32 = 5;

const OfficialOp& any_op(RandomNumbers& random) {
  const OfficialOpList& list = *random.pick(kOfficialOps);
  return random.pick(list);
}

// The sizes that a message states after a text: "... computes [2, 4]".
std::vector<uint32_t> sizes_after(const std::string& message, const char* text) {
  std::vector<uint32_t> sizes;
  const size_t at = message.find(text);
  if (at == std::string::npos) return sizes;
  std::istringstream in(message.substr(at + std::string_view(text).size()));
  for (uint32_t size = 0; in >> size; in.ignore(2)) sizes.push_back(size);
  return sizes;
}

}  // namespace

std::vector<std::byte> repair(OfficialGraph& graph) {
  static const etb_named_data kZeros = zero_data();
  std::vector<std::byte> bytes = write_official(graph);
  for (uint32_t tries = 0; tries < 24; ++tries) {
    const auto read = read_official_payload(bytes, NamedData(&kZeros));
    if (read) break;
    const std::string& message = read.error().message;
    const size_t at = message.find("value ");
    if (at == std::string::npos) break;
    uint32_t value = 0, constant = 0;
    unsigned long long nbytes = 0, expected = 0;
    if (std::sscanf(message.c_str() + at, "value %u: constant %u of %llu bytes, expected %llu", &value,
                    &constant, &nbytes, &expected) == 4 &&
        constant < graph.constants.size()) {
      OfficialConstant& grown = graph.constants[constant];
      constexpr size_t kMostStored = 4096;
      if (grown.key.empty() && expected > kMostStored) break;
      grown.nbytes = expected;
      if (grown.key.empty()) grown.bytes.resize(expected);
    } else if (std::sscanf(message.c_str() + at, "value %u: sizes", &value) == 1 &&
               value < graph.values.size() && message.find("the operator computes [") != std::string::npos) {
      graph.values[value].sizes = sizes_after(message, "the operator computes [");
    } else {
      break;
    }
    bytes = write_official(graph);
  }
  return bytes;
}

void OfficialMutator::mutate(OfficialGraph& graph) {
  using Edit = void (OfficialMutator::*)(OfficialGraph&);
  static constexpr Edit kEdits[] = {&OfficialMutator::change_sizes,
                                    &OfficialMutator::change_sizes,
                                    &OfficialMutator::change_size,
                                    &OfficialMutator::change_rank,
                                    &OfficialMutator::change_types,
                                    &OfficialMutator::change_type,
                                    &OfficialMutator::change_value,
                                    &OfficialMutator::change_value,
                                    &OfficialMutator::change_kind,
                                    &OfficialMutator::change_constant,
                                    &OfficialMutator::change_argument,
                                    &OfficialMutator::change_operator,
                                    &OfficialMutator::repeat_call,
                                    &OfficialMutator::repeat_call,
                                    &OfficialMutator::append_call,
                                    &OfficialMutator::append_call,
                                    &OfficialMutator::change_arguments_of_graph,
                                    &OfficialMutator::remove_call};
  (this->*random_.pick(kEdits))(graph);
}

OfficialValue* OfficialMutator::pick_tensor(OfficialGraph& graph) {
  for (uint32_t tries = 0; !graph.values.empty() && tries < 16; ++tries)
    if (OfficialValue& found = random_.pick(graph.values); found.kind == fb::Content::Tensor) return &found;
  return nullptr;
}

// ---- Values

// Replaces one size everywhere, also among integers, so that sizes that fitted still fit.
void OfficialMutator::change_sizes(OfficialGraph& graph) {
  const OfficialValue* like = pick_tensor(graph);
  if (like == nullptr || like->sizes.empty()) return;
  const uint32_t from = like->sizes[random_.below(like->sizes.size())], to = random_.size();
  for (OfficialValue& value : graph.values) {
    std::replace(value.sizes.begin(), value.sizes.end(), from, to);
    if (from < 2) continue;  // most integers that are 0 or 1 are no sizes
    std::replace(value.integers.begin(), value.integers.end(), int64_t{from}, int64_t{to});
    if (value.kind == fb::Content::Integer && value.integer == from) value.integer = to;
  }
}

void OfficialMutator::change_size(OfficialGraph& graph) {
  OfficialValue* value = pick_tensor(graph);
  if (value != nullptr && !value->sizes.empty()) random_.pick(value->sizes) = random_.size();
}

void OfficialMutator::change_rank(OfficialGraph& graph) {
  OfficialValue* value = pick_tensor(graph);
  if (value == nullptr) return;
  std::vector<uint32_t>& sizes = value->sizes;
  if (!sizes.empty() && random_.one_in(2))
    sizes.erase(sizes.begin() + random_.below(sizes.size()));
  else
    sizes.insert(sizes.begin() + random_.below(sizes.size() + 1), random_.size());
}

void OfficialMutator::change_types(OfficialGraph& graph) {
  const OfficialValue* like = pick_tensor(graph);
  if (like == nullptr) return;
  const int8_t from = like->element_type, to = static_cast<int8_t>(random_.below(kTypes));
  for (OfficialValue& value : graph.values)
    if (value.element_type == from) value.element_type = to;
}

void OfficialMutator::change_type(OfficialGraph& graph) {
  OfficialValue* value = pick_tensor(graph);
  if (value == nullptr) return;
  value->element_type = static_cast<int8_t>(random_.below(kTypes + (random_.one_in(8) ? 1 : 0)));
  value->staging_type = random_.one_in(2) ? kFloat32 : 127;
}

void OfficialMutator::change_value(OfficialGraph& graph) {
  if (graph.values.empty()) return;
  const uint32_t at = random_.below(graph.values.size());
  const int32_t item = graph.values[at].kind == fb::Content::Values ? argument(graph) : 0;
  OfficialValue& value = graph.values[at];
  constexpr double kNumbers[] = {0, 1, -1, 0.5, 1e-5, 6, 1e30, -1e300, 16777216, 16777217, 9.3e18};
  constexpr const char* kTexts[] = {"none", "tanh", "ASYMMETRIC", "SYMMETRIC", "floor", "trunc", "zeros", ""};
  const int64_t integer = random_.one_in(4) ? random_.size() : random_.integer();
  const auto change_list = [&](auto& items, auto changed) {
    if (items.empty() || random_.one_in(6))
      items.insert(items.begin() + random_.below(items.size() + 1), changed);
    else if (random_.one_in(6))
      items.erase(items.begin() + random_.below(items.size()));
    else
      random_.pick(items) = changed;
  };
  value.integer = random_.one_in(32) ? int64_t{1} << random_.below(63) : integer;
  value.number = random_.pick(kNumbers);
  value.text = random_.pick(kTexts);
  change_list(value.integers, integer);
  change_list(value.numbers, random_.pick(kNumbers));
  if (value.kind == fb::Content::Values) change_list(value.values, item);
}

void OfficialMutator::change_kind(OfficialGraph& graph) {
  if (graph.values.empty()) return;
  constexpr fb::Content kKinds[] = {fb::Content::Nothing, fb::Content::Integer,  fb::Content::Number,
                                    fb::Content::Truth,   fb::Content::Integers, fb::Content::Numbers,
                                    fb::Content::Values,  fb::Content::Size,     fb::Content::Tensor};
  OfficialValue& value = random_.pick(graph.values);
  if (value.kind != fb::Content::Tensor || random_.one_in(4)) value.kind = random_.pick(kKinds);
}

void OfficialMutator::change_constant(OfficialGraph& graph) {
  if (graph.constants.empty() || random_.one_in(4)) {
    graph.constants.push_back({std::to_string(random_.below(10)), uint64_t{4} * random_.size()});
  } else if (random_.one_in(3)) {
    OfficialConstant& constant = random_.pick(graph.constants);
    constant.nbytes = random_.one_in(8) ? UINT64_MAX - 3 : uint64_t{4} * random_.size();
    if (random_.one_in(2)) {
      constexpr uint64_t kMostStored = 1024;
      constant.key.clear();
      constant.bytes.assign(std::min(constant.nbytes, kMostStored),
                            static_cast<std::byte>(random_.below(256)));
    }
    return;
  }
  if (OfficialValue* value = pick_tensor(graph); value != nullptr)
    value->constant = random_.one_in(3) ? -1 : static_cast<int32_t>(random_.below(graph.constants.size()));
}

// ---- Calls

int32_t OfficialMutator::add(OfficialGraph& graph, OfficialValue value) {
  graph.values.push_back(std::move(value));
  return static_cast<int32_t>(graph.values.size() - 1);
}

int32_t OfficialMutator::tensor(OfficialGraph& graph) {
  if (const OfficialValue* found = pick_tensor(graph); found != nullptr && !random_.one_in(8))
    return static_cast<int32_t>(found - graph.values.data());
  OfficialValue made;
  made.kind = fb::Content::Tensor;
  for (uint32_t rank = random_.below(5); rank > 0; --rank) made.sizes.push_back(random_.size());
  const int32_t id = add(graph, std::move(made));
  if (random_.one_in(3)) {
    graph.constants.push_back({std::to_string(random_.below(10)), 0});
    graph.values[static_cast<size_t>(id)].constant = static_cast<int32_t>(graph.constants.size() - 1);
  } else {
    graph.inputs.push_back(static_cast<uint32_t>(id));
  }
  return id;
}

int32_t OfficialMutator::argument(OfficialGraph& graph) {
  if (!graph.values.empty() && random_.one_in(2))
    return static_cast<int32_t>(random_.below(graph.values.size()));
  OfficialValue made;
  constexpr fb::Content kKinds[] = {fb::Content::Nothing, fb::Content::Integer, fb::Content::Number,
                                    fb::Content::Truth, fb::Content::Integers};
  made.kind = random_.pick(kKinds);
  made.integer = random_.integer();
  made.number = random_.below(3);
  for (uint32_t count = random_.below(4); count > 0; --count) made.integers.push_back(random_.integer());
  if (random_.one_in(4)) return tensor(graph);
  return add(graph, std::move(made));
}

void OfficialMutator::show_result(OfficialGraph& graph) {
  const auto result = static_cast<size_t>(graph.calls.back().arguments.back());
  const OfficialValue& value = graph.values[result];
  if (value.kind == fb::Content::Tensor) graph.outputs.push_back(static_cast<uint32_t>(result));
  if (graph.outputs.size() > 1 && random_.one_in(2))
    graph.outputs.erase(graph.outputs.begin() + random_.below(graph.outputs.size()));
}

void OfficialMutator::change_argument(OfficialGraph& graph) {
  if (graph.calls.empty()) return;
  OfficialCall& call = random_.pick(graph.calls);
  const uint32_t at = random_.below(call.arguments.size());
  call.arguments[at] = at == 0 ? tensor(graph) : argument(graph);
  if (random_.one_in(16)) call.arguments.push_back(argument(graph));
  if (call.arguments.size() > 1 && random_.one_in(16)) call.arguments.pop_back();
}

// Another operator with as many arguments.
void OfficialMutator::change_operator(OfficialGraph& graph) {
  if (graph.calls.empty()) return;
  OfficialCall& call = random_.pick(graph.calls);
  for (uint32_t tries = 0; tries < 64; ++tries) {
    const OfficialOp& op = any_op(random_);
    if (call.arguments.size() < op.min_arguments || call.arguments.size() > op.max_arguments) continue;
    call.op = op.name;
    return;
  }
}

// A call with the arguments of an earlier one, for another tensor.
void OfficialMutator::repeat_call(OfficialGraph& graph) {
  if (graph.calls.empty()) return;
  OfficialCall call = random_.pick(graph.calls);
  const auto new_result = [&](int32_t id) {
    OfficialValue made = graph.values[static_cast<size_t>(id)];
    made.constant = -1;
    return add(graph, std::move(made));
  };
  int32_t& result = call.arguments.back();
  result = new_result(result);
  for (int32_t& item : std::vector<int32_t>(graph.values[static_cast<size_t>(result)].values)) {
    if (item < 0 || static_cast<size_t>(item) >= graph.values.size()) continue;
    const int32_t made = new_result(item);
    std::vector<int32_t>& items = graph.values[static_cast<size_t>(result)].values;
    std::replace(items.begin(), items.end(), item, made);
  }
  if (call.arguments.size() > 1 && random_.one_in(2))
    call.arguments[random_.below(call.arguments.size() - 1)] = tensor(graph);
  else if (call.arguments.size() > 1)
    call.arguments[0] = tensor(graph);
  graph.calls.push_back(std::move(call));
  show_result(graph);
}

void OfficialMutator::append_call(OfficialGraph& graph) {
  const OfficialOp& op = any_op(random_);
  OfficialCall call;
  call.op = op.name;
  call.debug_id = random_.below(100);
  call.arguments.push_back(tensor(graph));
  OfficialValue result = graph.values[static_cast<size_t>(call.arguments[0])];
  result.constant = -1;
  if (random_.one_in(4)) result.element_type = static_cast<int8_t>(random_.below(kTypes));
  while (call.arguments.size() + 1 < op.min_arguments)
    call.arguments.push_back(call.arguments.size() == 1 && random_.one_in(2) ? tensor(graph)
                                                                             : argument(graph));
  if (random_.one_in(12)) {  // an operator with several results
    OfficialValue list;
    list.kind = fb::Content::Values;
    for (uint32_t count = 1 + random_.below(3); count > 0; --count) list.values.push_back(add(graph, result));
    call.arguments.push_back(add(graph, std::move(list)));
  } else {
    if (op.gives_size) result.kind = fb::Content::Size;
    call.arguments.push_back(add(graph, std::move(result)));
  }
  graph.calls.push_back(std::move(call));
  show_result(graph);
}

void OfficialMutator::change_arguments_of_graph(OfficialGraph& graph) {
  std::vector<uint32_t>& ids = random_.one_in(2) ? graph.inputs : graph.outputs;
  if (!ids.empty() && random_.one_in(2))
    ids.erase(ids.begin() + random_.below(ids.size()));
  else if (!graph.values.empty())
    ids.insert(ids.begin() + random_.below(ids.size() + 1), random_.below(graph.values.size()));
}

// Readers of the call's result read its first argument instead.
void OfficialMutator::remove_call(OfficialGraph& graph) {
  if (graph.calls.empty()) return;
  const uint32_t at = random_.below(graph.calls.size());
  const OfficialCall removed = graph.calls[at];
  graph.calls.erase(graph.calls.begin() + at);
  const int32_t from = removed.arguments.back(), to = removed.arguments.front();
  for (OfficialCall& call : graph.calls) std::replace(call.arguments.begin(), call.arguments.end(), from, to);
  std::replace(graph.outputs.begin(), graph.outputs.end(), static_cast<uint32_t>(from),
               static_cast<uint32_t>(to));
}

void OfficialMutator::join(OfficialGraph& graph, const OfficialGraph& other) {
  const auto first = static_cast<int32_t>(graph.values.size()),
             first_constant = static_cast<int32_t>(graph.constants.size());
  graph.constants.insert(graph.constants.end(), other.constants.begin(), other.constants.end());
  std::vector<int32_t> ids;  // by value of the other graph
  for (size_t i = 0; i < other.values.size(); ++i) ids.push_back(first + static_cast<int32_t>(i));
  for (const uint32_t input : other.inputs) {
    if (const OfficialValue* found = pick_tensor(graph); found != nullptr && random_.one_in(2))
      ids[input] = static_cast<int32_t>(found - graph.values.data());
    else
      graph.inputs.push_back(static_cast<uint32_t>(ids[input]));
  }
  for (OfficialValue value : other.values) {
    if (value.constant >= 0) value.constant += first_constant;
    for (int32_t& item : value.values)
      if (item >= 0 && static_cast<size_t>(item) < ids.size()) item = ids[static_cast<size_t>(item)];
    graph.values.push_back(std::move(value));
  }
  for (OfficialCall call : other.calls) {
    for (int32_t& argument : call.arguments) argument = ids[static_cast<size_t>(argument)];
    graph.calls.push_back(std::move(call));
  }
  for (const uint32_t output : other.outputs) graph.outputs.push_back(static_cast<uint32_t>(ids[output]));
}

}  // namespace etb::gpu
