// SPDX-License-Identifier: Apache-2.0
// In the library `breakable`: changes one field of the structs that the plugin passes to its host. The environment names
// the field of answer_fields.def, the change, and the first answer that has it, counted from 1:
//
//   ETB_ANSWER_FIELD=etb_device_info.kind ETB_ANSWER_CHANGE=null ETB_ANSWER_FIRST=1
//
//   zero   numbers become 0, texts "", arrays of bytes all 0
//   more   numbers grow by 1, texts by a letter
//   less   numbers shrink by 1
//   most   numbers become the largest of their type, texts are not UTF-8
//   twice  numbers double
//   null   addresses become NULL
//
// Arrays change in their first element. A change that does not suit the field's type does nothing. With ETB_ANSWER_PROBE
// the process ends at the first change that has an effect.
#pragma once

#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {

void change_answers(Tables& tables);

}  // namespace faulty
