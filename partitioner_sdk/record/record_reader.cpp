// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <set>

#include "api/format/hex.hpp"
#include "api/format/printable_text.hpp"
#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/record_entries.hpp"

namespace etb::record {
namespace {

using pt2::Json;
using pt2::JsonDocument;
using pt2::JsonKind;

// Handles count the nodes of a graph; instructions those of a method.
constexpr int64_t kMaxNumber = INT32_MAX;

std::string quoted(std::string_view text) { return "'" + format::made_printable(std::string(text)) + "'"; }

const char* kind_text(JsonKind kind) {
  switch (kind) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "a truth value";
    case JsonKind::kInt:
      return "a whole number";
    case JsonKind::kFloat:
      return "a number";
    case JsonKind::kString:
      return "a text";
    case JsonKind::kArray:
      return "a list";
    case JsonKind::kObject:
      return "an object";
  }
  return "?";
}

tl::unexpected<Error> unexpected_kind(Json found, const std::string& expected, const std::string& where) {
  return make_error(Code::INVALID_DATA,
                    where + ": found " + kind_text(found.kind()) + ", expected " + expected);
}

Result<uint32_t> read_number(Json json, const std::string& where) {
  const auto number = json.as_int();
  if (!number) return unexpected_kind(json, "a whole number", where);
  if (*number < 0 || *number > kMaxNumber)
    return make_error(Code::INVALID_DATA, where + ": found " + std::to_string(*number) + ", expected 0 to " +
                                              std::to_string(kMaxNumber));
  return static_cast<uint32_t>(*number);
}

// A number, a list of numbers, or null for none.
Result<Handles> read_handles(Json json, const std::string& where) {
  Handles out;
  if (json.kind() == JsonKind::kNull) return out;
  if (!json.is_array()) {
    ETB_ASSIGN(const uint32_t handle, read_number(json, where));
    out.push_back(handle);
    return out;
  }
  for (const Json item : json) {
    ETB_ASSIGN(const uint32_t handle, read_number(item, where));
    out.push_back(handle);
  }
  return out;
}

Result<uint32_t> read_instruction(std::string_view key, const std::string& where) {
  uint32_t number = 0;
  const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (failed != std::errc() || end != key.data() + key.size() || number > kMaxNumber)
    return make_error(Code::INVALID_DATA,
                      where + ": found the key " + quoted(key) + ", expected the index of an instruction");
  return number;
}

Result<DelegateCall> read_delegate(Json json, const std::string& where) {
  if (!json.is_object()) return unexpected_kind(json, "an object", where);
  DelegateCall call;
  const auto name = json["name"].as_string();
  if (!name) return unexpected_kind(json["name"], "the name of a backend", where + ", name");
  call.backend_id = *name;
  const Json names = json["delegate_map"];
  if (names.kind() == JsonKind::kNull) return call;
  if (!names.is_object()) return unexpected_kind(names, "an object", where + ", delegate_map");
  for (const Json row : names) {
    ETB_ASSIGN(Handles handles, read_handles(row, where + ", event " + quoted(row.key())));
    call.handles.emplace(row.key(), std::move(handles));
  }
  return call;
}

class Reader {
 public:
  Reader(const pt2::ZipArchive& zip, Contents contents) : zip_(zip), contents_(contents) {}

  Result<Record> run() {
    if (!zip_.find(kMarker))
      return make_error(Code::INVALID_DATA, "a zip file without the entry " + std::string(kMarker) +
                                                ", expected a record of a compilation");
    ETB_TRY(read_marker());
    for (const auto& [name, bytes] : zip_.records()) ETB_TRY(read_program(name, bytes));
    ETB_TRY(for_each_instruction(kDebugHandleMap, &Reader::add_handles));
    ETB_TRY(for_each_instruction(kDelegateMap, &Reader::add_delegate));
    ETB_TRY(for_each_instruction(kOutputCounts, &Reader::add_output_count));
    ETB_TRY(read_graph_id());
    record_.reference_outputs = bytes_of(kReferenceOutputs);
    record_.representative_inputs = bytes_of(kRepresentativeInputs);
    return std::move(record_);
  }

 private:
  using Add = Status (Reader::*)(MethodMaps& method, uint32_t instruction, Json json,
                                 const std::string& where);

  std::string bytes_of(std::string_view name) const {
    const auto found = zip_.find(name);
    return found ? std::string(reinterpret_cast<const char*>(found->data()), found->size()) : "";
  }

  Result<std::unique_ptr<JsonDocument>> parse(std::string_view name) const {
    auto document = JsonDocument::parse(bytes_of(name));
    if (!document)
      return tl::make_unexpected(with_context(std::move(document).error(), "entry " + quoted(name)));
    return document;
  }

  Status read_marker() {
    if (bytes_of(kMarker).empty()) return {};
    ETB_ASSIGN(const auto document, parse(kMarker));
    const Json program = document->root()["program"];
    if (!program.is_object()) return {};  // another writer's
    const auto name = program["name"].as_string(), sha256 = program["sha256"].as_string();
    if (!name || !sha256 || !format::parse_hex<32>(*sha256))
      return make_error(Code::INVALID_DATA, "entry '" + std::string(kMarker) +
                                                "', program: expected a name and the SHA-256 in 64 digits");
    record_.program = format::ProgramIdentity{std::string(*name), std::string(*sha256)};
    return {};
  }

  // Graphs are the entries with a state dict beside them, as in official readers.
  Status read_program(const std::string& name, std::span<const std::byte> bytes) {
    if (!zip_.find(name + std::string(kStateDict))) return {};
    SavedProgram program;
    program.json.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (contents_ == Contents::kAll) {
      program.state_dict = bytes_of(name + std::string(kStateDict));
      program.constants = bytes_of(name + std::string(kConstants));
    }
    program.example_inputs = bytes_of(name + std::string(kExampleInputs));
    const std::string prefix = std::string(kEdgeProgram) + "/";
    if (name == kExportedProgram) {
      record_.exported_program = std::move(program);
    } else if (name == kEdgeProgram) {
      record_.edge_programs.push_back(std::move(program));
    } else if (name.starts_with(prefix)) {
      program.name = name.substr(prefix.size());
      record_.edge_programs.push_back(std::move(program));
    } else {
      program.name = name;
      record_.extra_programs.push_back(std::move(program));
    }
    return {};
  }

  MethodMaps& method(std::string_view name) {
    const auto found = std::find_if(record_.methods.begin(), record_.methods.end(),
                                    [&](const MethodMaps& one) { return one.name == name; });
    if (found != record_.methods.end()) return *found;
    record_.methods.emplace_back().name = name;
    return record_.methods.back();
  }

  // An entry {"METHOD": {"INSTRUCTION": ...}}. Releases before 1.0 lack some of them.
  Status for_each_instruction(std::string_view entry, Add add) {
    if (!zip_.find(entry)) return {};
    ETB_ASSIGN(const auto document, parse(entry));
    const std::string where = "entry " + quoted(entry);
    if (document->root().kind() == JsonKind::kNull) return {};
    if (!document->root().is_object())
      return unexpected_kind(document->root(), "an object with a member for each method", where);
    for (const Json rows : document->root()) {
      const std::string of_method = where + ", method " + quoted(rows.key());
      MethodMaps& to = method(rows.key());
      if (rows.kind() == JsonKind::kNull) continue;
      if (!rows.is_object())
        return unexpected_kind(rows, "an object with a member for each instruction", of_method);
      for (const Json row : rows) {
        ETB_ASSIGN(const uint32_t instruction, read_instruction(row.key(), of_method));
        ETB_TRY(
            (this->*add)(to, instruction, row, of_method + ", instruction " + std::to_string(instruction)));
      }
    }
    return {};
  }

  Status add_handles(MethodMaps& to, uint32_t instruction, Json json, const std::string& where) {
    ETB_ASSIGN(to.handles[instruction], read_handles(json, where));
    return {};
  }
  Status add_delegate(MethodMaps& to, uint32_t instruction, Json json, const std::string& where) {
    ETB_ASSIGN(to.delegates[instruction], read_delegate(json, where));
    return {};
  }
  Status add_output_count(MethodMaps& to, uint32_t instruction, Json json, const std::string& where) {
    ETB_ASSIGN(to.output_counts[instruction], read_number(json, where));
    return {};
  }

  Status read_graph_id() {
    if (!zip_.find(kExportGraphId)) return {};
    ETB_ASSIGN(const auto document, parse(kExportGraphId));
    if (document->root().kind() == JsonKind::kNull) return {};
    const auto id = document->root().as_int();
    if (!id) return unexpected_kind(document->root(), "a whole number", "entry " + quoted(kExportGraphId));
    record_.export_graph_id = *id;
    return {};
  }

  const pt2::ZipArchive& zip_;
  const Contents contents_;
  Record record_;
};

}  // namespace

Result<Record> read_record(std::span<const std::byte> file, Contents contents) {
  ETB_ASSIGN(const pt2::ZipArchive zip, pt2::ZipArchive::open(file));
  return Reader(zip, contents).run();
}

Result<Record> read_record_file(const std::string& path, Contents contents) {
  ETB_ASSIGN(const auto file, pt2::MappedFile::open(path));
  auto record = read_record(file->bytes(), contents);
  if (!record)
    return tl::make_unexpected(
        with_context(std::move(record).error(), "'" + format::made_printable(path) + "'"));
  return record;
}

}  // namespace etb::record
