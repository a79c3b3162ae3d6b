// SPDX-License-Identifier: Apache-2.0
// Calls every function of a plugin's tables once: for tests of layers.
#pragma once

#include "host/testing/layer_fixture.hpp"

namespace etb::host {

// Calls each function of the started toy plugin, checks that it succeeds, and stops the plugin.
void call_every_function(LayerFixture& fixture);

// The same with a value for the option "gain".
constexpr double kEveryFunctionGain = 3;

}  // namespace etb::host
