// The whole C ABI. Drafts (ext/draft/) are not part of it.
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
