// SPDX-License-Identifier: Apache-2.0
// Compiled once per library: defines the number of its fault and of its variant.
#include "tests/conformance/fault_plugin/fault.hpp"

#ifndef ETB_FAULT
#define ETB_FAULT 0
#endif
#ifndef ETB_VARIANT
#define ETB_VARIANT 0
#endif

#if ETB_FAULT == 105
extern "C" int etb_function_of_the_program();
extern "C" int (*const etb_needed_function)() = &etb_function_of_the_program;
#endif

namespace faulty {
extern const int kFault = ETB_FAULT;
extern const int kVariant = ETB_VARIANT;
}  // namespace faulty
