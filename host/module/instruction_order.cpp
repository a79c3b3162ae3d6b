// SPDX-License-Identifier: Apache-2.0
#include "host/module/instruction_order.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace etb::host {

namespace {

using format::InstructionKind;

struct Range {
  uintptr_t begin, end;
};

// The instructions that each one depends on. Instructions are added in the order of the program.
class Dependencies {
 public:
  explicit Dependencies(const MethodState& state) : state_(state), before_(state.instructions.size()) {
    for (size_t i = 0; i < state.caller_memory.size(); ++i) {
      const CallerMemory& memory = state.caller_memory[i];
      EValue* const value =
          i < state.inputs.size() ? state.inputs[i] : state.outputs[i - state.inputs.size()];
      if (value != nullptr && memory.is_tensor && !memory.is_planned) of_caller_.insert(value);
    }
  }

  // False if the instruction's effects are not known before the run.
  bool add(uint32_t index) {
    const Instruction& instruction = state_.instructions[index];
    index_ = index;
    if (instruction.kind == InstructionKind::kDelegate) return add_delegate(instruction);
    if (instruction.kind != InstructionKind::kKernel) return false;
    return is_prim_op(*instruction.kernel) ? add_prim_op(instruction) : add_kernel(instruction);
  }

  // Sorted, each once.
  std::vector<std::vector<uint32_t>> take() {
    for (std::vector<uint32_t>& list : before_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return std::move(before_);
  }
  const std::vector<Range>& planned() const { return planned_; }

 private:
  // Accesses since the latest write.
  struct ValueUse {
    uint32_t writer = kNone;
    std::vector<uint32_t> readers;
  };
  struct ByteUse {
    Range range;
    uint32_t instruction;
    bool is_write;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  bool add_delegate(const Instruction& instruction) {
    const uint32_t input_count = state_.delegates[instruction.delegate]->operands().input_count;
    use_value(state_.delegates[instruction.delegate], true);
    for (uint32_t i = 0; i < instruction.argument_count; ++i)
      if (!use(instruction.arguments[i], i >= input_count)) return false;
    return true;
  }

  bool add_kernel(const Instruction& instruction) {
    const Kernel& kernel = *instruction.kernel;
    const bool is_counted = kernel.argument_count != kManyArguments;
    const uint32_t count = is_counted ? std::min<uint32_t>(instruction.argument_count, kernel.argument_count)
                                      : instruction.argument_count;
    for (uint32_t i = 0; i < count; ++i)
      if (!use(instruction.arguments[i], !is_counted || kernel.operands.is_written(i))) return false;
    return true;
  }

  // Arithmetic on sizes and numbers, views, and et_copy_index, which writes a tensor.
  bool add_prim_op(const Instruction& instruction) {
    if (instruction.argument_count == 0) return true;
    const uint32_t last = instruction.argument_count - 1;
    const bool reads_tensors = std::string_view(instruction.kernel->name).starts_with("aten::");
    if (is_view_op(*instruction.kernel)) {
      const EValue* const source = instruction.arguments[0];
      EValue* const view = instruction.arguments[last];
      if (!source->is_tensor() || !view->is_tensor() || of_caller_.count(view) != 0) return false;
      // A view is made again in each run. All that reads it follows, and what it reads is the source's memory.
      use_value(source, false);
      use_value(view, true);
      source_of_[view] = source_of(source);
      return true;
    }
    for (uint32_t i = 0; i < instruction.argument_count; ++i) {
      const EValue* const value = instruction.arguments[i];
      if (!use(value, value != nullptr && !(value->is_tensor() && reads_tensors))) return false;
    }
    return true;
  }

  const EValue* source_of(const EValue* value) const {
    const auto found = source_of_.find(value);
    return found == source_of_.end() ? value : found->second;
  }

  bool use(const EValue* value, bool is_write) {
    if (value == nullptr) return true;
    use_value(value, is_write);
    if (value->is_tensor()) return use_bytes(*value, is_write);
    if (value->tag() < Tag::kTensorList) return true;
    const auto items = value->values();
    return std::all_of(items.begin(), items.end(), [&](const EValue* item) { return use(item, is_write); });
  }

  void depend_on(uint32_t other) {
    if (other != kNone && other != index_) before_[index_].push_back(other);
  }

  void use_value(const void* value, bool is_write) {
    ValueUse& known = values_[value];
    depend_on(known.writer);
    if (!is_write) {
      known.readers.push_back(index_);
      return;
    }
    for (const uint32_t reader : known.readers) depend_on(reader);
    known = {index_, {}};
  }

  bool use_bytes(const EValue& value, bool is_write) {
    const EValue* const source = source_of(&value);
    const Tensor& tensor = source->tensor();
    if (tensor.is_read_only()) return !is_write;
    Range range{reinterpret_cast<uintptr_t>(tensor.data()), 0};
    range.end = range.begin + tensor.capacity_bytes();
    if (of_caller_.count(source) != 0) {
      range = {reinterpret_cast<uintptr_t>(source),
               reinterpret_cast<uintptr_t>(source) + 1};  // replaces memory of its own
    } else if (tensor.data() == nullptr) {
      return tensor.capacity_bytes() == 0 && tensor.numel() == 0;
    } else if (range.begin != range.end) {
      planned_.push_back(range);
    }
    if (range.begin == range.end) return true;
    std::erase_if(bytes_, [&](const ByteUse& other) {
      const bool overlaps = other.range.begin < range.end && range.begin < other.range.end;
      if (!overlaps || (!is_write && !other.is_write)) return false;
      depend_on(other.instruction);
      return is_write && other.instruction != index_ && range.begin <= other.range.begin &&
             other.range.end <= range.end;
    });
    bytes_.push_back({range, index_, is_write});
    return true;
  }

  const MethodState& state_;
  std::vector<std::vector<uint32_t>> before_;
  std::set<const EValue*> of_caller_;
  std::map<const EValue*, const EValue*> source_of_;  // sources by view
  std::unordered_map<const void*, ValueUse> values_;
  std::vector<ByteUse> bytes_;
  std::vector<Range> planned_;
  uint32_t index_ = 0;
};

// Simulates a run in which each started delegate takes longer than all host instructions.
class Scheduler {
 public:
  Scheduler(const MethodState& state, const std::vector<DelegateStarts>& starts,
            std::vector<std::vector<uint32_t>> before)
      : method_(state),
        starts_(starts),
        before_(std::move(before)),
        states_(before_.size(), State::kWaiting) {
    for (uint32_t i = 0; i < before_.size(); ++i) {
      const Instruction& instruction = state.instructions[i];
      const bool is_async =
          instruction.kind == InstructionKind::kDelegate && starts[instruction.delegate].can_start;
      (is_async ? async_ : host_).push_back(i);
    }
  }

  std::vector<OrderedStep> run() {
    while (!async_.empty() || next_host_ < host_.size()) {
      if (!start_one() && !follow_one() && !run_one()) wait_for_one();
    }
    run_at_once_what_is_waited_for();
    return std::move(steps_);
  }

 private:
  enum class State : uint8_t { kWaiting, kRunning, kEnded };

  bool has(const std::vector<uint32_t>& before, State state) const {
    return std::any_of(before.begin(), before.end(), [&](uint32_t i) { return states_[i] == state; });
  }
  bool is_ready(uint32_t index) const {
    return !has(before_[index], State::kWaiting) && !has(before_[index], State::kRunning);
  }

  // Runs that follow others read sizes before these end, so no size may change.
  bool can_follow(uint32_t index) const {
    const Instruction& instruction = method_.instructions[index];
    if (!starts_[instruction.delegate].can_follow || has(before_[index], State::kWaiting)) return false;
    const bool has_own_run = std::any_of(running_.begin(), running_.end(), [&](uint32_t i) {
      return method_.instructions[i].delegate == instruction.delegate;
    });
    return !has_own_run &&
           std::all_of(instruction.arguments, instruction.arguments + instruction.argument_count,
                       [](const EValue* value) {
                         return value != nullptr && value->is_tensor() &&
                                value->tensor().dynamism() == Dynamism::kStatic;
                       });
  }

  void emit(uint32_t index, bool is_start, std::vector<uint32_t> after = {}) {
    steps_.push_back({index, is_start, std::move(waits_), std::move(after)});
    waits_.clear();
    states_[index] = is_start ? State::kRunning : State::kEnded;
    if (is_start) running_.push_back(index);
  }

  bool start_one() {
    const auto found = std::find_if(async_.begin(), async_.end(), [&](uint32_t i) { return is_ready(i); });
    if (found == async_.end()) return false;
    emit(*found, true);
    async_.erase(found);
    return true;
  }

  bool follow_one() {
    const auto found = std::find_if(async_.begin(), async_.end(), [&](uint32_t i) { return can_follow(i); });
    if (found == async_.end()) return false;
    std::vector<uint32_t> after;
    for (const uint32_t i : before_[*found])
      if (states_[i] == State::kRunning) after.push_back(i);
    emit(*found, true, std::move(after));
    async_.erase(found);
    return true;
  }

  bool run_one() {
    if (next_host_ == host_.size() || !is_ready(host_[next_host_])) return false;
    emit(host_[next_host_++], false);
    return true;
  }

  // Waits for the oldest run that the next host instruction needs, else for the oldest.
  void wait_for_one() {
    auto oldest = running_.begin();
    if (next_host_ < host_.size()) {
      const std::vector<uint32_t>& needed = before_[host_[next_host_]];
      const auto found = std::find_if(running_.begin(), running_.end(), [&](uint32_t i) {
        return std::binary_search(needed.begin(), needed.end(), i);
      });
      if (found != running_.end()) oldest = found;
    }
    waits_.push_back(*oldest);
    states_[*oldest] = State::kEnded;
    running_.erase(oldest);
  }

  // A run that the next step waits for, or the last one, overlaps no later step: it runs without a start.
  void run_at_once_what_is_waited_for() {
    for (size_t i = steps_.size(); i-- > 0;) {
      OrderedStep& step = steps_[i];
      if (!step.is_start) continue;
      std::vector<uint32_t>* const next = i + 1 < steps_.size() ? &steps_[i + 1].waits : nullptr;
      if (next != nullptr && std::find(next->begin(), next->end(), step.instruction) == next->end()) continue;
      step.is_start = false;
      step.waits.insert(step.waits.end(), step.after.begin(), step.after.end());
      step.after.clear();
      for (size_t later = i + 1; later < steps_.size(); ++later) {
        std::erase(steps_[later].waits, step.instruction);
        std::erase(steps_[later].after, step.instruction);
      }
    }
  }

  const MethodState& method_;
  const std::vector<DelegateStarts>& starts_;
  std::vector<std::vector<uint32_t>> before_;
  std::vector<State> states_;
  std::vector<uint32_t> async_, host_, running_;
  size_t next_host_ = 0;
  std::vector<uint32_t> waits_;  // waits before the next step
  std::vector<OrderedStep> steps_;
};

std::vector<std::pair<uintptr_t, uintptr_t>> merged(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<std::pair<uintptr_t, uintptr_t>> out;
  for (const Range& range : ranges) {
    if (!out.empty() && range.begin <= out.back().second)
      out.back().second = std::max(out.back().second, range.end);
    else
      out.emplace_back(range.begin, range.end);
  }
  return out;
}

}  // namespace

std::vector<std::vector<uint32_t>> find_dependencies(const MethodState& state) {
  Dependencies dependencies(state);
  for (uint32_t i = 0; i < state.instructions.size(); ++i)
    if (!dependencies.add(i)) return {};
  return dependencies.take();
}

InstructionOrder find_order(const MethodState& state, const std::vector<DelegateStarts>& starts) {
  if (std::none_of(starts.begin(), starts.end(), [](const DelegateStarts& each) { return each.can_start; }))
    return {};
  Dependencies dependencies(state);
  for (uint32_t i = 0; i < state.instructions.size(); ++i)
    if (!dependencies.add(i)) return {};
  InstructionOrder out;
  out.planned = merged(dependencies.planned());
  out.steps = Scheduler(state, starts, dependencies.take()).run();
  const bool overlaps =
      std::any_of(out.steps.begin(), out.steps.end(), [](const OrderedStep& step) { return step.is_start; });
  return overlaps ? out : InstructionOrder{};
}

}  // namespace etb::host
