// SPDX-License-Identifier: Apache-2.0
// Hosts whose structs differ: longer ones of a later minor version, and wrong ones that a plugin must reject.
#pragma once

#include <cstddef>
#include <string>

#include "etb/plugin.h"

namespace etb::conformance {

enum class StructChange {
  // Every struct is longer than this version's, and so is the distance between the elements of arrays (ABI-SIZE-02,
  // ABI-SIZE-04). Two hints follow the options.
  kLonger,
  kFlag,      // one struct has a flag that no version has (ABI-TYPE-02)
  kReserved,  // a reserved field of one struct is not zero (ABI-TYPE-02)
  kShort,     // one struct, or the elements of one array, have the size of their head alone (ABI-SIZE-02)
};

// Changes to make, and those that were made.
struct StructChanges {
  StructChange change = StructChange::kLonger;

  // kFlag and others of one struct: the function that receives it, "" for none, and the number of the struct among those that
  // one call passes.
  std::string function = {};
  size_t index = 0;

  size_t count = 0;          // structs that the last call of the function passed
  std::string changed = {};  // the one that it changed; "" if that has no such field
};

// Functions of a library's tables that pass changed structs. One library of a process at a time.
class ChangedStructs {
 public:
  // Replaces the tables in `table` by copies whose functions pass changed structs. `this` and `changes` outlive their use.
  void wrap(etb_plugin_table& table, StructChanges& changes);

 private:
  etb_plugin_table plugin_{};  // the library's own
  etb_device_table device_{};
  etb_delegate_table delegate_{};
  etb_aot_table aot_{};
};

}  // namespace etb::conformance
