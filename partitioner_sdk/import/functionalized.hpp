// SPDX-License-Identifier: Apache-2.0
// auto_functionalized: how PyTorch writes the call of a custom op that writes its arguments, after run_decompositions.
// The results of the call are followed by the new contents of the written tensors.
#pragma once

#include <string_view>

namespace etb::pt2 {

// True for both versions of the wrapper. auto_functionalized_v2 passes the written tensors as a list of bases, with an
// index for each argument; auto_functionalized passes them by name.
bool is_functionalized(std::string_view target);

}  // namespace etb::pt2
