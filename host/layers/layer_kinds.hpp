// SPDX-License-Identifier: Apache-2.0
// The kinds of layers. An application links the libraries of those in its table.
#pragma once

#include "host/layers/layer_kind.hpp"

namespace etb::host {

extern const LayerKind kTraceKind;     // etb::trace_layer
extern const LayerKind kValidateKind;  // etb::validate_layer
extern const LayerKind kFaultKind;     // etb::fault_layer
extern const LayerKind kCompareKind;   // etb::compare_layer

}  // namespace etb::host
