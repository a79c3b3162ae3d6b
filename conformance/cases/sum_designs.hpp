// SPDX-License-Identifier: Apache-2.0
// The generators of ops with sums, windows and quantisation, each by designs over all attributes of its ops.
#pragma once

#include "conformance/cases/case.hpp"

namespace etb::conformance {

void add_convolution_designs(CaseList& out);
void add_matrix_designs(CaseList& out);
void add_pool_designs(CaseList& out);
void add_adaptive_pool_designs(CaseList& out);
void add_norm_designs(CaseList& out);
void add_attention_designs(CaseList& out);
void add_quantised_designs(CaseList& out);
void add_shared_weights(CaseList& out);

}  // namespace etb::conformance
