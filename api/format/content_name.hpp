// Names of contents: equal bytes have one, and unequal bytes another. Weights are the bulk of every file that a compiler writes, so this
// reads them several times as fast as SHA-256 does.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace etb::format {

// 64 hexadecimal digits. Each kilobyte is reduced to 32 bytes by two sums of products with fixed numbers (NH as in UMAC, whose
// authors prove that two texts meet in both with a chance of 2^-128), and SHA-256 of these and the length is the name. The numbers are
// no secret, so somebody who wants two contents of one name can make them: this tells contents apart, it proves nothing about who wrote them.
std::string content_name(std::span<const std::byte> bytes);

}  // namespace etb::format
