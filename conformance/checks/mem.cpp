// SPDX-License-Identifier: Apache-2.0
// mem: ownership of memory. Every case uses guard pages, read-only inputs and garbage in outputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "conformance/checks/concurrent_runs.hpp"
#include "conformance/checks/groups.hpp"
#include "conformance/checks/large_constant.hpp"

namespace etb::conformance {
namespace {

// The validate layer protects the payload's pages after the release, so later reads are detected.
void payload_after_release(CheckContext& context) {
  context.each_session({}, 4, [&](ReadyCase& ready) {
    for (int i = 0; i < 3; ++i)
      if (const RunResult result = ready.run(); result.status != ETB_OK) context.fail(result.error.text);
  });
}

// Runs on the session's context and on two later ones, the last after the session's ended. Adds a finding if a run fails or
// is not right.
void run_on_later_contexts(CheckContext& context, Subject& subject, const ClaimedCase& item) {
  const std::vector<TensorData>& inputs = item.built.runs[0];
  const auto session = context.make_session(subject, item);
  if (!session) return;
  const auto expect_right = [&](const RunResult& result, const char* where) {
    if (result.status != ETB_OK || !context.is_right(item, result))
      context.fail(fmt::format("{}: a run on {} fails or is wrong", item.item->name, where));
  };
  expect_right(session->run(inputs), "the first context");
  for (const char* where : {"a second context", "a context that was made after the end of the first"}) {
    etb_context* later = nullptr;
    etb_error error = ETB_ERROR_INIT;
    const etb_delegate_table& table = *subject.table().delegate;
    if (table.context_create(session->delegate(), nullptr, 0, &later, &error) != ETB_OK)
      return context.fail(
          fmt::format("{}: context_create of {} fails: {}", item.item->name, where, error.text));
    for (int i = 0; i < 2; ++i) expect_right(session->run_on(later, inputs), where);
    (void)table.context_destroy(later, &error);
    (void)session->end_context();
  }
}

// Constants of all sizes, which a payload has inside or beside it. Contexts that are made later read them, too. The validate
// layer protects the bytes of a payload and of named data after their release.
void constants_after_release(CheckContext& context) {
  constexpr int64_t kRows[] = {1, 2, 3, 4, 6, 8, 16, 32, 64, 128};
  static const Case kConstant{"a constant", "model", ETB_DTYPE_FLOAT32, {}};
  const auto subject = context.open();
  if (!subject || subject->table().aot == nullptr) return;
  std::vector<ClaimedCase> items;
  for (const ConstantUse use : kConstantUses)
    for (const int64_t rows : kRows) {
      Result<BuiltCase> built = with_constant(use, rows, "released constant");
      if (!built || !partition(*subject, built->image).is_whole_claim()) continue;
      Compiled compiled = compile(*subject, built->image);
      if (compiled.status == ETB_OK)
        items.push_back({&kConstant, std::move(*built), std::move(compiled.payload)});
    }
  for (const char* pattern : {"model.*constants*", "op.convolution*_w*", "op.*_w*.pair", "quant.*_w*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 4))
      items.push_back(std::move(item));
  if (items.empty()) return context.skip("the plugin claims no case with a constant");
  for (const ClaimedCase& item : items) {
    context.progress().restart();
    run_on_later_contexts(context, *subject, item);
    context.take_violations(*subject);
    if (!context.outcome().findings.empty()) return;
  }
}

// The plugin must write every output byte, for any previous contents.
void outputs_are_written(CheckContext& context) {
  context.each_session(bare(), 16, [&](ReadyCase& ready) {
    std::vector<TensorData> first;
    for (const uint8_t fill : {0x00, 0xff, 0x7f, 0x80}) {
      const RunResult result = ready.run({.fill = fill});
      if (first.empty()) first = result.outputs;
      for (size_t i = 0; i < first.size(); ++i)
        if (first[i].bytes != result.outputs[i].bytes)
          return context.fail(ready.name() + ": the result depends on the previous contents of the output");
    }
  });
}

// Puts a number into the last element of an input of integers. Returns false if there is none.
bool set_last_index(std::vector<TensorData>& inputs, int64_t index) {
  for (TensorData& input : inputs) {
    const bool is_wide = input.shape.dtype == ETB_DTYPE_INT64;
    if ((!is_wide && input.shape.dtype != ETB_DTYPE_INT32) || input.bytes.empty()) continue;
    const auto narrow = static_cast<int32_t>(index);
    const size_t nbytes = element_nbytes(input.shape.dtype);
    std::memcpy(input.bytes.data() + input.bytes.size() - nbytes,
                is_wide ? static_cast<const void*>(&index) : static_cast<const void*>(&narrow), nbytes);
    return true;
  }
  return false;
}

// An index of no element is an error, or leaves results that depend on the inputs alone.
void indices_outside(CheckContext& context) {
  const auto subject = context.open();
  if (!subject) return;
  std::vector<ClaimedCase> items;
  for (const char* pattern :
       {"op.embedding*", "op.gather*", "op.index_select*", "op.index_tensor*", "op.index_put*", "op.scatter*",
        "call.embedding*", "call.gather*", "call.index_select*", "call.index_tensor*"})
    for (ClaimedCase& item : context.find_claimed_like(*subject, pattern, 2))
      items.push_back(std::move(item));
  if (items.empty()) return context.skip("the plugin claims no case with indices");
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    int64_t largest = 1;
    for (const TensorData& input : ready.inputs()) largest = std::max(largest, input.shape.numel());
    for (const int64_t index : {largest, -largest - 1}) {
      std::vector<TensorData> inputs = ready.inputs();
      if (!set_last_index(inputs, index)) return;
      context.progress().at(fmt::format("a run with the index {}", index).c_str());
      const RunResult first = ready.session.run(inputs, {.fill = 0x00}),
                      second = ready.session.run(inputs, {.fill = 0x7f});
      const bool has_failed = first.status != ETB_OK && first.status == second.status;
      if (!has_failed && !has_same_result(first, second))
        return context.fail(fmt::format(
            "{}: with the index {}, a run returns {}, and its result depends on the previous contents of the "
            "output",
            ready.name(), index, first.status));
      const RunResult after = ready.run();
      if (after.status != ETB_OK || !context.is_right(ready.item, after))
        return context.fail(fmt::format("{}: after a run with the index {} a good one fails or is wrong",
                                        ready.name(), index));
    }
  });
}

// The alignment that query_io requested must be enough.
void least_alignment(CheckContext& context) {
  context.each_session(bare(), 16, [&](ReadyCase& ready) {
    const RunResult expected = ready.run();
    const RunResult result = ready.run({.has_least_alignment = true});
    if (result.status != ETB_OK)
      return context.fail(ready.name() +
                          ": with the requested alignment execute fails: " + result.error.text);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      if (expected.outputs[i].bytes != result.outputs[i].bytes)
        return context.fail(ready.name() + ": another result with the requested alignment");
  });
}

// An output that shares memory with an input must have the same result as elsewhere.
void shared_memory(CheckContext& context) {
  size_t count = 0;
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.claimed(*subject, 40);
  for (ClaimedCase& item : context.find_claimed_like(*subject, "call.*.read_later.*", 24))
    items.push_back(std::move(item));
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    if (!ready.session.may_share_memory()) return;
    ++count;
    const RunResult expected = ready.run();
    const RunResult result = ready.run({.shares_memory = true});
    if (result.status != ETB_OK)
      return context.fail(ready.name() +
                          ": with an output in the memory of an input execute fails: " + result.error.text);
    for (size_t i = 0; i < expected.outputs.size(); ++i)
      if (expected.outputs[i].bytes != result.outputs[i].bytes)
        return context.fail(
            ready.name() +
            ": another result when the output shares the memory of an input, as query_io allows");
  });
  if (count == 0 && context.outcome().findings.empty())
    context.skip("no output may share memory with an input");
}

// ---- strides

enum class Strides { kGapsBetweenRows, kGapsBetweenElements, kOutermostLast, kDimOrder, kRepeated };
constexpr std::pair<Strides, const char*> kStrides[] = {
    {Strides::kGapsBetweenRows, "gaps between rows"},
    {Strides::kGapsBetweenElements, "gaps between elements"},
    {Strides::kOutermostLast, "the dimensions in reverse order"},
    {Strides::kDimOrder, "a reversed dim order, without strides"}};

std::vector<int64_t> strides_of(Strides kind, const std::vector<int64_t>& sizes) {
  const size_t rank = sizes.size();
  std::vector<int64_t> out(rank);
  int64_t stride = kind == Strides::kGapsBetweenElements ? 2 : 1;
  for (size_t i = 0; i < rank; ++i) {
    const size_t d = kind == Strides::kOutermostLast || kind == Strides::kDimOrder ? i : rank - 1 - i;
    out[d] = stride;
    stride *= sizes[d];
    if (kind == Strides::kGapsBetweenRows && i == 0) ++stride;
  }
  if (kind == Strides::kRepeated) out[0] = 0;
  return out;
}

// Calls body(place, number) for each element: its distance from the first one, and its number in row-major order.
template <class Body>
void each_element(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Body body) {
  std::vector<int64_t> at(sizes.size(), 0);
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  for (int64_t n = 0; n < count; ++n) {
    int64_t place = 0;
    for (size_t d = 0; d < sizes.size(); ++d) place += at[d] * strides[d];
    body(static_cast<size_t>(place), static_cast<size_t>(n));
    for (size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
  }
}

// A run in which one tensor has other strides than those of packed memory.
class StridedRun {
 public:
  StridedRun(ReadyCase& ready, const std::vector<TensorData>& inputs, size_t index, Strides kind)
      : ready_(ready), run_(ready.session.prepare(inputs)), slot_(run_->slots[index]) {
    etb_tensor& tensor = run_->tensors[index];
    step_ = element_nbytes(tensor.dtype);
    strides_ = strides_of(kind, slot_.sizes);
    size_t last = 0;
    each_element(slot_.sizes, strides_, [&](size_t place, size_t) { last = std::max(last, place); });
    // As much as packed memory has, so that what reads it as such finds other numbers.
    memory_.assign(std::max<size_t>((last + 1) * step_, slot_.bound_nbytes) + kSpare, std::byte{0x5a});
    each_element(slot_.sizes, strides_, [&](size_t place, size_t n) {
      std::memcpy(memory_.data() + place * step_, slot_.data + n * step_, step_);
    });
    for (size_t d = slot_.sizes.size(); d-- > 0;) dim_order_.push_back(static_cast<uint8_t>(d));
    if (kind == Strides::kDimOrder) {
      tensor.strides = nullptr;
      tensor.dim_order = dim_order_.data();
    } else {
      tensor.strides = strides_.data();
    }
    tensor.data = memory_.data();
    tensor.capacity_bytes = memory_.size();
  }
  StridedRun(const StridedRun&) = delete;
  StridedRun& operator=(const StridedRun&) = delete;

  RunResult execute() {
    RunResult out;
    out.status = ready_.subject.table().delegate->execute(ready_.session.context(), &run_->args, &out.error);
    each_element(slot_.sizes, strides_, [&](size_t place, size_t n) {
      std::memcpy(slot_.data + n * step_, memory_.data() + place * step_, step_);
    });
    out.outputs = run_->outputs();
    return out;
  }

 private:
  static constexpr size_t kSpare = 256;  // padding that query_io may ask for

  ReadyCase& ready_;
  std::unique_ptr<PreparedRun> run_;
  TensorSlot& slot_;
  size_t step_ = 1;
  std::vector<int64_t> strides_;
  std::vector<uint8_t> dim_order_;
  std::vector<std::byte> memory_;
};

// True if a tensor in packed memory has several elements in each of two dimensions at least.
bool is_plain_matrix(const TensorSlot& slot) {
  const auto wide =
      std::count_if(slot.sizes.begin(), slot.sizes.end(), [](int64_t size) { return size > 1; });
  return wide >= 2 && slot.sizes.back() > 1 && slot.dim_order.empty() && slot.tensor.upper_sizes == nullptr &&
         slot.tensor.data != nullptr;
}

// Inputs of which one repeats its first row.
std::vector<TensorData> with_one_row(const std::vector<TensorData>& inputs, size_t index) {
  std::vector<TensorData> out = inputs;
  std::vector<std::byte>& bytes = out[index].bytes;
  const size_t row = bytes.size() / static_cast<size_t>(out[index].shape.sizes[0]);
  for (size_t at = row; at < bytes.size(); at += row) std::memcpy(bytes.data() + at, bytes.data(), row);
  return out;
}

// An input with one row in memory, and a stride of 0 between its rows, is refused, or read as that row again and again.
void try_one_row(CheckContext& context, ReadyCase& ready, size_t index) {
  if (ready.inputs()[index].shape.sizes[0] < 2) return;
  const std::vector<TensorData> inputs = with_one_row(ready.inputs(), index);
  const RunResult packed = ready.session.run(inputs);
  if (packed.status != ETB_OK) return;
  context.progress().at("a stride of 0");
  const RunResult result = StridedRun(ready, inputs, index, Strides::kRepeated).execute();
  if (result.status == ETB_OK && !has_same_outputs(result.outputs, packed.outputs))
    context.fail(fmt::format("{}: input {} with a stride of 0: a wrong result", ready.name(), index));
  else if (result.status != ETB_OK && result.status != ETB_INVALID_ARGUMENT)
    context.fail(
        fmt::format("{}: input {} with a stride of 0 is refused with {}, expected ETB_INVALID_ARGUMENT",
                    ready.name(), index, result.status));
}

// Returns false if no tensor of the case can have other strides.
bool try_strides(CheckContext& context, ReadyCase& ready) {
  const std::unique_ptr<PreparedRun> packed = ready.session.prepare(ready.inputs());
  bool has_any = false;
  for (size_t i = 0; i < packed->slots.size(); ++i) {
    if (!is_plain_matrix(packed->slots[i])) continue;
    has_any = true;
    const bool is_input = i < packed->args.input_count;
    if (is_input) try_one_row(context, ready, i);
    for (const auto& [kind, text] : kStrides) {
      context.progress().at(text);
      const RunResult result = StridedRun(ready, ready.inputs(), i, kind).execute();
      const std::string where = fmt::format("{}: {} {} with {}", ready.name(), is_input ? "input" : "output",
                                            is_input ? i : i - packed->args.input_count, text);
      if (result.status == ETB_OK && !context.is_right(ready.item, result))
        context.fail(where + ": a wrong result");
      else if (result.status != ETB_OK && result.status != ETB_INVALID_ARGUMENT)
        context.fail(
            fmt::format("{} is refused with {}, expected ETB_INVALID_ARGUMENT", where, result.status));
      if (const RunResult after = ready.run(); after.status != ETB_OK || !context.is_right(ready.item, after))
        context.fail(where + ": afterwards the context does not run");
      if (!context.outcome().findings.empty()) return true;
    }
  }
  return has_any;
}

// A tensor whose strides or dim order are not those of packed row-major memory is refused, or read and written as they say.
void strides_are_read(CheckContext& context) {
  constexpr size_t kOps = 40;
  constexpr size_t kOpsOfType = 6;
  const auto subject = context.open(bare());
  if (!subject) return;
  std::vector<ClaimedCase> items = context.find_claimed_of_ops(*subject, "op.*", kOps);
  for (const char* pattern : {"op.*x*", "op.*x*__*x*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, kOps))
      items.push_back(std::move(item));
  // A plugin with many conditions may reject the first cases of an op.
  for (ClaimedCase& item : context.find_claimed_like(*subject, "op.*x*__*x*", 4))
    items.push_back(std::move(item));
  // The cases above have floats wherever an op has.
  for (const char* pattern :
       {"op.*.bool.*x*", "op.*.i64.*x*", "op.*.i32.*x*", "op.*.i8.*x*", "op.*.u8.*x*", "op.*.f16.*x*"})
    for (ClaimedCase& item : context.find_claimed_of_ops(*subject, pattern, kOpsOfType))
      items.push_back(std::move(item));
  bool has_any = false;
  context.each_session(*subject, items, [&](ReadyCase& ready) {
    context.progress().restart();
    has_any = try_strides(context, ready) || has_any;
  });
  if (!has_any && context.outcome().findings.empty())
    context.skip("the plugin claims no case with a matrix in packed memory");
}

// Runs again in the same memory, whose inputs have other contents now: what a plugin kept of an address is old.
void same_memory(CheckContext& context) {
  const auto subject = context.open(bare());
  if (!subject) return;
  const etb_delegate_table& table = *subject->table().delegate;
  context.each_session(*subject, context.claimed(*subject, 40), [&](ReadyCase& ready) {
    context.progress().restart();
    const std::vector<TensorData> others = rotated(ready.inputs(), 1);
    const RunResult expected = ready.run(), expected_of_others = ready.session.run(others);
    const std::unique_ptr<PreparedRun> run = ready.session.prepare(ready.inputs());
    for (const bool is_other : {false, true, false}) {
      const std::vector<TensorData>& inputs = is_other ? others : ready.inputs();
      const RunResult& wanted = is_other ? expected_of_others : expected;
      for (size_t i = 0; i < inputs.size(); ++i)
        std::copy(inputs[i].bytes.begin(), inputs[i].bytes.end(), run->slots[i].data);
      etb_error error = ETB_ERROR_INIT;
      context.progress().at("a run in memory with other contents");
      const etb_status status = table.execute(ready.session.context(), &run->args, &error);
      if (status != wanted.status || (status == ETB_OK && !has_same_outputs(run->outputs(), wanted.outputs)))
        return context.fail(ready.name() +
                            ": a run in the memory of an earlier one, with other contents, has another "
                            "result than in memory of its own");
    }
  });
}

constexpr Check kChecks[] = {
    {"mem.strides-are-read",
     "Tensors of other strides or dim orders than packed ones are refused, or read as they say.",
     "ABI-TENSOR-01", strides_are_read},
    {"mem.same-memory-other-contents", "The memory of an input may have other contents in the next run.",
     "ABI-EXEC-03", same_memory},
    {"mem.payload-after-release", "Payload bytes are not accessed after their release.", "ABI-OWN-03",
     payload_after_release},
    {"mem.constants-after-release",
     "Constants of all sizes are right on contexts that are made later, and not read where create released "
     "them.",
     "ABI-OWN-03", constants_after_release},
    {"mem.outputs-are-written", "Every byte of every output is written.", "ABI-TENSOR-02",
     outputs_are_written},
    {"mem.indices-outside",
     "A run with an index of no element fails, or writes a result of its inputs alone.", "ABI-TENSOR-02",
     indices_outside},
    {"mem.least-alignment", "Memory with exactly the alignment of query_io is sufficient.", "ABI-EXEC-04",
     least_alignment},
    {"mem.output-shares-an-input", "An output may share the memory of an input where query_io allows it.",
     "ABI-EXEC-04", shared_memory},
};

}  // namespace

std::span<const Check> mem_checks() { return kChecks; }

}  // namespace etb::conformance
