// SPDX-License-Identifier: Apache-2.0
#include "plugins/xnnpack/payload/datatypes.hpp"

#include <algorithm>

#include "plugins/xnnpack/payload/reader.hpp"

namespace etb::xnnpack {

namespace {

using D = XnnDatatype;

enum class Rule : uint8_t { kSame, kConvert, kIndices, kMatrices, kProduct };

struct Expected {
  Rule rule;
  uint32_t flags;
};

Expected expected_of(XnnOperator op) {
  switch (op) {
#define ETB_XNN_OPERATOR(name, body, datatypes, flags, ...) \
  case XnnOperator::k##name:                                \
    return {Rule::k##datatypes, flags};
#include "plugins/xnnpack/payload/operators.def"
#undef ETB_XNN_OPERATOR
    case XnnOperator::kNone:
      break;
  }
  return {Rule::kSame, 0};
}

// Datatypes of fully connected layers and convolutions. Some are only for the former;
// XNNPACK rejects the others.
struct Product {
  D input, filter, bias, output;
};
constexpr Product kProducts[] = {
    {D::kFloat32, D::kFloat32, D::kFloat32, D::kFloat32},
    {D::kFloat16, D::kFloat16, D::kFloat16, D::kFloat16},
    {D::kFloat16, D::kFloat32, D::kFloat32, D::kFloat16},
    {D::kFloat32, D::kQcint8, D::kFloat32, D::kFloat32},
    {D::kFloat32, D::kQcint4, D::kFloat32, D::kFloat32},
    {D::kQint8, D::kQint8, D::kQint32, D::kQint8},
    {D::kQint8, D::kQcint8, D::kQcint32, D::kQint8},
    {D::kQuint8, D::kQuint8, D::kQint32, D::kQuint8},
    {D::kQdint8, D::kQcint8, D::kFloat32, D::kFloat32},
    {D::kQdint8, D::kQcint8, D::kFloat32, D::kFloat16},
    {D::kQdint8, D::kQcint4, D::kFloat32, D::kFloat32},
    {D::kQdint8, D::kQcint4, D::kFloat32, D::kFloat16},
    {D::kQdint8, D::kQbint4, D::kFloat32, D::kFloat32},
    {D::kQdint8, D::kQbint4, D::kFloat32, D::kFloat16},
};

// True for datatypes that XNNPACK computes with. The others are for weights, or made at run time for one
// product.
bool is_elementwise(D datatype) {
  constexpr D kAll[] = {D::kFloat32, D::kFloat16, D::kBfloat16, D::kInt32, D::kQint8, D::kQuint8};
  return std::find(std::begin(kAll), std::end(kAll), datatype) != std::end(kAll);
}

class Verifier {
 public:
  Verifier(const XnnPayload& payload, const XnnNode& node) : payload_(payload), node_(node) {}

  Status verify() const {
    const Expected expected = expected_of(node_.op);
    if ((node_.flags & ~expected.flags) != 0)
      return make_error(Code::INCOMPATIBLE,
                        "flags " + std::to_string(node_.flags) + ", expected " +
                            (expected.flags == 0 ? "none" : "bits of " + std::to_string(expected.flags)));
    if (is_allowed(expected.rule)) return {};
    std::string text = "inputs of datatype ";
    for (uint32_t i = 0; i < node_.input_count; ++i)
      text += std::string(i == 0 ? "" : ", ") + (has_input(i) ? to_text(input(i)) : "none");
    for (uint32_t i = 0; i < node_.output_count; ++i)
      text += std::string(i == 0 ? ", outputs " : ", ") + to_text(output(i));
    return bad(text, ": no kernel is for these");
  }

 private:
  bool has_input(uint32_t i) const { return node_.inputs[i] != kXnnNoValue; }
  D input(uint32_t i = 0) const { return payload_.value(node_.inputs[i]).datatype; }
  D output(uint32_t i = 0) const { return payload_.value(node_.outputs[i]).datatype; }
  bool is_constant(uint32_t i) const { return payload_.value(node_.inputs[i]).constant_index != 0; }

  bool is_allowed(Rule rule) const {
    switch (rule) {
      case Rule::kSame:
        return is_same();
      case Rule::kConvert:
        return is_elementwise(input()) &&
               (is_elementwise(output()) ||
                (output() == D::kQdint8 && (input() == D::kFloat32 || input() == D::kFloat16)));
      case Rule::kIndices:
        return is_elementwise(input()) && output() == input() && output(1) == D::kInt32;
      case Rule::kMatrices:
        return is_same() || (input(0) == D::kQdint8 && input(1) == D::kQcint8 && is_constant(1) &&
                             output() == D::kFloat32);
      case Rule::kProduct:
        return std::any_of(std::begin(kProducts), std::end(kProducts),
                           [this](const Product& product) { return is(product); });
    }
    return false;
  }

  bool is_same() const {
    for (uint32_t i = 0; i < node_.input_count; ++i)
      if (input(i) != output()) return false;
    return is_elementwise(output());
  }

  // Weights that are not constant have the input's datatype.
  bool is(const Product& product) const {
    return input(0) == product.input && input(1) == product.filter && output() == product.output &&
           (!has_input(2) || input(2) == product.bias) && (is_constant(1) || input(1) == input(0));
  }

  const XnnPayload& payload_;
  const XnnNode& node_;
};

const char* to_text(XnnQuantisation quantisation) {
  switch (quantisation) {
    case XnnQuantisation::kNone:
      return "not quantised";
    case XnnQuantisation::kPerChannel:
      return "quantised by channel";
    case XnnQuantisation::kPerTensor:
      return "quantised as a whole";
    case XnnQuantisation::kPerToken:
      return "quantised at run time";
    case XnnQuantisation::kPerChannelGroup:
      return "quantised by group";
  }
  return "?";
}

XnnQuantisation quantisation_of(D datatype) {
  switch (datatype) {
    case D::kQint8:
    case D::kQuint8:
    case D::kQint32:
      return XnnQuantisation::kPerTensor;
    case D::kQcint8:
    case D::kQcint32:
    case D::kQcint4:
      return XnnQuantisation::kPerChannel;
    case D::kQdint8:
      return XnnQuantisation::kPerToken;
    case D::kQbint4:
      return XnnQuantisation::kPerChannelGroup;
    default:
      return XnnQuantisation::kNone;
  }
}

}  // namespace

const char* to_text(XnnDatatype datatype) {
  constexpr const char* kNames[] = {"invalid", "float32", "float16", "qint8",    "quint8",
                                    "qint32",  "qcint8",  "qcint32", "qcint4",   "qdint8",
                                    "qbint4",  "qpint8",  "int32",   "pfloat32", "bfloat16"};
  const auto number = static_cast<size_t>(datatype);
  return number < std::size(kNames) ? kNames[number] : "?";
}

Status verify_xnnpack_quantisation(const XnnValue& value) {
  // XNNPACK calls a packing function for their size, and has none without KleidiAI.
  if (value.datatype == D::kQpint8 || value.datatype == D::kPfloat32)
    return make_error(Code::INCOMPATIBLE, std::string("datatype ") + to_text(value.datatype) +
                                              ", which is packed for one kind of processor");
  const XnnQuantisation expected = quantisation_of(value.datatype);
  if (value.quantisation == expected) return {};
  return bad("datatype ", to_text(value.datatype), " ", to_text(value.quantisation), ", expected it ",
             to_text(expected));
}

Status verify_xnnpack_datatypes(const XnnPayload& payload, const XnnNode& node) {
  return Verifier(payload, node).verify();
}

}  // namespace etb::xnnpack
