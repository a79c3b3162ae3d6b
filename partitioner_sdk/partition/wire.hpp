// SPDX-License-Identifier: Apache-2.0
// Encodes answers and artifacts, for a plugin that runs in another process. The reader does not trust the
// bytes: the plugin's code ran in the process that wrote them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "partitioner_sdk/partition/compiler.hpp"

namespace etb::partition {

std::vector<std::byte> to_bytes(const std::vector<std::string>& texts);
std::vector<std::byte> to_bytes(const Answers& answers);
std::vector<std::byte> to_bytes(const Compiled& compiled);

[[nodiscard]] Result<std::vector<std::string>> read_texts(std::span<const std::byte> bytes);
[[nodiscard]] Result<Answers> read_answers(std::span<const std::byte> bytes);
// Expects as many artifacts as regions. Checks blobs as ArtifactCollector does: unique keys, keys of
// artifacts exist, constants exist.
[[nodiscard]] Result<Compiled> read_compiled(std::span<const std::byte> bytes, size_t region_count,
                                             const ConstantKeys& constants);

}  // namespace etb::partition
