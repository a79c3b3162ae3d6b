// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/format/output_file.hpp"
#include "partitioner_sdk/record/record.hpp"
#include "partitioner_sdk/record/record_entries.hpp"
#include "partitioner_sdk/record/stored_zip.hpp"

namespace etb::record {
namespace {

using Json = nlohmann::ordered_json;

// Limits of a zip file without the extension for large files.
constexpr uint64_t kMaxNbytes = UINT32_MAX, kMaxEntryCount = UINT16_MAX - 1;

// Returns the file that torch.save would write for this pickle.
std::string saved_object(std::string_view pickle) {
  StoredZip zip;
  zip.add("archive/data.pkl", pickle);
  zip.add("archive/byteorder", "little");
  zip.add("archive/version", "3\n");
  return zip.finish();
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

class Writer {
 public:
  Result<std::string> run(const Record& record) {
    ETB_TRY(check(record));
    add(kMarker,
        record.program
            ? text_of(Json{{"program", {{"name", record.program->name}, {"sha256", record.program->sha256}}}})
            : "");
    if (record.exported_program) add_program(std::string(kExportedProgram), *record.exported_program);
    for (const SavedProgram& program : record.edge_programs)
      add_program(std::string(kEdgeProgram) + (program.name.empty() ? "" : "/") + program.name, program);
    for (const SavedProgram& program : record.extra_programs) add_program(program.name, program);
    add_maps(record.methods);
    if (!record.reference_outputs.empty()) add(kReferenceOutputs, record.reference_outputs);
    if (!record.representative_inputs.empty()) add(kRepresentativeInputs, record.representative_inputs);
    add(kExportGraphId, std::to_string(record.export_graph_id));
    if (nbytes_ > kMaxNbytes || count_ > kMaxEntryCount)
      return make_error(Code::OUT_OF_RESOURCES, "a record of " + std::to_string(nbytes_) + " bytes in " +
                                                    std::to_string(count_) +
                                                    " entries, expected less than 4 GiB and 65535 entries");
    return zip_.finish();
  }

 private:
  static Status check(const Record& record) {
    if (record.methods.empty())
      return make_error(Code::INVALID_ARGUMENT, "a record without methods, expected the maps of one or more");
    for (const SavedProgram& program : record.extra_programs) ETB_TRY(check_extra_name(program.name));
    return {};
  }

  // Bytes that would not fit are counted and not stored.
  void add(std::string_view name, std::string_view data) {
    nbytes_ += data.size() + 2 * name.size() + 128;
    ++count_;
    if (nbytes_ <= kMaxNbytes && count_ <= kMaxEntryCount) zip_.add(name, data);
  }

  void add_program(const std::string& name, const SavedProgram& program) {
    add(name, program.json);
    add(name + std::string(kStateDict), program.state_dict.empty() ? empty_saved_dict() : program.state_dict);
    add(name + std::string(kConstants), program.constants.empty() ? empty_saved_dict() : program.constants);
    // Official readers understand an empty file as no inputs, and check others against the graph when it runs.
    add(name + std::string(kExampleInputs), program.example_inputs);
  }

  void add_maps(const std::vector<MethodMaps>& methods) {
    Json handles = Json::object(), delegates = Json::object(), counts = Json::object();
    for (const MethodMaps& method : methods) {
      Json& rows = handles[method.name] = Json::object();
      for (const auto& [instruction, found] : method.handles)
        rows[std::to_string(instruction)] =
            found.size() == 1 && !method.delegates.count(instruction) ? Json(found[0]) : Json(found);
      Json& calls = delegates[method.name] = Json::object();
      for (const auto& [instruction, call] : method.delegates) {
        Json names = Json::object();
        for (const auto& [name, found] : call.handles) names[name] = found;
        calls[std::to_string(instruction)] = {{"name", call.backend_id}, {"delegate_map", std::move(names)}};
      }
      Json& outputs = counts[method.name] = Json::object();
      for (const auto& [instruction, count] : method.output_counts)
        outputs[std::to_string(instruction)] = count;
    }
    add(kDebugHandleMap, text_of(handles));
    add(kDelegateMap, text_of(delegates));
    add(kOutputCounts, text_of(counts));
  }

  StoredZip zip_;
  uint64_t nbytes_ = 0, count_ = 0;
};

}  // namespace

// {}, in protocol 2.
std::string empty_saved_dict() { return saved_object(std::string_view("\x80\x02}q\x00.", 6)); }

const MethodMaps* Record::find_method(const std::string& name) const {
  const auto found = std::find_if(methods.begin(), methods.end(),
                                  [&](const MethodMaps& method) { return method.name == name; });
  return found == methods.end() ? nullptr : &*found;
}

const SavedProgram* Record::find_edge_program(const std::string& name) const {
  const auto found = std::find_if(edge_programs.begin(), edge_programs.end(), [&](const SavedProgram& edge) {
    return edge.name == name || edge.name.empty();
  });
  return found == edge_programs.end() ? nullptr : &*found;
}

Status check_extra_name(const std::string& name) {
  if (name.empty()) return make_error(Code::INVALID_ARGUMENT, "an extra module without a name");
  for (const std::string_view reserved : kReservedNames)
    if (name.find(reserved) != std::string::npos)
      return make_error(
          Code::INVALID_ARGUMENT,
          "extra module '" + name + "': the name contains the reserved name '" + std::string(reserved) + "'");
  return {};
}

Result<std::string> write_record(const Record& record) { return Writer().run(record); }

Status write_record_file(const Record& record, const std::string& path) {
  ETB_ASSIGN(const std::string bytes, write_record(record));
  return format::write_file(path, bytes);
}

}  // namespace etb::record
