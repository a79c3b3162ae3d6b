// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/empty_forms.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace etb::conformance {
namespace {

struct Offer {
  std::function<void(CaseList&)> add;
  bool is_float32 = false, is_needed = true;
};

std::map<std::string, Offer>& offers() {
  static std::map<std::string, Offer> by_op;
  return by_op;
}

// Ops with an argument `dim` along which there must be elements.
const std::set<std::string> kNeedElementsOfDim = {"aten.amax.default",         "aten.amin.default",
                                                  "aten.argmax.default",       "aten.argmin.default",
                                                  "aten.index_select.default", "aten.max.dim",
                                                  "aten.median.dim",           "aten.min.dim",
                                                  "aten.select_copy.int",      "aten.select_scatter.default"};

}  // namespace

bool may_have_empty_first(const OpForm& form) {
  if (!kNeedElementsOfDim.contains(form.op)) return true;
  const auto is_first = [&](int64_t dim) {
    return dim == 0 || dim == -static_cast<int64_t>(form.operands[0].shape.sizes.size());
  };
  for (const graph::ArgumentDesc& arg : form.args) {
    if (arg.name != "dim") continue;
    if (arg.kind == ETB_GRAPH_ARGUMENT_INT) return !is_first(arg.as_int);
    if (arg.kind == ETB_GRAPH_ARGUMENT_INTS)
      return !arg.ints.empty() && std::none_of(arg.ints.begin(), arg.ints.end(), is_first);
  }
  return false;
}

void offer_empty_form(const std::string& op, bool is_float32, std::function<void(CaseList&)> add) {
  Offer& offer = offers()[op];
  if (offer.add && (offer.is_float32 || !is_float32)) return;
  offer.add = std::move(add);
  offer.is_float32 = is_float32;
}

void mark_empty_form(const std::string& op) { offers()[op].is_needed = false; }

void forget_empty_forms() { offers().clear(); }

void add_missing_empty_forms(CaseList& out, const std::set<std::string>& without) {
  for (const auto& [op, offer] : std::exchange(offers(), {}))
    if (offer.add && offer.is_needed && !without.contains(op)) offer.add(out);
}

}  // namespace etb::conformance
