// SHA-256 of a library file.
#pragma once

#include "host/registry/byte_source.hpp"
#include "host/registry/manifest.hpp"

namespace etb::host {

[[nodiscard]] Result<Sha256> sha256_of(const ByteSource& source);

}  // namespace etb::host
