// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/designs.hpp"

#include <string>
#include <unordered_set>

namespace etb::conformance {

void add_designs(CaseList& out) {
  CaseList made;
  add_unary_designs(made);
  add_binary_designs(made);
  add_scalar_designs(made);
  add_ternary_designs(made);
  add_reduction_designs(made);
  add_sorting_designs(made);
  add_view_designs(made);
  add_slice_designs(made);
  add_join_designs(made);
  add_arrangement_designs(made);
  add_index_designs(made);
  add_layer_designs(made);
  add_graph_shapes(made);
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
