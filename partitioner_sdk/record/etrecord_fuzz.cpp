// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any bytes are rejected, or are a record that is written and read again without a difference. Its graphs
// and its tensors are rejected or read.
#include <cstdlib>

#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/recorded_nodes.hpp"
#include "partitioner_sdk/record/saved_values.hpp"

namespace {

void read_parts(const etb::record::Record& record) {
  for (const auto& program : record.edge_programs) static_cast<void>(etb::record::read_nodes(program));
  for (const std::string* tensors : {&record.representative_inputs, &record.reference_outputs})
    static_cast<void>(etb::record::read_saved_value(std::as_bytes(std::span(*tensors))));
  if (record.exported_program) static_cast<void>(etb::record::read_nodes(*record.exported_program));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t nbytes) {
  const auto record = etb::record::read_record(std::as_bytes(std::span(data, nbytes)));
  if (!record) return 0;
  read_parts(*record);
  const auto bytes = etb::record::write_record(*record);
  if (!bytes) return 0;
  const auto again = etb::record::read_record(std::as_bytes(std::span(*bytes)));
  if (!again || again->methods != record->methods || again->program != record->program ||
      again->edge_programs.size() != record->edge_programs.size())
    std::abort();
  return 0;
}
