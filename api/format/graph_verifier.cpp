// SPDX-License-Identifier: Apache-2.0
// Verifies the whole image: header, structure, texts, symbols, specs, constants, ops. graph_body_verifier.cpp
// verifies graphs and nodes.
#include "api/format/graph_verifier.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>

#include "api/format/digest.hpp"
#include "api/format/graph_rules.hpp"
#include "api/format/tensor_layout.hpp"
#include "api/format/utf8.hpp"
#include "etb/cpp/graph_view.hpp"

namespace etb::graph {
namespace {

// Checks that the lists in etb/graph_kinds.def and in the schema are equal.
#define ETB_SAME(list, name, value) static_assert(static_cast<int>(fb::list::name) == (value));
#define ETB_GRAPH_EXPR_KIND(name, value, text) ETB_SAME(ExprKind, name, value)
#define ETB_GRAPH_QUANT_SCHEME(name, value, text) ETB_SAME(QuantScheme, name, value)
#define ETB_GRAPH_INPUT_KIND(name, value, text) ETB_SAME(InputKind, name, value)
#define ETB_GRAPH_VALUE_KIND(name, value, text) ETB_SAME(ValueKind, name, value)
#define ETB_GRAPH_ALIAS_KIND(name, value, text) ETB_SAME(AliasKind, name, value)
#define ETB_GRAPH_ARGUMENT_KIND(name, value, text) ETB_SAME(ArgumentKind, name, value)
#include "etb/graph_kinds.def"
#undef ETB_SAME

Status verify_header(std::span<const uint8_t> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % ETB_GRAPH_ALIGNMENT != 0) {
    return refuse("does not begin at a multiple of {} bytes", ETB_GRAPH_ALIGNMENT);
  }
  if (bytes.size() < 8) return refuse("{} bytes are too few", bytes.size());
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return refuse("{} bytes, the format ends at {}", bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE);
  }
  if (std::memcmp(bytes.data() + 4, fb::ImageIdentifier(), 4) != 0) {
    const std::string_view found(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
    return refuse("file id is '{}', expected '{}'", printable(found), fb::ImageIdentifier());
  }
  // Checks the version before the structure, because another version may have another structure.
  etb_graph_view raw = {};
  raw.data = bytes.data();
  raw.nbytes = bytes.size();
  const uint32_t version = etb_graph_field_u32_(&raw, etb_graph_load_u32_(&raw, 0), 0, 0);
  if (version == ETB_GRAPH_VERSION) return {};
  return make_error(Code::INCOMPATIBLE,
                    fmt::format("graph image: version {}, this reader reads {}", version, ETB_GRAPH_VERSION));
}

// Finds the broken list of an image. Each list has its own verifier, so the first that fails is the broken
// one.
std::string broken_part(std::span<const uint8_t> bytes) {
  const auto new_verifier = [&bytes] {
    return flatbuffers::Verifier(bytes.data(), bytes.size(), kMaxTableDepth, max_table_count(bytes.size()));
  };
  const auto root = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(bytes.data());
  if (root < 8 || root > bytes.size() - 4 || root % 4 != 0) return "root table";
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(bytes.data() + root);
  if (auto verifier = new_verifier(); !table->VerifyTableStart(verifier)) return "root table";
  const auto* image = reinterpret_cast<const fb::Image*>(table);
  const auto is_broken = [&](flatbuffers::voffset_t field, const auto* (fb::Image::*get)() const) {
    auto verifier = new_verifier();
    return !table->VerifyOffset(verifier, field) || !verifier.VerifyVector((image->*get)()) ||
           !verifier.VerifyVectorOfTables((image->*get)());
  };
  if (is_broken(fb::Image::VT_SYMBOLS, &fb::Image::symbols)) return "symbols";
  if (is_broken(fb::Image::VT_EXPRS, &fb::Image::exprs)) return "exprs";
  if (is_broken(fb::Image::VT_SPECS, &fb::Image::specs)) return "specs";
  if (is_broken(fb::Image::VT_QUANTS, &fb::Image::quants)) return "quants";
  if (is_broken(fb::Image::VT_CONSTANTS, &fb::Image::constants)) return "constants";
  if (is_broken(fb::Image::VT_OPS, &fb::Image::ops)) return "ops";
  if (is_broken(fb::Image::VT_SOURCES, &fb::Image::sources)) return "sources";
  if (is_broken(fb::Image::VT_GRAPHS, &fb::Image::graphs)) return "graphs";
  return "version, texts or the number of tables";
}

// Runs FlatBuffers' own verifier. It is linear for this schema, because no repeated table has a list of
// strings, and tables are counted. ImageFacts::visit rejects lists that overlap.
Status verify_structure(std::span<const uint8_t> bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kMaxTableDepth, max_table_count(bytes.size()));
  if (fb::VerifyImageBuffer(verifier)) return {};
  return refuse(
      "broken in its {}: an offset or a list leaves the {} bytes, is not aligned or overlaps another",
      broken_part(bytes), bytes.size());
}

Status verify_strings(ImageFacts& facts) {
  const auto* strings = facts.image.strings();
  if (count(strings) == 0) return refuse("has no strings");
  std::unordered_set<std::string_view> seen;
  seen.reserve(strings->size());
  for (uint32_t i = 0; i < strings->size(); ++i) {
    const std::string_view text = facts.text(i);
    if (i == 0 && !text.empty()) return refuse("string 0 is '{}', expected ''", printable(text));
    if (text.size() > facts.bytes_left) return refuse("string {}: lists overlap", i);
    facts.bytes_left -= text.size();
    if (text.find('\0') != std::string_view::npos) return refuse("string {} has a NUL inside", i);
    if (!format::is_utf8(text)) return refuse("string {} is not UTF-8: '{}'", i, printable(text));
    if (!seen.insert(text).second) return refuse("string {} '{}' occurs twice", i, printable(text));
  }
  return {};
}

Status verify_names(ImageFacts& facts) {
  const fb::Image& image = facts.image;
  ETB_TRY(facts.check_string(image.name(), "name"));
  if (image.name() == 0) return refuse("name is empty");
  ETB_TRY(facts.check_string(image.producer(), "producer"));
  ETB_TRY(facts.visit(image.required_features(), "required_features"));
  for (uint32_t i = 0; i < count(image.required_features()); ++i) {
    const uint32_t feature = image.required_features()->Get(i);
    ETB_TRY(facts.check_string(feature, "required_features"));
    return make_error(Code::INCOMPATIBLE,
                      fmt::format("graph image: requires feature '{}', this reader knows none",
                                  printable(facts.text(feature))));
  }
  return {};
}

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

Status verify_symbol(ImageFacts& facts, const fb::Symbol& symbol, std::vector<bool>& is_taken) {
  ETB_TRY(facts.check_string(symbol.name(), "name"));
  const std::string_view name = facts.text(symbol.name());
  if (!is_identifier(name) || name == "min" || name == "max" || name == "mod") {
    return refuse("name '{}' is not an identifier", printable(name));
  }
  if (is_taken[symbol.name()]) return refuse("name '{}' occurs twice", name);
  is_taken[symbol.name()] = true;
  if (symbol.min() > symbol.max()) return refuse("range {} to {} is empty", symbol.min(), symbol.max());
  if (symbol.hint() && (*symbol.hint() < symbol.min() || *symbol.hint() > symbol.max())) {
    return refuse("hint {} is outside {} to {}", *symbol.hint(), symbol.min(), symbol.max());
  }
  return {};
}

Status verify_expr(ImageFacts& facts, uint32_t index, std::vector<uint32_t>& term_counts) {
  const fb::Expr& expr = *facts.image.exprs()->Get(index);
  if (expr.kind() > fb::ExprKind::MAXIMUM) return refuse("kind {} is unknown", static_cast<int>(expr.kind()));
  if (expr.kind() == fb::ExprKind::INT || expr.kind() == fb::ExprKind::SYMBOL) {
    if (expr.left() != 0 || expr.right() != 0) return refuse("a leaf has operands");
    if (expr.kind() == fb::ExprKind::SYMBOL &&
        static_cast<uint64_t>(expr.value()) >= count(facts.image.symbols())) {
      return refuse("value: symbol {} of {}", expr.value(), count(facts.image.symbols()));
    }
    term_counts.push_back(1);
    return {};
  }
  if (expr.value() != 0) return refuse("an operator has a value");
  if (expr.left() >= index || expr.right() >= index) {
    return refuse("operands {} and {}, expected earlier terms", expr.left(), expr.right());
  }
  const bool divides = expr.kind() == fb::ExprKind::FLOOR_DIV || expr.kind() == fb::ExprKind::MOD;
  const fb::Expr& right = *facts.image.exprs()->Get(expr.right());
  if (divides && right.kind() == fb::ExprKind::INT && right.value() == 0) return refuse("divides by zero");
  term_counts.push_back(1 + term_counts[expr.left()] + term_counts[expr.right()]);
  if (term_counts.back() <= ETB_GRAPH_MAX_EXPR_TERMS) return {};
  return refuse("{} terms, at most {}", term_counts.back(), ETB_GRAPH_MAX_EXPR_TERMS);
}

Status verify_dynamic_dim(const ImageFacts& facts, const fb::DynamicDim& dim, int64_t size) {
  if (size < -1) return refuse("upper bound {}", size);
  if (dim.min() < 0 || (size >= 0 && dim.min() > size))
    return refuse("range {} to {} is empty", dim.min(), size);
  if (!dim.expr()) return {};
  if (*dim.expr() >= count(facts.image.exprs())) {
    return refuse("expr: term {} of {}", *dim.expr(), count(facts.image.exprs()));
  }
  const fb::Expr& expr = *facts.image.exprs()->Get(*dim.expr());
  if (expr.kind() != fb::ExprKind::SYMBOL) return {};
  const fb::Symbol& symbol = *facts.image.symbols()->Get(static_cast<uint32_t>(expr.value()));
  const int64_t max = size < 0 ? ETB_GRAPH_UNBOUNDED : size;
  if (dim.min() >= symbol.min() && max <= symbol.max()) return {};
  return refuse("range {} to {} leaves that of symbol '{}', {} to {}", dim.min(), max,
                facts.text(symbol.name()), symbol.min(), symbol.max());
}

Status verify_dim_order(ImageFacts& facts, const fb::TensorSpec& spec) {
  if (spec.dim_order() == nullptr) return {};
  const uint32_t rank = count(spec.sizes());
  ETB_TRY(facts.visit(spec.dim_order(), "dim_order"));
  if (spec.dim_order()->size() != rank) {
    return refuse("dim_order has {} dimensions, sizes has {}", spec.dim_order()->size(), rank);
  }
  uint32_t seen = 0;
  for (const uint8_t dim : *spec.dim_order()) {
    if (dim >= rank || (seen & 1u << dim) != 0)
      return refuse("dim_order is no permutation of 0 to {}", rank - 1);
    seen |= 1u << dim;
  }
  return {};
}

Status verify_spec(ImageFacts& facts, const fb::TensorSpec& spec) {
  if (!format::is_abi_dtype(spec.dtype())) return refuse("dtype {} is unknown", spec.dtype());
  const uint32_t rank = count(spec.sizes());
  if (rank > ETB_MAX_RANK) return refuse("rank {}, at most {}", rank, ETB_MAX_RANK);
  ETB_TRY(facts.visit(spec.sizes(), "sizes"));
  ETB_TRY(verify_dim_order(facts, spec));
  etb_graph_spec plain = {};
  plain.dtype = spec.dtype();
  uint32_t next_dynamic = 0;
  bool is_unbounded = false;
  for (uint32_t dim = 0; dim < rank; ++dim) {
    const int64_t size = spec.sizes()->Get(dim);
    if (next_dynamic < count(spec.dynamic_dims()) && spec.dynamic_dims()->Get(next_dynamic)->dim() == dim) {
      const fb::DynamicDim& dynamic = *spec.dynamic_dims()->Get(next_dynamic++);
      ETB_TRY(at(verify_dynamic_dim(facts, dynamic, size), "dimension {}", dim));
    } else if (size < 0) {
      return refuse("dimension {} has size {}", dim, size);
    }
    is_unbounded = is_unbounded || size < 0;
    if (size >= 0) plain.sizes[plain.rank++] = size;
  }
  if (next_dynamic != count(spec.dynamic_dims())) {
    return refuse("dynamic_dims[{}] is dimension {}, expected ascending and below {}", next_dynamic,
                  spec.dynamic_dims()->Get(next_dynamic)->dim(), rank);
  }
  if (etb_graph_spec_nbytes(&plain) < 0) return refuse("more bytes than an int64 counts");
  int64_t numel = 1;
  for (uint32_t i = 0; i < plain.rank; ++i) numel *= plain.sizes[i];
  facts.spec_numels.push_back(is_unbounded ? -1 : numel);
  return {};
}

// A field that the scheme does not have must be absent.
Status verify_quant_fields(const fb::Quantization& quant) {
  const auto scheme = quant.scheme();
  const bool has_parameters = scheme == fb::QuantScheme::PER_CHANNEL || scheme == fb::QuantScheme::PER_GROUP;
  const bool has_scale = quant.scale() != 0 || quant.zero_point() != 0;
  if (has_scale && scheme != fb::QuantScheme::PER_TENSOR) return refuse("scale or zero_point without use");
  if (quant.axis() != 0 && scheme != fb::QuantScheme::PER_CHANNEL) return refuse("axis without use");
  if (count(quant.block_sizes()) != 0 && scheme != fb::QuantScheme::PER_GROUP) {
    return refuse("block_sizes without use");
  }
  if ((quant.scales() || quant.zero_points()) && !has_parameters)
    return refuse("scales or zero_points without use");
  if ((quant.codec() != 0 || quant.codec_data() != nullptr) && scheme != fb::QuantScheme::OPAQUE) {
    return refuse("codec without use");
  }
  if (scheme == fb::QuantScheme::OPAQUE) {
    return quant.quant_min() == 0 && quant.quant_max() == 0 ? Status()
                                                            : refuse("quant_min or quant_max without use");
  }
  if (quant.quant_min() < quant.quant_max()) return {};
  return refuse("range {} to {} is empty", quant.quant_min(), quant.quant_max());
}

Status verify_quant(ImageFacts& facts, const fb::Quantization& quant) {
  if (quant.scheme() > fb::QuantScheme::OPAQUE)
    return refuse("scheme {} is unknown", static_cast<int>(quant.scheme()));
  if (!format::is_abi_dtype(quant.expressed_dtype()))
    return refuse("expressed_dtype {} is unknown", quant.expressed_dtype());
  ETB_TRY(facts.check_string(quant.codec(), "codec"));
  ETB_TRY(verify_quant_fields(quant));
  ETB_TRY(facts.visit(quant.block_sizes(), "block_sizes"));
  const uint32_t constant_count = count(facts.image.constants());
  for (const auto& constant : {quant.scales(), quant.zero_points()}) {
    if (constant && *constant >= constant_count)
      return refuse("constant {} of {}", *constant, constant_count);
  }
  switch (quant.scheme()) {
    case fb::QuantScheme::PER_TENSOR:
      if (!std::isfinite(quant.scale()) || quant.scale() <= 0) return refuse("scale {}", quant.scale());
      if (quant.zero_point() < quant.quant_min() || quant.zero_point() > quant.quant_max()) {
        return refuse("zero_point {} is outside {} to {}", quant.zero_point(), quant.quant_min(),
                      quant.quant_max());
      }
      return {};
    case fb::QuantScheme::PER_GROUP:
      for (uint32_t i = 0; i < count(quant.block_sizes()); ++i) {
        if (quant.block_sizes()->Get(i) < 1)
          return refuse("block_sizes[{}] is {}", i, quant.block_sizes()->Get(i));
      }
      [[fallthrough]];
    case fb::QuantScheme::PER_CHANNEL:
      return quant.scales() ? Status() : refuse("has no scales");
    case fb::QuantScheme::OPAQUE:
      return quant.codec() != 0 ? Status() : refuse("codec is empty");
    default:
      return {};
  }
}

Status verify_constant(ImageFacts& facts, const fb::Constant& constant, std::vector<bool>& is_taken) {
  ETB_TRY(facts.check_string(constant.key(), "key"));
  if (constant.key() == 0) return refuse("key is empty");
  if (is_taken[constant.key()]) return refuse("key '{}' occurs twice", printable(facts.text(constant.key())));
  is_taken[constant.key()] = true;
  if (constant.spec() >= count(facts.image.specs())) {
    return refuse("spec: {} of {}", constant.spec(), count(facts.image.specs()));
  }
  const fb::TensorSpec& spec = *facts.image.specs()->Get(constant.spec());
  if (count(spec.dynamic_dims()) != 0) return refuse("spec {} is dynamic", constant.spec());
  const uint64_t nbytes =
      static_cast<uint64_t>(facts.spec_numels[constant.spec()]) * format::element_nbytes(spec.dtype());
  if (constant.nbytes() != nbytes) return refuse("nbytes is {}, its spec has {}", constant.nbytes(), nbytes);
  if (count(constant.digest()) != ETB_GRAPH_DIGEST_NBYTES) {
    return refuse("digest has {} bytes, expected {}", count(constant.digest()), ETB_GRAPH_DIGEST_NBYTES);
  }
  if (constant.data() == nullptr) return {};
  if (constant.data()->size() != nbytes)
    return refuse("data has {} bytes, expected {}", constant.data()->size(), nbytes);
  if (nbytes != 0 &&
      static_cast<size_t>(constant.data()->Data() - facts.bytes.data()) % ETB_GRAPH_ALIGNMENT != 0) {
    return refuse("data is not aligned to {} bytes", ETB_GRAPH_ALIGNMENT);
  }
  return {};
}

// True for "namespace.name.overload".
bool is_op_name(std::string_view name) {
  for (int part = 0; part < 2; ++part) {
    const size_t dot = name.find('.');
    if (dot == std::string_view::npos || !is_identifier(name.substr(0, dot))) return false;
    name.remove_prefix(dot + 1);
  }
  return is_identifier(name);
}

Status verify_op(ImageFacts& facts, const fb::Op& op, std::vector<bool>& is_taken) {
  ETB_TRY(facts.check_string(op.name(), "name"));
  const std::string_view name = facts.text(op.name());
  if (!is_op_name(name)) return refuse("name '{}', expected namespace.name.overload", printable(name));
  if (is_taken[op.name()]) return refuse("name '{}' occurs twice", name);
  is_taken[op.name()] = true;
  return {};
}

Status verify_source(ImageFacts& facts, const fb::Source& source) {
  ETB_TRY(facts.check_string(source.file(), "file"));
  ETB_TRY(facts.check_string(source.function(), "function"));
  ETB_TRY(facts.check_string(source.module_(), "module"));
  const bool says =
      source.file() != 0 || source.line() != 0 || source.function() != 0 || source.module_() != 0;
  return says ? Status() : refuse("says nothing");
}

// Runs `verify(item, index)` for each table of a list. Adds the item's index to an error.
template <class T, class Verify>
Status verify_each(const flatbuffers::Vector<flatbuffers::Offset<T>>* items, const char* what,
                   Verify verify) {
  for (uint32_t i = 0; i < count(items); ++i) ETB_TRY(at(verify(*items->Get(i), i), "{} {}", what, i));
  return {};
}

Status verify_tables(ImageFacts& facts) {
  const fb::Image& image = facts.image;
  std::vector<bool> is_symbol(count(image.strings()));
  std::vector<bool> is_key(count(image.strings()));
  std::vector<bool> is_op(count(image.strings()));
  std::vector<uint32_t> term_counts;
  ETB_TRY(verify_each(image.symbols(), "symbol",
                      [&](const auto& item, uint32_t) { return verify_symbol(facts, item, is_symbol); }));
  ETB_TRY(verify_each(image.exprs(), "expr",
                      [&](const auto&, uint32_t index) { return verify_expr(facts, index, term_counts); }));
  ETB_TRY(verify_each(image.specs(), "spec",
                      [&](const auto& item, uint32_t) { return verify_spec(facts, item); }));
  ETB_TRY(verify_each(image.quants(), "quant",
                      [&](const auto& item, uint32_t) { return verify_quant(facts, item); }));
  ETB_TRY(verify_each(image.constants(), "constant",
                      [&](const auto& item, uint32_t) { return verify_constant(facts, item, is_key); }));
  ETB_TRY(verify_each(image.ops(), "op",
                      [&](const auto& item, uint32_t) { return verify_op(facts, item, is_op); }));
  return verify_each(image.sources(), "source",
                     [&](const auto& item, uint32_t) { return verify_source(facts, item); });
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr size_t kMaxShown = 64;
  std::string out;
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (text.size() > kMaxShown) out += "...";
  return out;
}

Status verify_graph_image(std::span<const uint8_t> image) {
  ETB_TRY(verify_header(image));
  ETB_TRY(verify_structure(image));
  ImageFacts facts = {*fb::GetImage(image.data()), image, image.size(), {}};
  ETB_TRY(verify_strings(facts));
  ETB_TRY(verify_names(facts));
  ETB_TRY(verify_tables(facts));
  return verify_graphs(facts);
}

Status verify_constant_digests(std::span<const uint8_t> verified_image) {
  ETB_ASSIGN(const View view, View::open(verified_image));
  for (uint32_t i = 0; i < view.c().constants.count; ++i) {
    const etb_graph_constant constant = view.constant(i);
    const bool is_told = std::any_of(constant.digest, constant.digest + ETB_GRAPH_DIGEST_NBYTES,
                                     [](uint8_t byte) { return byte != 0; });
    if (constant.data == nullptr || !is_told) continue;
    const auto found = format::sha256({static_cast<const uint8_t*>(constant.data), constant.nbytes});
    if (std::memcmp(found.data(), constant.digest, found.size()) != 0) {
      return refuse("constant {} '{}': data does not have the digest", i, printable(constant.key));
    }
  }
  return {};
}

}  // namespace etb::graph
