// SPDX-License-Identifier: Apache-2.0
// copy_record FROM TO: reads a record of a compilation with all its tensors, and writes it again. For
// tests/peer/check_etrecord.py, which compares both in the official reader.
#include <iostream>

#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/saved_values.hpp"

namespace {

using etb::Result;
using etb::Status;

Status copy_tensors(std::string& file) {
  if (file.empty()) return {};
  ETB_ASSIGN(const auto value, etb::record::read_saved_value(std::as_bytes(std::span(file))));
  ETB_ASSIGN(file, etb::record::write_saved_value(value));
  return {};
}

Status copy(const std::string& from, const std::string& to) {
  ETB_ASSIGN(etb::record::Record record, etb::record::read_record_file(from));
  ETB_TRY(copy_tensors(record.representative_inputs));
  ETB_TRY(copy_tensors(record.reference_outputs));
  record.program = etb::format::ProgramIdentity{"model.pte", std::string(64, 'a')};
  return etb::record::write_record_file(record, to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: copy_record FROM TO\n";
    return 2;
  }
  const Status copied = copy(argv[1], argv[2]);
  if (!copied) std::cerr << copied.error().message << '\n';
  return copied ? 0 : 1;
}
