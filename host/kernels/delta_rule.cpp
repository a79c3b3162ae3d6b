// SPDX-License-Identifier: Apache-2.0
// llama::gated_delta_rule, the recurrence of linear attention: each token lets the state decay, corrects what the state predicts
// for its key by a part of the error, and reads the state with its query.
#include <algorithm>
#include <initializer_list>

#include "host/kernels/dims.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/llama/channelwise_gated_delta_rule.hpp"
#include "ops/llama/gated_delta_rule.hpp"

namespace etb::host {
namespace {

using Arguments = ops::llama::gated_delta_rule_out<KernelArguments>;

// Bounds the work for one token and one row of a state.
constexpr int64_t kLargestHead = 4096;

bool has_sizes(const Tensor& tensor, std::initializer_list<int64_t> sizes) {
  return std::equal(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin(), sizes.end());
}

etb_status check(KernelContext& context, const Arguments& args) {
  const Tensor &query = args.query(), &key = args.key(), &value = args.value();
  for (const Tensor* tensor : {&query, &key, &value, &args.decay(), &args.beta(), &args.initial_state()}) {
    if (tensor->dtype() != Dtype::FLOAT32 || !tensor->is_contiguous())
      return context.fail(ETB_INVALID_TYPE, "an argument is %s, expected contiguous float32",
                          to_text(tensor->dtype()));
  }
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4) {
    return context.fail(ETB_INVALID_ARGUMENT, "query, key and value of ranks %d, %d and %d, expected 4",
                        query.rank(), key.rank(), value.rank());
  }
  const int64_t batch = key.size(0), heads = key.size(1), tokens = key.size(2), rows = key.size(3),
                columns = value.size(3);
  const bool has_decay = has_sizes(args.decay(), {batch, heads, tokens, rows}) ||
                         has_sizes(args.decay(), {batch, heads, tokens});
  const bool is_matching = heads > 0 && query.size(1) % heads == 0 &&
                           has_sizes(query, {batch, query.size(1), tokens, rows}) &&
                           has_sizes(value, {batch, heads, tokens, columns}) && has_decay &&
                           has_sizes(args.beta(), {batch, heads, tokens}) &&
                           has_sizes(args.initial_state(), {batch, heads, rows, columns});
  if (!is_matching) {
    return context.fail(ETB_INVALID_ARGUMENT, "sizes do not agree: query %s, key %s, value %s",
                        SizesText(query.sizes()).text, SizesText(key.sizes()).text,
                        SizesText(value.sizes()).text);
  }
  if (rows <= kLargestHead && columns <= kLargestHead) return ETB_OK;
  return context.fail(ETB_NOT_SUPPORTED, "heads of %lld and %lld elements, expected at most %lld",
                      static_cast<long long>(rows), static_cast<long long>(columns),
                      static_cast<long long>(kLargestHead));
}

// The state of one head, [rows, columns].
struct State {
  float* data;
  int64_t rows, columns;

  // The state decays by a factor a row (decay_step 1) or by one factor (0); out = key x state.
  etb_status decay_and_read(KernelContext& context, const float* decay, int64_t decay_step, const float* key,
                            float* out) const {
    std::fill(out, out + columns, 0.0f);
    for (int64_t k = 0; k < rows; ++k) {
      if (context.should_stop(columns)) return context.stopped();
      float* row = data + k * columns;
      const float factor = decay[k * decay_step], weight = key[k];
      for (int64_t v = 0; v < columns; ++v) {
        row[v] *= factor;
        out[v] += row[v] * weight;
      }
    }
    return ETB_OK;
  }

  etb_status add(KernelContext& context, const float* key, const float* delta) const {
    for (int64_t k = 0; k < rows; ++k) {
      if (context.should_stop(columns)) return context.stopped();
      float* row = data + k * columns;
      for (int64_t v = 0; v < columns; ++v) row[v] += key[k] * delta[v];
    }
    return ETB_OK;
  }

  etb_status read(KernelContext& context, const float* query, float* out) const {
    std::fill(out, out + columns, 0.0f);
    for (int64_t k = 0; k < rows; ++k) {
      if (context.should_stop(columns)) return context.stopped();
      const float* row = data + k * columns;
      for (int64_t v = 0; v < columns; ++v) out[v] += row[v] * query[k];
    }
    return ETB_OK;
  }
};

// One head of one batch; `head` counts the states.
etb_status run_head(KernelContext& context, const Arguments& args, int64_t head, float* delta) {
  const int64_t tokens = args.key().size(2), rows = args.key().size(3), columns = args.value().size(3);
  const int64_t group = args.query().size(1) / args.key().size(1);
  const bool is_channelwise = args.decay().rank() == 4;
  const State state{args.final_state_out().data_as<float>() + head * rows * columns, rows, columns};
  for (int64_t t = 0; t < tokens; ++t) {
    if (context.should_stop(columns + 1)) return context.stopped();
    const int64_t token = head * tokens + t;
    const float* key = args.key().data_as<float>() + token * rows;
    const float* decay = args.decay().data_as<float>() + token * (is_channelwise ? rows : 1);
    ETB_CHECK(state.decay_and_read(context, decay, is_channelwise, key, delta));
    const float* value = args.value().data_as<float>() + token * columns;
    const float beta = args.beta().data_as<float>()[token];
    for (int64_t v = 0; v < columns; ++v) delta[v] = (value[v] - delta[v]) * beta;
    ETB_CHECK(state.add(context, key, delta));
    for (int64_t i = 0; i < group; ++i) {
      const int64_t at = (head * group + i) * tokens + t;
      ETB_CHECK(state.read(context, args.query().data_as<float>() + at * rows,
                           args.out().data_as<float>() + at * columns));
    }
  }
  return ETB_OK;
}

etb_status gated_delta_rule_out(KernelContext& context, Arguments args) {
  ETB_CHECK(check(context, args));
  const Tensor &query = args.query(), &value = args.value(), &before = args.initial_state();
  const int64_t sizes[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  ETB_CHECK(resize_output(context, args.out(), sizes));
  ETB_CHECK(resize_output(context, args.final_state_out(), before.sizes()));
  for (const Tensor* out : {&args.out(), &args.final_state_out()}) {
    if (out->dtype() != Dtype::FLOAT32 || !out->is_contiguous())
      return context.fail(ETB_INVALID_TYPE, "an output is %s, expected contiguous float32",
                          to_text(out->dtype()));
  }
  ETB_CHECK(copy_tensor(context, before, args.final_state_out()));
  if (args.final_state_out().numel() == 0 && args.out().numel() == 0) return ETB_OK;
  float* delta = context.allocate_array<float>(value.size(3));
  if (delta == nullptr) return context.fail_scratch(static_cast<uint64_t>(value.size(3)) * sizeof(float));
  for (int64_t head = 0; head < value.size(0) * value.size(1); ++head)
    ETB_CHECK(run_head(context, args, head, delta));
  return ETB_OK;
}

constexpr Kernel kRows[] = {
    kernel_row<ops::llama::gated_delta_rule_out, gated_delta_rule_out>(),
    kernel_row<ops::llama::channelwise_gated_delta_rule_out, gated_delta_rule_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(delta_rule, kRows);

}  // namespace etb::host
