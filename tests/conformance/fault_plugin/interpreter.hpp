// SPDX-License-Identifier: Apache-2.0
// Runs a program step by step in one context's memory.
#pragma once

#include "etb/cpp/run.hpp"
#include "tests/conformance/fault_plugin/convolution.hpp"

namespace faulty {

class Interpreter {
 public:
  explicit Interpreter(const Program& program) : program_(&program), views_(program.values.size()) {
    for (size_t i = 0; i < views_.size(); ++i) views_[i].dtype = program.values[i].dtype;
  }

  // Sizes and memory of a value. Each step sets the sizes of its result.
  View& view(uint32_t id) { return views_[id]; }
  void set_sizes(uint32_t id, std::vector<int64_t> sizes) {
    views_[id].sizes = std::move(sizes);
    views_[id].strides = dense_strides(views_[id].sizes, program_->values[id].order);
  }

  // `goes_on` returns the error of a run that has to stop.
  template <class GoesOn>
  etb::Status run(const GoesOn& goes_on) {
    if (has_fault(401)) confuse_inputs();
    for (size_t i = 0; i < program_->steps.size(); ++i) {
      if (has_fault(355) && i >= 64) return copy_last(i);
      const Step& step = program_->steps[i];
      ETB_TRY(goes_on());
      ETB_TRY(run_step(step, goes_on));
      const View& result = views_[step.result];
      if (has_fault(400) && i == 4 && result.numel() > 0) result.floats()[result.numel() - 1] += 1;
    }
    return {};
  }

 private:
  // The ninth input gets the data of the eighth.
  void confuse_inputs() {
    std::vector<uint32_t> inputs;
    for (uint32_t i = 0; i < views_.size(); ++i)
      if (program_->values[i].kind == Kind::kInput) inputs.push_back(i);
    if (inputs.size() > 8) views_[inputs[8]].data = views_[inputs[7]].data;
  }

  // Steps from `index` on are lost (fault 355): the last result is that of the step before them.
  etb::Status copy_last(size_t index) {
    const uint32_t from = program_->steps[index - 1].result, to = program_->steps.back().result;
    set_sizes(to, views_[from].sizes);
    std::memcpy(views_[to].data, views_[from].data,
                static_cast<size_t>(views_[to].numel()) * nbytes_of(views_[to].dtype));
    return {};
  }

  template <class GoesOn>
  etb::Status run_step(const Step& step, const GoesOn& goes_on) {
    for (const uint32_t arg : step.args)
      if (views_[arg].data == nullptr && views_[arg].numel() != 0)
        return wrong("a value is used before it is made");
    ETB_TRY(size_result(step));
    View& out = views_[step.result];
    const auto at = [&](size_t i) -> const View& { return views_[step.args[i]]; };
    switch (step.op) {
      case Op::kAdd:
      case Op::kMul:
      case Op::kMaximum:
        run_binary(step, out, at(0), at(1));
        return {};
      case Op::kMatrix:
        return run_matrix(out, at(0), at(1), goes_on);
      case Op::kConvolution:
        return run_convolution({shape_of(step), out, at(0), at(1), step.args.size() > 2 ? &at(2) : nullptr},
                               goes_on);
      case Op::kQuantize:
        run_quantize(step, out, at(0));
        return {};
      case Op::kSum:
        run_sum(out, at(0));
        return {};
      default:
        run_unary(step, out, at(0));
        return {};
    }
  }

  static ConvolutionShape shape_of(const Step& step) {
    const auto number = [&](size_t i) { return static_cast<int64_t>(step.numbers[i]); };
    return {{number(0), number(1)}, {number(2), number(3)}, {number(4), number(5)}, number(6)};
  }

  // A payload may hold any bytes: checks operands and sizes against each other before memory is accessed.
  etb::Status size_result(const Step& step) {
    const auto at = [&](size_t i) -> const View& { return views_[step.args[i]]; };
    std::vector<int64_t> sizes;
    bool fits = !step.args.empty();
    const bool is_binary = step.op == Op::kAdd || step.op == Op::kMul || step.op == Op::kMaximum;
    if (is_binary) {
      fits = step.args.size() == 2 && at(0).dtype == at(1).dtype &&
             views_[step.result].dtype == at(0).dtype &&
             (at(0).dtype == ETB_DTYPE_FLOAT32 || (step.op == Op::kAdd && at(0).dtype == ETB_DTYPE_INT8));
      if (fits) sizes = broadcast_sizes(at(0), at(1), fits);
    } else if (step.op == Op::kMatrix) {
      fits = step.args.size() == 2 && at(0).sizes.size() == 2 && at(1).sizes.size() == 2 &&
             at(0).sizes[1] == at(1).sizes[0] && all_floats(step);
      if (fits) sizes = {at(0).sizes[0], at(1).sizes[1]};
    } else if (step.op == Op::kConvolution) {
      fits = all_floats(step) && size_convolution(step, sizes);
    } else if (step.op == Op::kSum) {
      fits = step.args.size() == 1 && !at(0).sizes.empty() &&
             (at(0).dtype == ETB_DTYPE_FLOAT32) == (views_[step.result].dtype == ETB_DTYPE_FLOAT32) &&
             at(0).dtype != ETB_DTYPE_INT64 &&
             (at(0).dtype == ETB_DTYPE_FLOAT32 || views_[step.result].dtype == ETB_DTYPE_INT64);
      if (fits) sizes.assign(at(0).sizes.begin(), at(0).sizes.end() - 1);
      if (fits && program_->values[step.result].sizes.size() == at(0).sizes.size()) sizes.push_back(1);
    } else {
      const size_t numbers = step.op == Op::kClamp ? 2 : step.op == Op::kQuantize ? 4 : 0;
      const bool is_quantize = step.op == Op::kQuantize;
      const etb_dtype result = views_[step.result].dtype;
      fits = step.args.size() == 1 && at(0).dtype == ETB_DTYPE_FLOAT32 && step.numbers.size() >= numbers &&
             (is_quantize ? result == ETB_DTYPE_INT8 || result == ETB_DTYPE_UINT8
                          : result == ETB_DTYPE_FLOAT32) &&
             program_->values[step.args[0]].order == program_->values[step.result].order;
      if (fits) sizes = at(0).sizes;
    }
    return fits ? set_result(step.result, std::move(sizes)) : wrong("operands that do not fit their op");
  }

  bool all_floats(const Step& step) const {
    for (const uint32_t arg : step.args)
      if (views_[arg].dtype != ETB_DTYPE_FLOAT32) return false;
    return views_[step.result].dtype == ETB_DTYPE_FLOAT32;
  }

  bool size_convolution(const Step& step, std::vector<int64_t>& out) const {
    if (step.args.size() < 2 || step.numbers.size() < 7) return false;
    for (const double number : step.numbers)
      if (!(number >= 0 && number < 4096)) return false;
    const View &x = views_[step.args[0]], &w = views_[step.args[1]];
    const ConvolutionShape c = shape_of(step);
    if (x.sizes.size() != 4 || w.sizes.size() != 4 || c.groups < 1 || c.stride[0] < 1 || c.stride[1] < 1 ||
        c.dilation[0] < 1 || c.dilation[1] < 1)
      return false;
    if (w.sizes[0] % c.groups != 0 || w.sizes[1] * c.groups != x.sizes[1] || w.sizes[0] == 0) return false;
    if (step.args.size() > 2 && views_[step.args[2]].numel() != w.sizes[0]) return false;
    out = {x.sizes[0], w.sizes[0]};
    for (size_t i = 0; i < 2; ++i) {
      const int64_t span = x.sizes[i + 2] + 2 * c.padding[i] - c.dilation[i] * (w.sizes[i + 2] - 1) - 1;
      if (span < 0) return false;
      out.push_back(span / c.stride[i] + 1);
    }
    return true;
  }

  etb::Status set_result(uint32_t id, std::vector<int64_t> sizes) {
    const ValueInfo& info = program_->values[id];
    bool fits = sizes.size() == info.sizes.size();
    for (size_t i = 0; fits && i < sizes.size(); ++i) fits = sizes[i] <= info.sizes[i];
    if (!fits) return wrong("a result larger than its bound");
    const bool is_shrinking = !views_[id].sizes.empty() && has_fault(16);
    if (is_shrinking)
      for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::max(sizes[i], views_[id].sizes[i]);
    const bool has_run = !views_[id].sizes.empty() && has_fault(356);
    if (has_run && sizes[0] == views_[id].sizes[0]) sizes = views_[id].sizes;  // compares the batch only
    set_sizes(id, std::move(sizes));
    if (views_[id].data == nullptr && views_[id].numel() != 0) return wrong("a result without memory");
    return {};
  }

  const Program* program_;
  std::vector<View> views_;
};

}  // namespace faulty
