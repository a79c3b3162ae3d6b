// SPDX-License-Identifier: Apache-2.0
// Cases with dynamic sizes of which one becomes 0. Each op has one in the end: where the rows of its design have none,
// one is made from another row. The list of cases is made by one thread.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "conformance/cases/op_form.hpp"

namespace etb::conformance {

// Offers a way to add such a case of an op. The first one of float32 counts, else the first one.
void offer_empty_form(const std::string& op, bool is_float32, std::function<void(CaseList&)> add);
// False for a row of an op that takes an extreme or a position along its first dimension, which needs elements.
bool may_have_empty_first(const OpForm& form);
// The op has such a case.
void mark_empty_form(const std::string& op);
// Before the first family of a list.
void forget_empty_forms();
// Adds the offered cases of ops that have none, but not of the ops `without`. Forgets all offers.
void add_missing_empty_forms(CaseList& out, const std::set<std::string>& without);

}  // namespace etb::conformance
