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
void add_reduction_designs(CaseList& out);
void add_sorting_designs(CaseList& out);
void add_view_designs(CaseList& out);
void add_slice_designs(CaseList& out);
void add_join_designs(CaseList& out);
void add_arrangement_designs(CaseList& out);
void add_index_designs(CaseList& out);
void add_layer_designs(CaseList& out);
void add_graph_shapes(CaseList& out);

}  // namespace etb::conformance
