// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/sum_designs.hpp"

#include "conformance/cases/generators.hpp"

namespace etb::conformance {

void add_sum_designs(CaseList& out) {
  add_convolution_designs(out);
  add_matrix_designs(out);
  add_pool_designs(out);
  add_adaptive_pool_designs(out);
  add_norm_designs(out);
  add_attention_designs(out);
  add_quantised_designs(out);
  add_shared_weights(out);
}

}  // namespace etb::conformance
