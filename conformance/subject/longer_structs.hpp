// SPDX-License-Identifier: Apache-2.0
// A host of a later minor version: every struct that it passes is longer than this version's, and so is the distance
// between the elements of its arrays (ABI-SIZE-02, ABI-SIZE-04). Two hints follow the options.
#pragma once

#include "etb/plugin.h"

namespace etb::conformance {

// Functions of a library's tables that pass longer structs. One library of a process at a time.
class LongerStructs {
 public:
  // Replaces the tables in `table` by copies whose functions pass longer structs. `this` outlives their use.
  void wrap(etb_plugin_table& table);

 private:
  etb_plugin_table plugin_{};  // the library's own
  etb_device_table device_{};
  etb_delegate_table delegate_{};
  etb_aot_table aot_{};
};

}  // namespace etb::conformance
