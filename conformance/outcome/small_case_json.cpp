// SPDX-License-Identifier: Apache-2.0
#include "conformance/outcome/small_case_json.hpp"

#include <cstring>

#include "api/format/graph_verifier.hpp"
#include "api/format/hex.hpp"
#include "conformance/cases/case_builder.hpp"

namespace etb::conformance {
namespace {

using nlohmann::json;

constexpr size_t kMaxRuns = 1000;

Result<std::string> text_in(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_string())
    return make_error(Code::INVALID_DATA, std::string("replay: no text '") + key + "'");
  return it->get<std::string>();
}

// Limit of the bytes of one case, written as hexadecimal text.
constexpr size_t kMaxBytes = size_t{1} << 26;

Result<std::vector<uint8_t>> bytes_in(const json& object, const char* key) {
  ETB_ASSIGN(const std::string text, text_in(object, key));
  if (text.size() % 2 != 0 || text.size() / 2 > kMaxBytes)
    return make_error(Code::INVALID_DATA, std::string("replay: '") + key + "' is no text of bytes");
  std::vector<uint8_t> out;
  out.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const auto byte = format::parse_hex<1>(std::string_view(text).substr(i, 2));
    if (!byte)
      return make_error(Code::INVALID_DATA, std::string("replay: '") + key + "' is no text of bytes");
    out.push_back((*byte)[0]);
  }
  return out;
}

Result<TensorData> read_input(const json& object) {
  TensorData out;
  const auto dtype = object.find("dtype"), sizes = object.find("sizes"), order = object.find("dim_order");
  const auto is_list = [&](const auto& it) {
    return it != object.end() && it->is_array() && it->size() <= ETB_MAX_RANK;
  };
  if (dtype == object.end() || !dtype->is_string() || !is_list(sizes) || !is_list(order))
    return make_error(Code::INVALID_DATA, "replay: an input without dtype, sizes or dim_order");
  bool is_known = false;
  for (const etb_dtype one : kAllDtypes)
    if (dtype->get<std::string>() == short_name(one)) {
      out.shape.dtype = one;
      is_known = true;
    }
  if (!is_known) return make_error(Code::INVALID_DATA, "replay: an input of an unknown dtype");
  for (const json& size : *sizes) {
    if (!size.is_number_unsigned() || size.get<uint64_t>() > kMaxBytes)
      return make_error(Code::INVALID_DATA, "replay: a size of an input");
    out.shape.sizes.push_back(size.get<int64_t>());
  }
  for (const json& dim : *order) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() >= sizes->size())
      return make_error(Code::INVALID_DATA, "replay: a dimension of an input's order");
    out.shape.dim_order.push_back(dim.get<uint8_t>());
  }
  ETB_ASSIGN(const std::vector<uint8_t> bytes, bytes_in(object, "data"));
  out.bytes.resize(bytes.size());
  if (!bytes.empty()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

Result<SmallCase> small_case_from_json(const json& object) {
  if (!object.is_object()) return make_error(Code::INVALID_DATA, "replay: 'small' is no object");
  SmallCase out;
  ETB_ASSIGN(const std::vector<uint8_t> image, bytes_in(object, "image"));
  out.image = graph::ImageBytes(image);
  ETB_TRY(graph::verify_graph_image(out.image.span()));
  const auto runs = object.find("runs");
  if (runs == object.end() || !runs->is_array() || runs->size() > kMaxRuns)
    return make_error(Code::INVALID_DATA, "replay: no runs of 'small'");
  for (const json& run : *runs) {
    if (!run.is_array()) return make_error(Code::INVALID_DATA, "replay: a run that is no list of inputs");
    std::vector<TensorData>& inputs = out.runs.emplace_back();
    for (const json& item : run) {
      if (!item.is_object()) return make_error(Code::INVALID_DATA, "replay: an input that is no object");
      ETB_ASSIGN(TensorData input, read_input(item));
      inputs.push_back(std::move(input));
    }
  }
  if (const Status fits = check_inputs(out); !fits)
    return tl::make_unexpected(with_context(fits.error(), "replay"));
  return out;
}

nlohmann::ordered_json to_json(const SmallCase& small) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const std::vector<TensorData>& run : small.runs) {
    nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
    for (const TensorData& input : run) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(input.bytes.data());
      inputs.push_back({{"dtype", short_name(input.shape.dtype)},
                        {"sizes", input.shape.sizes},
                        {"dim_order", input.shape.dim_order},
                        {"data", format::to_hex({bytes, input.bytes.size()})}});
    }
    runs.push_back(std::move(inputs));
  }
  return {{"image", format::to_hex(small.image.span())}, {"runs", runs}};
}

}  // namespace etb::conformance
