#include "tests/conformance/fault_plugin/fault.hpp"

#ifndef ETB_FAULT
#define ETB_FAULT 0
#endif
#ifndef ETB_VARIANT
#define ETB_VARIANT 0
#endif

namespace faulty {
extern const int kFault = ETB_FAULT;
extern const int kVariant = ETB_VARIANT;
}  // namespace faulty
