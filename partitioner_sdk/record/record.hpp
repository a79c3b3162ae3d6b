// SPDX-License-Identifier: Apache-2.0
// The record of a compilation (.etrecord, ETRecord of ExecuTorch): the graphs of a program's methods, and the source
// nodes of its instructions. Written for the official `parse_etrecord`; read from all releases of ExecuTorch since 0.7
// and from this project.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/format/program_identity.hpp"
#include "etb/cpp/result.hpp"

namespace etb::record {

// A graph in torch.export's serialisation, schema 5, with the files of torch.save beside it. Releases before 0.4 have no
// example inputs.
struct SavedProgram {
  std::string
      name;  // of the method: "forward"; of an extra module: "stage/forward"; "" for an old file's only graph
  std::string json;
  std::string state_dict;
  std::string constants;
  std::string example_inputs;
  friend bool operator==(const SavedProgram&, const SavedProgram&) = default;
};

// Debug handles name nodes of the edge graph; several nodes may share one.
using Handles = std::vector<uint32_t>;

// A call of a delegate. Keys are names of its events, or their numbers as text.
struct DelegateCall {
  std::string backend_id;
  std::map<std::string, Handles> handles;
  friend bool operator==(const DelegateCall&, const DelegateCall&) = default;
};

// All by index of the instruction.
struct MethodMaps {
  std::string name;
  std::map<uint32_t, Handles> handles;
  std::map<uint32_t, DelegateCall> delegates;
  std::map<uint32_t, uint32_t> output_counts;  // of delegate calls
  friend bool operator==(const MethodMaps&, const MethodMaps&) = default;
};

struct Record {
  std::optional<format::ProgramIdentity> program;  // of the same compilation; official files do not have it
  std::optional<SavedProgram> exported_program;    // before decompositions, of the method "forward"
  std::vector<SavedProgram> edge_programs;         // by method
  std::vector<SavedProgram> extra_programs;
  std::vector<MethodMaps> methods;
  int64_t export_graph_id = 0;
  // Files of torch.save, or pickles of releases before 1.3: [value, ...] and {method: [[value, ...], ...]}; "" for none.
  std::string representative_inputs;
  std::string reference_outputs;
  friend bool operator==(const Record&, const Record&) = default;

  const MethodMaps* find_method(const std::string& name) const;
  const SavedProgram* find_edge_program(const std::string& name) const;
};

// Returns the bytes of a file. INVALID_ARGUMENT for an extra program whose name official readers refuse, and without
// maps of a method; OUT_OF_RESOURCES beyond the limits of a plain zip file.
[[nodiscard]] Result<std::string> write_record(const Record& record);

// Rejects an extra program whose name is empty, or contains a name that official readers reserve.
[[nodiscard]] Status check_extra_name(const std::string& name);

// Writes a temporary file and renames it.
[[nodiscard]] Status write_record_file(const Record& record, const std::string& path);

enum class Contents : uint8_t { kAll, kWithoutWeights };

// Verifies and reads a file. INVALID_DATA names the entry, what was found, and what was expected. Weights are large and
// no analysis of times needs them: without them `state_dict` and `constants` stay empty.
[[nodiscard]] Result<Record> read_record(std::span<const std::byte> file, Contents contents = Contents::kAll);
[[nodiscard]] Result<Record> read_record_file(const std::string& path, Contents contents = Contents::kAll);

// Returns the file that torch.save writes for an empty dict.
std::string empty_saved_dict();

}  // namespace etb::record
