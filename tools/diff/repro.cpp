// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/repro.hpp"

#include "api/format/output_file.hpp"
#include "conformance/report/repro.hpp"

namespace etb::diff {
namespace {

// Names of values may have any characters.
std::string file_name_of(const std::string& node) {
  std::string out = "diff.";
  for (const char c : node) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += is_plain ? c : '_';
  }
  return out.substr(0, 200);
}

const Side& wrong_side(const Comparison& comparison, const ResultComparison& result) {
  const bool is_b = result.b.verdict == Verdict::kWrong || comparison.a().plugin_id().empty();
  return is_b ? comparison.b() : comparison.a();
}

}  // namespace

Result<std::string> save_repro(const Comparison& comparison, const Location& location,
                               const std::string& folder) {
  const ResultComparison* const wrong = location.comparison.find_wrong();
  if (wrong == nullptr) return make_error(Code::INTERNAL, "a location without a wrong result");
  const Model& model = comparison.model();
  conformance::Repro repro;
  repro.suite_version = conformance::kSuiteVersion;
  repro.name = file_name_of(model.node_name(location.nodes.back()));
  repro.contract = "f32";
  repro.is_measured = true;
  const Side& side = wrong_side(comparison, *wrong);
  repro.plugin_id = side.plugin_id();
  repro.finding = side.name() + ": " + (wrong->b.text.empty() ? wrong->a.text : wrong->b.text);
  ETB_ASSIGN(graph::ImageBytes image, make_image(model, location.nodes, wrong->value));
  const auto bytes = image.span();
  conformance::SmallCase small{std::move(image), {{}}};
  const Part part = extract_part(model.fixed_module(), location.nodes, PartResults::kNeeded);
  for (const ir::ValueId id : part.operands) {
    const TensorData* const value = model.find_value(id);
    if (value == nullptr) return make_error(Code::INTERNAL, "an operand without a value");
    small.runs[0].push_back(*value);
  }
  ETB_TRY(conformance::make_folder(folder));
  const std::string place = folder + "/" + repro.name;
  ETB_TRY(format::write_file(place + ".etg",
                             std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  repro.small = std::move(small);
  ETB_TRY(format::write_file(place + ".json", conformance::to_json_text(repro)));
  return place + ".json";
}

}  // namespace etb::diff
