// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/emit/branch_memory.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace etb::emit {

namespace {

constexpr uint8_t kKernelCall = 1, kDelegateCall = 2;  // instruction kinds of the file
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The order of instructions that holds in each run. Kernels are numbered in their order; a delegate call has the number of the
// last kernel that ends before it starts, and of the first that starts after it ends. So only calls need sets of calls.
class Order {
 public:
  struct Call {
    int64_t after_kernel = -1, before_kernel = kNever;
    std::vector<bool> calls;  // that end before it starts
  };

  Order(const format::MethodSpec& method, std::span<const WrittenArguments> delegates)
      : method_(method), positions_(method.instructions.size(), 0), writer_(method.values.size(), kNobody) {
    for (uint32_t i = 0, next_call = 0; i < method.instructions.size(); ++i) {
      const format::InstructionSpec& instruction = method.instructions[i];
      if (instruction.kind == kDelegateCall)
        add_call(i, delegates[next_call++].count);
      else
        add_kernel(i);
    }
  }

  bool is_call(uint32_t instruction) const { return method_.instructions[instruction].kind == kDelegateCall; }
  // Number of the kernel, or of the call.
  int64_t position(uint32_t instruction) const { return positions_[instruction]; }
  const Call& call(int64_t position) const { return calls_[static_cast<size_t>(position)]; }

  // Calls `visit` for a value and the items of a list.
  template <class Visit>
  void for_each_value(int32_t value, const Visit& visit) const {
    visit(value);
    const format::ValueSpec& spec = method_.values[static_cast<size_t>(value)];
    const auto visit_items = [&](const auto& items) {
      for (const auto item : items)
        if (item >= 0) visit(static_cast<int32_t>(item));
    };
    if (const auto* list = std::get_if<format::TensorListSpec>(&spec)) visit_items(list->items);
    if (const auto* list = std::get_if<format::OptionalTensorListSpec>(&spec)) visit_items(list->items);
    if (const auto* list = std::get_if<format::IntListSpec>(&spec)) visit_items(list->items);
  }

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;

  template <class Visit>
  void for_each_writer(uint32_t index, size_t argument_count, const Visit& visit) const {
    const std::vector<int32_t>& args = method_.instructions[index].args;
    for (size_t i = 0; i < argument_count; ++i)
      for_each_value(args[i], [&](int32_t value) {
        if (const uint32_t writer = writer_[static_cast<size_t>(value)]; writer != kNobody) visit(writer);
      });
  }

  void add_call(uint32_t index, uint32_t written_count) {
    const std::vector<int32_t>& args = method_.instructions[index].args;
    Call call;
    call.calls.resize(calls_.size(), false);
    for_each_writer(index, args.size() - written_count, [&](uint32_t writer) {
      if (!is_call(writer)) {
        call.after_kernel = std::max(call.after_kernel, positions_[writer]);
        return;
      }
      const Call& other = calls_[static_cast<size_t>(positions_[writer])];
      call.after_kernel = std::max(call.after_kernel, other.after_kernel);
      call.calls[static_cast<size_t>(positions_[writer])] = true;
      for (size_t i = 0; i < other.calls.size(); ++i)
        if (other.calls[i]) call.calls[i] = true;
    });
    for (size_t i = 0; i < calls_.size(); ++i)
      if (calls_[i].before_kernel <= call.after_kernel) call.calls[i] = true;
    positions_[index] = static_cast<int64_t>(calls_.size());
    calls_.push_back(std::move(call));
    for (size_t i = args.size() - written_count; i < args.size(); ++i)
      writer_[static_cast<size_t>(args[i])] = index;
  }

  // The last argument of a kernel is its result, or the list of them.
  void add_kernel(uint32_t index) {
    const std::vector<int32_t>& args = method_.instructions[index].args;
    const int64_t position = kernel_count_++;
    positions_[index] = position;
    for_each_writer(index, args.size(), [&](uint32_t writer) {
      if (!is_call(writer)) return;
      Call& call = calls_[static_cast<size_t>(positions_[writer])];
      if (call.before_kernel != kNever) return;  // and so have the calls before it
      call.before_kernel = position;
      for (size_t i = 0; i < call.calls.size(); ++i)
        if (call.calls[i]) calls_[i].before_kernel = std::min(calls_[i].before_kernel, position);
    });
    if (!args.empty())
      for_each_value(args.back(), [&](int32_t value) { writer_[static_cast<size_t>(value)] = index; });
  }

  const format::MethodSpec& method_;
  std::vector<int64_t> positions_;
  std::vector<uint32_t> writer_;
  std::vector<Call> calls_;
  int64_t kernel_count_ = 0;
};

// Instructions that use a tensor.
struct Uses {
  uint32_t first = UINT32_MAX, last = 0;  // in the list
  int64_t first_kernel = kNever, last_kernel = -1;
  std::vector<int64_t> calls;
};

std::vector<Uses> find_uses(const format::MethodSpec& method, const Order& order,
                            std::span<const int32_t> tensors) {
  std::unordered_map<int32_t, uint32_t> numbers;
  for (uint32_t i = 0; i < tensors.size(); ++i) numbers.emplace(tensors[i], i);
  std::vector<Uses> out(tensors.size());
  for (uint32_t i = 0; i < method.instructions.size(); ++i) {
    const int64_t position = order.position(i);
    for (const int32_t argument : method.instructions[i].args)
      order.for_each_value(argument, [&](int32_t value) {
        const auto found = numbers.find(value);
        if (found == numbers.end()) return;
        Uses& uses = out[found->second];
        uses.first = std::min(uses.first, i);
        uses.last = i;
        if (!order.is_call(i)) {
          uses.first_kernel = std::min(uses.first_kernel, position);
          uses.last_kernel = position;
        } else if (uses.calls.empty() || uses.calls.back() != position) {
          uses.calls.push_back(position);
        }
      });
  }
  return out;
}

// True if all uses of `earlier` end before the first one of `later` starts, given that this is so in the list.
bool is_before(const Order& order, const Uses& earlier, const Uses& later) {
  const auto is_call_before = [&](int64_t a, int64_t b) {
    return order.call(b).calls[static_cast<size_t>(a)];
  };
  for (const int64_t b : later.calls) {
    if (earlier.last_kernel > order.call(b).after_kernel) return false;
    for (const int64_t a : earlier.calls)
      if (!is_call_before(a, b)) return false;
  }
  return std::all_of(earlier.calls.begin(), earlier.calls.end(), [&](int64_t a) {
    return later.first_kernel == kNever || order.call(a).before_kernel <= later.first_kernel;
  });
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> find_concurrent_tensors(
    const format::MethodSpec& method, std::span<const WrittenArguments> delegates,
    std::span<const int32_t> tensors) {
  const bool is_straight =
      std::all_of(method.instructions.begin(), method.instructions.end(), [](const auto& instruction) {
        return instruction.kind == kKernelCall || instruction.kind == kDelegateCall;
      });
  if (!is_straight || delegates.empty()) return {};
  const Order order(method, delegates);
  const std::vector<Uses> uses = find_uses(method, order, tensors);
  std::vector<std::pair<uint32_t, uint32_t>> out;
  for (uint32_t a = 0; a < uses.size(); ++a) {
    if (uses[a].calls.empty()) continue;  // kernels run in the order of the list
    for (uint32_t b = 0; b < uses.size(); ++b) {
      if (b < a && !uses[b].calls.empty()) continue;  // that pair was seen
      const auto& [earlier, later] = uses[a].first < uses[b].first
                                         ? std::pair<const Uses&, const Uses&>(uses[a], uses[b])
                                         : std::pair<const Uses&, const Uses&>(uses[b], uses[a]);
      if (earlier.last < later.first && !is_before(order, earlier, later)) out.emplace_back(a, b);
    }
  }
  return out;
}

}  // namespace etb::emit
