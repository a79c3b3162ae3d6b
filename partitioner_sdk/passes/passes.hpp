// SPDX-License-Identifier: Apache-2.0
// The passes that need nothing but the module, in the order of the pipeline. pipeline.cpp names them; each is in
// the file of that name. Each returns true when it changed something.
#pragma once

#include "partitioner_sdk/ir/module.hpp"

namespace etb::passes {

// Computes the functions of torch.vmap (and of associative_scan, which uses it) on whole batches. Only elementwise ops
// may be inside; the error names another one.
[[nodiscard]] Result<bool> batch_vmaps(ir::Module& module);

// Replaces the updates of caches of ExecuTorch's language models by writes of ATen: llama.update_cache ->
// index_put_ of the rows from start_pos on, and llama.sdpa_with_kv_cache -> two of them and custom_sdpa. The
// emitter writes such rows in place (emit/in_place.hpp). A negative start_pos counts from the end of the cache, as
// indices do; custom_sdpa rejects it.
[[nodiscard]] Result<bool> expand_cache_updates(ir::Module& module);

// Replaces the in-place ops of a torch.export graph by their functional forms. Views of a written value are
// recomputed from the new value. New contents of buffers and inputs become outputs. The error lists every
// write that cannot be expressed, with its source.
[[nodiscard]] Result<bool> functionalize(ir::Module& module);

// Removes the nodes that check the result `info` of a factorisation (aten._linalg_check_errors), and sets the argument
// check_errors of the factorisation instead, so that its kernel fails. A factorisation without a used result is not run.
[[nodiscard]] Result<bool> absorb_factorization_checks(ir::Module& module);

// Computes with complex tensors as pairs of real ones: constants and state become tensors with one more dimension
// of size 2, and arithmetic on complex values becomes arithmetic on their parts. Complex are only the user's inputs
// and outputs, and operands and results of Fourier transforms. The error lists every op that has no formula for
// complex numbers.
[[nodiscard]] Result<bool> lower_complex(ir::Module& module);

// Removes nodes that no output needs, then unused parameters, buffers and constants, then constants without
// input. User inputs stay: callers pass them by position.
[[nodiscard]] Result<bool> remove_dead_code(ir::Module& module);

// Turns masks of attention that was not decomposed into values that are added to the scores. A mask of bools
// becomes 0 where it is true and -inf elsewhere, as in PyTorch. is_causal over a number of rows that changes
// between runs becomes such a mask, because no constant can hold it. A plugin that claims whole attention
// then sees one kind of mask, and layers that read the same mask share its conversion (merge_equal_nodes).
[[nodiscard]] Result<bool> make_masks_additive(ir::Module& module);

// Replaces sizes by simpler ones that a view or a sum proves equal. torch.export writes -u0 + max(u0, min(u0 + s0, 24)) for a
// slice from u0 to u0 + s0, and a view of it to [1, s0, 1]: the slice has s0 rows. Bounds of both are then equal too, so
// that a plugin, which sees bounds, accepts sums of such tensors. Strides are recomputed by views_to_copies.
[[nodiscard]] Result<bool> simplify_equal_sizes(ir::Module& module);

// Completes the rank of the rows that index_put writes: index_put by one index of rank 1 whose values lack
// leading dimensions of size 1 -> the same with a view that adds them. index_put into a copy, which archives have for
// custom ops that write, becomes index_put into the original: it does not change its operand. torch.export removes them for
// cache[:, :, at] = new. The official runtime's kernel for in-place writes (emit/in_place.hpp) requires them.
[[nodiscard]] Result<bool> complete_row_updates(ir::Module& module);

// Replaces every view by the op that copies, as the edge dialect requires: permute by permute_copy.
// Afterwards all tensors are dense, and strides are recomputed.
[[nodiscard]] Result<bool> views_to_copies(ir::Module& module);

// Replaces a number by a 0-d constant, an input of the graph, where the signature requires a tensor. Casts
// then give the operands of arithmetic one dtype, as in the official edge program.
[[nodiscard]] Result<bool> scalars_to_tensors(ir::Module& module);

// Replaces ops with a memory format by ops with a dim order, as the edge dialect requires: clone, _to_copy
// and empty become dim_order_ops.
[[nodiscard]] Result<bool> use_dim_order_ops(ir::Module& module);

// Common subexpressions: keeps one of several nodes with the same op and arguments. A device, a layout and a
// dtype that the result has anyway count as equal to none: exporters write them, decompositions do not.
[[nodiscard]] Result<bool> merge_equal_nodes(ir::Module& module);

// Decomposes torchao's block-wise quantisation in nodes that no plugin claimed: choose_qparams_affine,
// quantize_affine and dequantize_affine become arithmetic of the edge dialect, which the portable kernels
// run.
[[nodiscard]] Result<bool> lower_affine(ir::Module& module);

// Computes remainders of integers with ops on which all runtimes agree: a % b -> a - floor(a / b) * b for
// signed integers. The official runtime's kernel rounds towards zero (executorch 1.5.1), so that it computes
// -2 for -5 % 3.
[[nodiscard]] Result<bool> lower_remainders(ir::Module& module);

// Sorts and medians in ops that every runtime has a kernel for: sort -> topk of all elements. The official
// runtime has no kernel for aten.sort and aten.median. PyTorch keeps the order of equal elements; topk may
// not. Indices that are used are therefore sorted again, by the group of equal elements and then by index. A
// sort of sizes that may be 0 stays.
[[nodiscard]] Result<bool> lower_sorts(ir::Module& module);

// Makes every tensor inside the graph row-major, as the portable kernels require. Inputs in another order are
// copied once at the border. Constants keep their strides: they are written row-major into the program
// (ir::Constant::dense_bytes).
[[nodiscard]] Result<bool> make_row_major(ir::Module& module);

// Computes quantised layers with integers: dequantize -> convolution, linear layer, average, maximum, sum, product or softmax
// -> clamps and views -> quantize becomes one node of cortex_m. Clamps and views between tensors of one scale move to the codes. Other patterns stay in float.
// Images between these nodes have their channels last.
[[nodiscard]] Result<bool> use_integer_kernels(ir::Module& module);

// Folds a batch norm after a convolution with a constant weight into weight and bias. fold_constants computes
// the new constants.
[[nodiscard]] Result<bool> fold_batch_norm(ir::Module& module);

// Permutes, reshapes and squeezes constants: the constant gets new sizes and strides, its bytes do not move.
// A weight that another node reads in the stored order keeps its order; the product is transposed instead.
[[nodiscard]] Result<bool> fold_constant_views(ir::Module& module);

}  // namespace etb::passes
