// SPDX-License-Identifier: Apache-2.0
// content_name(): names contents by their bytes: equal bytes have equal names, unequal bytes different ones.
// Weights are most of every compiled file, so this is several times faster than SHA-256.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace etb::format {

// Returns 64 hexadecimal digits. Reduces each kilobyte to 32 bytes by two sums of products with fixed numbers
// (NH as in UMAC). UMAC's authors prove that two texts agree in both sums with a probability of 2^-128. The
// name is the SHA-256 of these and the length. The numbers are not secret, so an attacker can make two
// contents with one name. The name distinguishes contents; it does not authenticate them.
std::string content_name(std::span<const std::byte> bytes);

}  // namespace etb::format
