// SPDX-License-Identifier: Apache-2.0
// One library in which any function can be broken. The environment names it, as table.function, and the way:
//
//   ETB_BROKEN_FUNCTION=device.close ETB_BROKEN_BY=abort
//
//   abort    the function ends the process
//   success  it returns ETB_OK (NULL where it returns a pointer) and does nothing
//   error    it returns ETB_INTERNAL with a text and does nothing
#pragma once

#include "etb/ext/buffer.h"
#include "etb/ext/draft/resign.h"
#include "etb/ext/draft/state.h"
#include "tests/conformance/fault_plugin/plugin.hpp"

namespace faulty {

struct ExtensionTables {
  etb_buffer_table buffer;
  etb_state_table state;
  etb_resign_table resign;
};
void break_extension(ExtensionTables& tables);

}  // namespace faulty
