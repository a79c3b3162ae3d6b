// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/empty_forms.hpp"

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

}  // namespace

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
