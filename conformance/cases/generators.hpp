// SPDX-License-Identifier: Apache-2.0
// The generators, one per family of ops. Each adds all its cases.
#pragma once

#include "conformance/cases/case.hpp"

namespace etb::conformance {

void add_elementwise(CaseList& out);  // calls the next five
void add_unary(CaseList& out);
void add_binary(CaseList& out);
void add_selection(CaseList& out);
void add_limited(CaseList& out);
void add_conversions(CaseList& out);
void add_reductions(CaseList& out);
void add_contractions(CaseList& out);
void add_movement(CaseList& out);
void add_normalisations(CaseList& out);
void add_pools(CaseList& out);
void add_quantized(CaseList& out);
void add_dynamic(CaseList& out);
void add_composite(CaseList& out);
void add_whole(CaseList& out);
void add_sampled(CaseList& out);
void add_view_chains(CaseList& out);
void add_models(CaseList& out);

}  // namespace etb::conformance
