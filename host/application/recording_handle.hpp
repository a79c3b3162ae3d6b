// SPDX-License-Identifier: Apache-2.0
// The object behind an etb_recording, for the parts of the C API that use one.
#pragma once

#include <memory>
#include <vector>

#include "etb/recording.h"
#include "host/application/handles.hpp"
#include "host/profile/etdump_recording.hpp"

struct etb_recording {
  std::unique_ptr<etb::host::EtdumpRecording> recording;
  std::vector<std::byte> bytes;  // of the latest etb_recording_bytes
};
