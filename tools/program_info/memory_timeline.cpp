// SPDX-License-Identifier: Apache-2.0
#include "tools/program_info/memory_timeline.hpp"

#include <algorithm>
#include <limits>

namespace etb::tools {

namespace {

using format::InstructionKind;
using format::ValueKind;

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

struct Use {
  uint32_t first = kNever;
  uint32_t last = 0;
  void add(uint32_t instruction) {
    first = std::min(first, instruction);
    last = std::max(last, instruction);
  }
};

struct Loop {
  uint32_t begin;
  uint32_t end;
};

class Tracer {
 public:
  explicit Tracer(const format::MethodView& method) : method_(method), uses_(method.value_count()) {}

  MemoryTimeline trace() {
    for (uint32_t c = 0; c < method_.chain_count(); ++c) trace_chain(method_.chain(c));
    widen_loops();
    const uint32_t last = count_ == 0 ? 0 : count_ - 1;
    for (const int32_t value : method_.inputs()) use(value, 0);
    for (const int32_t value : method_.outputs()) use(value, last);
    return collect(last);
  }

 private:
  void use(int64_t value, uint32_t instruction) {
    if (value < 0) return;
    uses_[static_cast<size_t>(value)].add(instruction);
    const auto view = method_.value(static_cast<uint32_t>(value));
    if (view.kind() != ValueKind::kTensorList && view.kind() != ValueKind::kOptionalTensorList) return;
    for (const int32_t item : view.tensor_list()) {
      if (item >= 0) uses_[static_cast<size_t>(item)].add(instruction);
    }
  }

  void trace_chain(const format::ChainView& chain) {
    const uint32_t first = count_;
    for (uint32_t i = 0; i < chain.instruction_count(); ++i) {
      const auto instruction = chain.instruction(i);
      for (const int32_t argument : instruction.args) use(argument, count_);
      if (instruction.kind == InstructionKind::kMove) {
        use(instruction.a, count_);
        use(instruction.b, count_);
      } else if (instruction.kind == InstructionKind::kJumpFalse) {
        use(instruction.a, count_);
        if (first + instruction.b < count_) loops_.push_back({first + instruction.b, count_});
      } else if (instruction.kind == InstructionKind::kFree) {
        use(instruction.a, count_);
      }
      ++count_;
    }
  }

  void widen_loops() {
    for (const Loop& loop : loops_) {
      for (Use& use : uses_) {
        if (use.first == kNever || use.last < loop.begin || use.first > loop.end) continue;
        use.add(loop.begin);
        use.add(loop.end);
      }
    }
  }

  MemoryTimeline collect(uint32_t last) const {
    MemoryTimeline timeline{count_, {}};
    for (uint32_t i = 0; i < method_.value_count(); ++i) {
      const auto value = method_.value(i);
      if (value.kind() != ValueKind::kTensor || uses_[i].first == kNever) continue;
      const auto tensor = value.as_tensor();
      if (tensor.memory_id == 0 || tensor.nbytes == 0) continue;
      const bool is_state = tensor.storage != format::Storage::kPlanned;
      timeline.lives.push_back({i, tensor.memory_id, tensor.memory_offset, tensor.nbytes,
                                is_state ? 0 : uses_[i].first, is_state ? last : uses_[i].last, is_io(i)});
    }
    return timeline;
  }

  bool is_io(uint32_t value) const {
    const auto holds = [value](std::span<const int32_t> list) {
      return std::find(list.begin(), list.end(), static_cast<int32_t>(value)) != list.end();
    };
    return holds(method_.inputs()) || holds(method_.outputs());
  }

  const format::MethodView& method_;
  std::vector<Use> uses_;
  std::vector<Loop> loops_;
  uint32_t count_ = 0;
};

}  // namespace

MemoryTimeline trace_memory(const format::MethodView& method) { return Tracer(method).trace(); }

}  // namespace etb::tools
