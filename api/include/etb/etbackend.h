// SPDX-License-Identifier: Apache-2.0
//
// The API of applications in one include. Programs that link libetbackend use it; plugins do not (all.h).
//
//   library.h    version, log, last error, checked mode
//   registry.h   finds plugins, explains the choice, lists devices
//   recording.h  records what a module does, as an ETDump for `etbackend inspect` and ExecuTorch's Inspector
//   module.h     loads and runs programs (.pte), on plugins by name        (example: add two vectors)
//
// Link with `pkg-config --libs etbackend`, or CMake's etbackend::etbackend. In C++, cpp/module.hpp wraps it.
#ifndef ETB_ETBACKEND_H_
#define ETB_ETBACKEND_H_

#include "etb/library.h"
#include "etb/module.h"
#include "etb/recording.h"
#include "etb/registry.h"
#include "etb/version.h"

#endif
