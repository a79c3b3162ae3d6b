// Answers and artifacts as bytes, for a plugin that runs in another process. The reader trusts no byte: the plugin's code ran
// where they were written.
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
// As many artifacts as regions; blobs as ArtifactCollector promises them: keys once, those that artifacts name are there,
// constants exist.
[[nodiscard]] Result<Compiled> read_compiled(std::span<const std::byte> bytes, size_t region_count,
                                             const ConstantKeys& constants);

}  // namespace etb::partition
