// SPDX-License-Identifier: Apache-2.0
// Arguments of nodes that equal the defaults of the op's schema: a compiler may leave them out or spell them out.
#pragma once

#include "conformance/cases/mutable_graph.hpp"

namespace etb::conformance {

// Removes each argument that equals its default. Returns false if there is none.
bool leave_out_defaults(MutableGraph& graph);

// Adds each missing argument with its default, in the order of the schema. Returns false if none is missing.
bool spell_out_defaults(MutableGraph& graph);

}  // namespace etb::conformance
