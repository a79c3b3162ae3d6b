// SPDX-License-Identifier: Apache-2.0
#include "tools/diff_program/program_diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "api/format/tensor_layout.hpp"
#include "tools/diff_program/instruction_text.hpp"
#include "tools/diff_program/sequence_diff.hpp"
#include "tools/program_info/stored_bytes.hpp"
#include "tools/run/element.hpp"

namespace etb::tools {
namespace {

using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;
using format::InstructionKind;
using format::MethodView;

// Texts of one side that the other side has less often: the difference of two multisets, sorted.
std::vector<std::string> only_in(std::vector<std::string> texts, std::vector<std::string> others) {
  std::sort(texts.begin(), texts.end());
  std::sort(others.begin(), others.end());
  std::vector<std::string> out;
  std::set_difference(texts.begin(), texts.end(), others.begin(), others.end(), std::back_inserter(out));
  return out;
}

// Adds `name`_only_in_a and `name`_only_in_b where they are not empty.
void add_only_in(Json& out, const std::string& name, const std::vector<std::string>& a,
                 const std::vector<std::string>& b) {
  if (const auto only = only_in(a, b); !only.empty()) out[name + "_only_in_a"] = only;
  if (const auto only = only_in(b, a); !only.empty()) out[name + "_only_in_b"] = only;
}

template <class T>
void add_if_different(Json& out, const std::string& name, const T& a, const T& b) {
  if (a == b) return;
  out[name + "_a"] = a;
  out[name + "_b"] = b;
}

bool is_equal(Bytes a, Bytes b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// The elements in which two tensors of equal dtype and sizes differ.
Json diff_elements(const format::TensorRecord& tensor, Bytes a, Bytes b, uint32_t max_samples) {
  const auto dtype = static_cast<ops::Dtype>(tensor.dtype);
  const size_t width = std::max<size_t>(format::element_nbytes(tensor.dtype), 1);
  const size_t count = std::min(a.size(), b.size()) / width;
  uint64_t differing = 0;
  double largest = 0, sum = 0;
  Json samples = Json::array();
  for (size_t i = 0; i < count; ++i) {
    const std::byte *at_a = a.data() + i * width, *at_b = b.data() + i * width;
    if (std::equal(at_a, at_a + width, at_b)) continue;
    const double x = element_as_double(dtype, at_a), y = element_as_double(dtype, at_b);
    // Numbers that compare equal, such as -0 and 0, differ in their bytes.
    const double difference = x == y ? 0 : std::abs(x - y);
    ++differing;
    if (!std::isnan(difference)) largest = std::max(largest, difference), sum += difference;
    if (samples.size() < max_samples) samples.push_back({{"index", i}, {"a", x}, {"b", y}});
  }
  return {{"num_elements", count},
          {"num_differing", differing},
          {"max_abs_diff", largest},
          {"mean_abs_diff", count == 0 ? 0 : sum / static_cast<double>(count)},
          {"first_differences", std::move(samples)}};
}

// One method of both programs.
class MethodDiff {
 public:
  MethodDiff(const ProgramFile& file_a, const ProgramFile& file_b, const MethodView& a, const MethodView& b,
             const ProgramDiffOptions& options)
      : file_a_(file_a), file_b_(file_b), a_(a), b_(b), options_(options) {}

  Json run() {
    add_specs("inputs", a_.inputs(), b_.inputs());
    add_specs("outputs", a_.outputs(), b_.outputs());
    add_only_in(out_, "operators", operators_of(a_), operators_of(b_));
    add_only_in(out_, "delegates", delegates_of(a_), delegates_of(b_));
    add_if_different(out_, "non_const_buffer_sizes", arenas_of(a_), arenas_of(b_));
    add_if_different(out_, "value_count", a_.value_count(), b_.value_count());
    diff_instructions();
    return std::move(out_);
  }

 private:
  static std::vector<std::string> operators_of(const MethodView& method) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < method.operator_count(); ++i) out.push_back(operator_text(method.op(i)));
    return out;
  }
  static std::vector<std::string> delegates_of(const MethodView& method) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < method.delegate_count(); ++i) out.emplace_back(method.delegate(i).id());
    return out;
  }
  static std::vector<int64_t> arenas_of(const MethodView& method) {
    return {method.arena_sizes().begin(), method.arena_sizes().end()};
  }

  // Values of inputs or outputs, by position.
  void add_specs(const char* name, std::span<const int32_t> a, std::span<const int32_t> b) {
    Json changed = Json::array();
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const Json in_a = i < a.size() ? Json(value_text(a_, static_cast<uint32_t>(a[i]))) : Json();
      const Json in_b = i < b.size() ? Json(value_text(b_, static_cast<uint32_t>(b[i]))) : Json();
      if (in_a != in_b) changed.push_back({{"index", i}, {"a", in_a}, {"b", in_b}});
    }
    if (!changed.empty()) out_[name] = std::move(changed);
  }

  void diff_instructions() {
    const std::vector<PlacedInstruction> in_a = instructions_of(a_), in_b = instructions_of(b_);
    add_if_different(out_, "instruction_count", in_a.size(), in_b.size());
    const std::vector<std::string> texts_a = texts_of(a_, in_a), texts_b = texts_of(b_, in_b);
    const SequenceDiff diff = diff_sequences(texts_a, texts_b);
    Json changes = Json::array();
    const auto add = [&](const char* side, const PlacedInstruction& placed, const std::string& text) {
      changes.push_back(
          {{"only_in", side}, {"chain", placed.chain}, {"index", placed.index}, {"text", text}});
    };
    for (const size_t i : diff.only_in_a) add("a", in_a[i], texts_a[i]);
    for (const size_t i : diff.only_in_b) add("b", in_b[i], texts_b[i]);
    std::stable_sort(changes.begin(), changes.end(), [](const Json& x, const Json& y) {
      return std::pair(x["chain"], x["index"]) < std::pair(y["chain"], y["index"]);
    });
    if (!changes.empty()) out_["instructions"] = std::move(changes);
    for (const auto& [i, j] : diff.equal) diff_pair(in_a[i], in_b[j], texts_a[i]);
    if (!constants_.empty()) out_["constants"] = std::move(constants_);
    if (!payloads_.empty()) out_["payloads"] = std::move(payloads_);
    if (moved_ != 0) out_["tensors_at_other_offsets"] = moved_;
  }

  static std::vector<std::string> texts_of(const MethodView& method,
                                           const std::vector<PlacedInstruction>& instructions) {
    std::vector<std::string> out;
    for (const PlacedInstruction& each : instructions) out.push_back(instruction_text(method, each.view));
    return out;
  }

  // Two instructions that do the same: their constants, payloads and places in memory may differ.
  void diff_pair(const PlacedInstruction& a, const PlacedInstruction& b, const std::string& text) {
    const std::vector<uint32_t> tensors_a = tensors_of(a_, a.view), tensors_b = tensors_of(b_, b.view);
    for (size_t i = 0; i < std::min(tensors_a.size(), tensors_b.size()); ++i)
      diff_tensors(tensors_a[i], tensors_b[i], a, text.substr(0, text.find('(')));
    if (a.view.kind == InstructionKind::kDelegate) diff_delegates(a.view.a, b.view.a, a);
  }

  void diff_tensors(uint32_t value_a, uint32_t value_b, const PlacedInstruction& at,
                    const std::string& reader) {
    if (!seen_.emplace(value_a, value_b).second) return;
    const auto a = a_.value(value_a).as_tensor(), b = b_.value(value_b).as_tensor();
    if (std::pair(a.memory_id, a.memory_offset) != std::pair(b.memory_id, b.memory_offset)) ++moved_;
    const auto bytes_a = stored_bytes(file_a_, a), bytes_b = stored_bytes(file_b_, b);
    if (!bytes_a || !bytes_b || is_equal(*bytes_a, *bytes_b)) return;
    Json row{{"value_a", value_a}, {"value_b", value_b}, {"tensor", value_text(a_, value_a)},
             {"read_by", reader},  {"chain", at.chain},  {"instruction", at.index}};
    if (!a.name.empty()) row["name"] = a.name;
    row.update(diff_elements(a, *bytes_a, *bytes_b, options_.max_samples));
    constants_.push_back(std::move(row));
  }

  void diff_delegates(uint32_t index_a, uint32_t index_b, const PlacedInstruction& at) {
    if (!seen_delegates_.emplace(index_a, index_b).second) return;
    const auto a = a_.delegate(index_a), b = b_.delegate(index_b);
    const Bytes bytes_a = payload_bytes(file_a_, a), bytes_b = payload_bytes(file_b_, b);
    Json row = Json::object();
    if (!is_equal(bytes_a, bytes_b)) {
      const auto [first, ignored] =
          std::mismatch(bytes_a.begin(), bytes_a.end(), bytes_b.begin(), bytes_b.end());
      row = {{"nbytes_a", bytes_a.size()},
             {"nbytes_b", bytes_b.size()},
             {"first_different_byte", first - bytes_a.begin()}};
    }
    add_only_in(row, "compile_specs", compile_specs_of(a), compile_specs_of(b));
    if (row.empty()) return;
    Json named{{"delegate", a.id()}, {"chain", at.chain}, {"instruction", at.index}};
    named.update(row);
    payloads_.push_back(std::move(named));
  }

  static std::vector<std::string> compile_specs_of(const format::DelegateView& delegate) {
    std::vector<std::string> out;
    for (uint32_t i = 0; i < delegate.compile_spec_count(); ++i) {
      std::string text(delegate.compile_spec(i).key);
      text += '=';
      for (const std::byte byte : delegate.compile_spec(i).value)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
      out.push_back(std::move(text));
    }
    return out;
  }

  const ProgramFile &file_a_, &file_b_;
  MethodView a_, b_;
  const ProgramDiffOptions& options_;
  Json out_ = Json::object(), constants_ = Json::array(), payloads_ = Json::array();
  std::set<std::pair<uint32_t, uint32_t>> seen_, seen_delegates_;
  uint64_t moved_ = 0;
};

std::map<std::string, MethodView> methods_of(const ProgramFile& file) {
  std::map<std::string, MethodView> out;
  for (uint32_t i = 0; i < file.view.method_count(); ++i)
    out.emplace(std::string(file.view.method(i).name()), file.view.method(i));
  return out;
}

std::map<std::string, Bytes> named_data_of(const ProgramFile& file) {
  std::map<std::string, Bytes> out;
  for (uint32_t i = 0; i < file.view.named_data_count(); ++i)
    out.emplace(std::string(file.view.named_data_key(i)), named_data_bytes(file, i));
  return out;
}

template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> out;
  for (const auto& [key, value] : map) out.push_back(key);
  return out;
}

}  // namespace

Json diff_programs(const ProgramFile& a, const ProgramFile& b, const ProgramDiffOptions& options) {
  Json found = Json::object();
  add_if_different(found, "version", a.view.version(), b.view.version());
  const auto methods_a = methods_of(a), methods_b = methods_of(b);
  add_only_in(found, "methods", keys_of(methods_a), keys_of(methods_b));
  Json methods = Json::array();
  for (const auto& [name, method] : methods_a) {
    const auto other = methods_b.find(name);
    if (other == methods_b.end()) continue;
    Json diff = MethodDiff(a, b, method, other->second, options).run();
    if (diff.empty()) continue;
    Json named{{"name", name}};
    named.update(diff);
    methods.push_back(std::move(named));
  }
  if (!methods.empty()) found["methods"] = std::move(methods);
  const auto data_a = named_data_of(a), data_b = named_data_of(b);
  add_only_in(found, "named_data", keys_of(data_a), keys_of(data_b));
  std::vector<std::string> changed;
  for (const auto& [key, bytes] : data_a)
    if (const auto other = data_b.find(key); other != data_b.end() && !is_equal(bytes, other->second))
      changed.push_back(key);
  if (!changed.empty()) found["named_data_with_other_bytes"] = changed;
  Json out{{"a", {{"file", a.path}, {"nbytes", a.bytes.size()}}},
           {"b", {{"file", b.path}, {"nbytes", b.bytes.size()}}},
           {"are_bytes_equal", is_equal(a.bytes, b.bytes)},
           {"is_equal", found.empty()}};
  out.update(found);
  return out;
}

}  // namespace etb::tools
