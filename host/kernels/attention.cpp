// SPDX-License-Identifier: Apache-2.0
// llama::custom_sdpa, custom_quantized_sdpa and sdpa_with_kv_cache: attention of ExecuTorch's language models. Dropout is
// ignored, because programs only infer.
#include "host/kernels/attention_tiles.hpp"
#include "host/kernels/cache_update.hpp"
#include "host/kernels/kernel.hpp"
#include "ops/llama/custom_quantized_sdpa.hpp"
#include "ops/llama/custom_sdpa.hpp"
#include "ops/llama/sdpa_with_kv_cache.hpp"

namespace etb::host {
namespace {

etb_status custom_sdpa_out(KernelContext& context, ops::llama::custom_sdpa_out<KernelArguments> args) {
  return run_attention(context,
                       {.query = {args.query()},
                        .key = {args.key()},
                        .value = {args.value()},
                        .start = args.start_pos(),
                        .mask = args.attn_mask(),
                        .is_causal = args.is_causal(),
                        .scale = args.scale()},
                       args.out());
}

etb_status custom_quantized_sdpa_out(KernelContext& context,
                                     ops::llama::custom_quantized_sdpa_out<KernelArguments> args) {
  const int sequence_dim = args.is_seq_at_dim_2() ? 2 : 1;
  return run_attention(context,
                       {.query = {args.query(), sequence_dim, args.q_scales(), args.q_zero_points()},
                        .key = {args.key(), sequence_dim, args.k_scales(), args.k_zero_points()},
                        .value = {args.value(), sequence_dim, args.v_scales(), args.v_zero_points()},
                        .start = args.start_pos(),
                        .mask = args.attn_mask(),
                        .is_causal = args.is_causal(),
                        .scale = args.scale()},
                       args.out());
}

// Stores keys and values in the caches first. Without a mask all queries up to seq_len are there.
etb_status sdpa_with_kv_cache_out(KernelContext& context,
                                  ops::llama::sdpa_with_kv_cache_out<KernelArguments> args) {
  Tensor &keys = args.key_cache(), &values = args.value_cache();
  const int64_t start = args.start_pos();
  if (args.query().rank() != 4 || args.seq_len() != args.query().size(1)) {
    return context.fail(ETB_INVALID_ARGUMENT, "a query %s with seq_len %lld",
                        SizesText(args.query().sizes()).text, static_cast<long long>(args.seq_len()));
  }
  ETB_CHECK(update_cache(context, args.key(), keys, start, nullptr));
  ETB_CHECK(update_cache(context, args.value(), values, start, nullptr));
  return run_attention(context,
                       {.query = {args.query()},
                        .key = {keys},
                        .value = {values},
                        .start = start,
                        .mask = args.attn_mask(),
                        .is_causal = args.is_causal(),
                        .scale = args.scale()},
                       args.out());
}

constexpr Kernel kRows[] = {
    kernel_row<ops::llama::custom_sdpa_out, custom_sdpa_out>(),
    kernel_row<ops::llama::custom_quantized_sdpa_out, custom_quantized_sdpa_out>(),
    kernel_row<ops::llama::sdpa_with_kv_cache_out, sdpa_with_kv_cache_out>(),
};

}  // namespace

ETB_PUBLISH_KERNELS(attention, kRows);

}  // namespace etb::host
