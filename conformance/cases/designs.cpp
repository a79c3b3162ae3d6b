// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/designs.hpp"

#include <set>
#include <string>
#include <unordered_set>

#include "conformance/cases/design_dynamic_layouts.hpp"
#include "conformance/cases/empty_forms.hpp"

namespace etb::conformance {
namespace {

// Ops without a result, or without one that is a number, where the first dimension is empty: the extremes of all
// elements, statistics of a batch, factors of matrices, elements at positions of it.
const std::set<std::string> kNeedElements = {"aten._native_batch_norm_legit_functional.default",
                                             "aten._native_batch_norm_legit.no_stats",
                                             "aten.geqrf.default",
                                             "aten.index.Tensor",
                                             "aten.linalg_lu_factor_ex.default",
                                             "aten.max.default",
                                             "aten.min.default"};

}  // namespace

void add_designs(CaseList& out) {
  constexpr void (*kFamilies[])(CaseList&) = {add_unary_designs,
                                              add_binary_designs,
                                              add_scalar_designs,
                                              add_ternary_designs,
                                              add_activation_designs,
                                              add_reduction_designs,
                                              add_sorting_designs,
                                              add_view_designs,
                                              add_slice_designs,
                                              add_join_designs,
                                              add_arrangement_designs,
                                              add_index_designs,
                                              add_convolution_designs,
                                              add_convolution_gradient_designs,
                                              add_matrix_designs,
                                              add_pool_designs,
                                              add_adaptive_pool_designs,
                                              add_norm_designs,
                                              add_attention_designs,
                                              add_quantised_designs,
                                              add_quantised_layer_designs,
                                              add_quantised_function_designs,
                                              add_dynamic_quantisation_designs,
                                              add_shared_weights,
                                              add_coded_readers,
                                              add_coded_filters,
                                              add_shortcut_designs,
                                              add_operand_lives,
                                              add_overflow_designs,
                                              add_extreme_designs,
                                              add_digit_designs,
                                              add_fused_step_designs,
                                              add_ragged_designs,
                                              add_many_run_designs,
                                              add_padding_designs,
                                              add_resampling_designs,
                                              add_statistics_designs,
                                              add_scatter_designs,
                                              add_window_designs,
                                              add_fused_designs,
                                              add_reader_designs,
                                              add_chain_designs,
                                              add_dynamic_layout_designs,
                                              add_cached_attention_designs,
                                              add_segment_designs,
                                              add_recurrence_designs,
                                              add_quantised_weight_designs,
                                              add_quantised_number_designs,
                                              add_creation_designs,
                                              add_data_size_designs,
                                              add_factor_designs,
                                              add_special_function_designs,
                                              add_plain_designs,
                                              add_wide_designs,
                                              add_coded_limits,
                                              add_wide_code_designs,
                                              add_graph_shapes};
  CaseList made;
  for (const auto add : kFamilies) add(made);
  add_missing_empty_forms(made, kNeedElements);
  // Rows that differ only where an op or a dtype has no choice make equal cases.
  std::unordered_set<std::string_view> names;
  std::vector<Case> cases = made.take();
  names.reserve(cases.size());
  std::vector<bool> is_new;
  is_new.reserve(cases.size());
  for (const Case& item : cases) is_new.push_back(names.insert(item.name).second);
  for (size_t i = 0; i < cases.size(); ++i)
    if (is_new[i]) out.add(std::move(cases[i]));
}

}  // namespace etb::conformance
