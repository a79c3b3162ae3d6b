// SPDX-License-Identifier: Apache-2.0
#include "host/registry/probed_ops.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "api/ops/dtype.hpp"
#include "host/registry/untrusted_json.hpp"

namespace etb::host {
namespace {

using nlohmann::json;

constexpr size_t kMaxTextNbytes = 256, kMaxItems = 64;

struct LayoutName {
  uint32_t bit;
  const char* text;
};
constexpr LayoutName kLayouts[] = {{ETB_LAYOUT_CONTIGUOUS, "contiguous"},
                                   {ETB_LAYOUT_CHANNELS_LAST, "channels-last"},
                                   {ETB_LAYOUT_ANY, "any"}};

std::string text_of(const char* text) {
  return text == nullptr ? "" : std::string(text, strnlen(text, kMaxTextNbytes));
}

std::vector<std::string> texts_in(const json& object, const char* key) {
  std::vector<std::string> out;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return out;
  for (const json& item : *found)
    if (item.is_string()) out.push_back(made_printable(item.get_ref<const std::string&>(), kMaxTextNbytes));
  return out;
}

}  // namespace

json from_op(const etb_op_capability& op) {
  json dtypes = json::array(), layouts = json::array(), schemes = json::array();
  for (uint32_t i = 0; op.dtypes != nullptr && i < std::min<uint32_t>(op.dtype_count, kMaxItems); ++i)
    dtypes.push_back(to_text(static_cast<ops::Dtype>(op.dtypes[i])));
  for (const LayoutName& layout : kLayouts)
    if ((op.layouts & layout.bit) != 0) layouts.push_back(layout.text);
  for (uint32_t i = 0;
       op.quant_schemes != nullptr && i < std::min<uint32_t>(op.quant_scheme_count, kMaxItems); ++i)
    schemes.push_back(text_of(op.quant_schemes[i]));
  return {{"op", text_of(op.op)},
          {"dtypes", std::move(dtypes)},
          {"min_rank", op.min_rank},
          {"max_rank", op.max_rank},
          {"layouts", std::move(layouts)},
          {"quant_schemes", std::move(schemes)},
          {"dynamic_sizes", (op.flags & ETB_OP_DYNAMIC_SIZES) != 0},
          {"constraint", text_of(op.constraint)}};
}

std::vector<ProbedOp> read_ops(const json& rows) {
  std::vector<ProbedOp> out;
  if (!rows.is_array()) return out;
  for (const json& row : rows) {
    if (!row.is_object() || out.size() == kMaxProbedOps) continue;
    ProbedOp& op = out.emplace_back();
    op.op = text_in(row, "op");
    op.dtypes = texts_in(row, "dtypes");
    op.min_rank = number_in(row, "min_rank");
    op.max_rank = number_in(row, "max_rank");
    op.layouts = texts_in(row, "layouts");
    op.quant_schemes = texts_in(row, "quant_schemes");
    const auto dynamic = row.find("dynamic_sizes");
    op.has_dynamic_sizes = dynamic != row.end() && dynamic->is_boolean() && dynamic->get<bool>();
    op.constraint = text_in(row, "constraint");
  }
  return out;
}

}  // namespace etb::host
