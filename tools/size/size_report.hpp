// SPDX-License-Identifier: Apache-2.0
// The bytes of a program (.pte) or archive (.pt2): parts of the file, and each stored tensor with its module, the
// operators that read it, and its duplicates.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"
#include "tools/program_info/program_report.hpp"

namespace etb::tools {

// A part of the file. The parts of a file have its size as their sum.
struct SizePart {
  std::string name;
  uint64_t nbytes = 0;
};

// Bytes that are stored once: a constant of kernels, an initial value of state, the payload of a delegate, a record
// of named data.
struct SizeItem {
  std::string kind;    // "constant", "state", "payload", "named data"
  std::string name;    // name in the model; for a part of a program without one: what it is
  std::string target;  // name of the parameter or buffer in the user's module: "layer1.conv.weight"
  std::string module;  // "layer1.conv"; "" at the top, or unknown
  std::string dtype;   // of a tensor
  std::vector<int64_t> shape;
  uint64_t nbytes = 0;
  std::vector<std::string> operators;  // that read it, each once, sorted
  std::string digest;                  // SHA-256 of the bytes
  bool is_tensor() const { return !dtype.empty(); }
};

// Items with equal bytes.
struct SizeDuplicates {
  uint64_t nbytes = 0;  // of one
  std::vector<size_t> items;
  uint64_t wasted_nbytes() const { return nbytes * (items.size() - 1); }
};

struct SizeReport {
  std::string file;
  std::string kind;  // "program", "archive"
  uint64_t nbytes = 0;
  std::vector<SizePart> parts;                      // largest first
  std::vector<SizeItem> items;                      // largest first
  std::map<std::string, uint64_t> calls;            // of each operator
  std::map<std::string, std::string> module_types;  // "layer1.conv": "torch.nn.modules.conv.Conv2d"
  std::vector<SizeDuplicates> duplicates;           // most wasted bytes first
  bool has_modules = false;                         // false: a program whose modules are not known
};

// `model` names the constants of the program whose bytes are those of one of its own; may be null.
SizeReport measure_program(const ProgramFile& file, const ir::Module* model);
SizeReport measure_archive(const ir::Module& module, std::string path, uint64_t nbytes);

// A row of a table: all items of a module, of an operator.
struct SizeGroup {
  std::string name;
  std::string type;  // of a module
  uint64_t nbytes = 0;
  uint64_t items = 0;
  uint64_t calls = 0;  // of an operator
};

// Groups by module, at most `depth` names deep; 0: in full. Items without one are in groups of their kind.
std::vector<SizeGroup> by_module(const SizeReport& report, uint32_t depth);
// Groups by the operators that read an item. Several operators are one group, so that the sum is that of the items.
std::vector<SizeGroup> by_operator(const SizeReport& report);

struct SizeView {
  std::string by = "all";  // all, part, module, operator, constant
  uint32_t top = 10;       // rows of a table as text; 0: all
  uint32_t depth = 0;
};

std::string size_text(const SizeReport& report, const SizeView& view);
std::string size_csv(const SizeReport& report, const SizeView& view);
// All of it. `tensor_data`, `delegate_blob_data` and `overview` have the names of ExecuTorch's size_analysis_tool.
nlohmann::ordered_json size_json(const SizeReport& report, const SizeView& view);

}  // namespace etb::tools
