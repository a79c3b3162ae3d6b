// SPDX-License-Identifier: Apache-2.0
// Cases whose attributes, sizes and values come from covering designs, static and dynamic; one function per
// family of ops.
#pragma once

#include "conformance/cases/case.hpp"

namespace etb::conformance {

void add_designs(CaseList& out);  // calls the others

void add_unary_designs(CaseList& out);
void add_binary_designs(CaseList& out);
void add_scalar_designs(CaseList& out);
void add_ternary_designs(CaseList& out);
void add_activation_designs(CaseList& out);
void add_reduction_designs(CaseList& out);
void add_sorting_designs(CaseList& out);
void add_view_designs(CaseList& out);
void add_slice_designs(CaseList& out);
void add_join_designs(CaseList& out);
void add_arrangement_designs(CaseList& out);
void add_index_designs(CaseList& out);
void add_convolution_designs(CaseList& out);
void add_convolution_gradient_designs(CaseList& out);
void add_matrix_designs(CaseList& out);
void add_pool_designs(CaseList& out);
void add_adaptive_pool_designs(CaseList& out);
void add_norm_designs(CaseList& out);
void add_attention_designs(CaseList& out);
void add_quantised_designs(CaseList& out);
void add_quantised_layer_designs(CaseList& out);       // between codes
void add_code_arithmetic(CaseList& out);               // called by the one before
void add_quantised_function_designs(CaseList& out);    // tables, windows and movement between codes
void add_dynamic_quantisation_designs(CaseList& out);  // inputs quantised at run time
void add_shared_weights(CaseList& out);
void add_shared_codes(CaseList& out);   // called by the one before
void add_coded_readers(CaseList& out);  // patterns between codes with a value that something else reads
void add_many_run_designs(CaseList& out);
void add_padding_designs(CaseList& out);
void add_resampling_designs(CaseList& out);
void add_statistics_designs(CaseList& out);
void add_scatter_designs(CaseList& out);
void add_window_designs(CaseList& out);
void add_chain_designs(CaseList& out);   // two clamps, two orders, two scales; attributes
void add_fused_designs(CaseList& out);   // layers with a norm and a clamp after them
void add_reader_designs(CaseList& out);  // values with two readers, one of which fuses
void add_cached_attention_designs(CaseList& out);
void add_segment_designs(CaseList& out);           // segment_reduce
void add_recurrence_designs(CaseList& out);        // delta rule, Hadamard, experts
void add_quantised_weight_designs(CaseList& out);  // codes times floats, embeddings
void add_quantised_number_designs(CaseList& out);  // scales in tensors, sums of codes, scales of tokens
void add_creation_designs(CaseList& out);
void add_data_size_designs(CaseList& out);
void add_factor_designs(CaseList& out);  // factors of matrices, distances, histograms
void add_special_function_designs(CaseList& out);
void add_plain_designs(CaseList& out);      // equal sizes in all orders of runs, factors near 1, high ranks
void add_coded_limits(CaseList& out);       // long rows of softmax between codes, two limits
void add_wide_code_designs(CaseList& out);  // codes of 16 bits, alone and beside codes of 8 bits
void add_wide_designs(
    CaseList& out);  // wide rows, long integers, quotients next to an integer, one special number
void add_graph_shapes(CaseList& out);
void add_operand_lives(CaseList& out);     // several computed operands; nearly equal constants
void add_overflow_designs(CaseList& out);  // results above the largest number
void add_shortcut_designs(CaseList& out);  // forms for which shortcuts of compilers are wrong
void add_ragged_designs(CaseList& out);    // a few elements more than large blocks
void add_extreme_designs(CaseList& out);   // rows of the lowest number; padding_idx
void add_digit_designs(CaseList& out);     // attributes of more than six digits
void add_fused_step_designs(CaseList& out);  // two functions of single elements; rows whose largest number comes late
void add_coded_filters(CaseList& out);     // convolutions of floats with filters of codes, in groups

}  // namespace etb::conformance
