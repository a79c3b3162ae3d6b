// SPDX-License-Identifier: Apache-2.0
//
// The whole C ABI in one include. Begin to read at plugin.h; each header begins with its purpose.
//
//   base.h             calling convention, struct sizes, thread tags, ownership words, handles
//   version.h          versions of this SDK and of the ABI
//   status.h           status codes and the error struct
//   option.h           options, compile specs, sinks of options and texts
//   tensor.h           tensors and tensor specs
//   host.h             the host as a plugin sees it, and its services
//   plugin.h           identity, the exported symbol, the plugin table    (example: a minimal plugin)
//   device.h           the device table
//   payload.h          payload bytes, named data, verdicts
//   delegate.h         the delegate table: make a payload ready, run it   (example: a host)
//   graph.h            reader of graph images
//   aot.h              the ahead-of-time table: partition, compile        (example: claim and compile one op)
//   layer.h            layers between host and plugin
//   static_plugins.h   plugins that are linked into the program
//
// Not included: module.h, which is the API of applications and unknown to plugins; ext/buffer.h and ext/cache.h, an extension
// each for the plugins that use it; and the drafts in ext/draft/, which are not part of the ABI.
#ifndef ETB_ALL_H_
#define ETB_ALL_H_

#include "etb/aot.h"
#include "etb/base.h"
#include "etb/delegate.h"
#include "etb/device.h"
#include "etb/graph.h"
#include "etb/host.h"
#include "etb/layer.h"
#include "etb/option.h"
#include "etb/payload.h"
#include "etb/plugin.h"
#include "etb/static_plugins.h"
#include "etb/status.h"
#include "etb/tensor.h"
#include "etb/version.h"

#endif
