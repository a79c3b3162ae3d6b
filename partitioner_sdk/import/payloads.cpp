#include "partitioner_sdk/import/payloads.hpp"

#include "partitioner_sdk/import/tensor_meta.hpp"

namespace etb::pt2 {

namespace {

// A view that repeats its elements (stride 0) may be larger than its record, but not without limit: it is written out dense.
constexpr int64_t kMaxRepeatedNbytes = int64_t{1} << 30;

// Bytes that the view spans from the start of its storage; nullopt when no storage could be as large.
std::optional<uint64_t> spanned_nbytes(const ir::Constant& constant) {
  ir::Int128 last = constant.offset;
  for (size_t i = 0; i < constant.sizes.size(); ++i) {
    if (constant.sizes[i] == 0) return 0;
    last += static_cast<ir::Int128>(constant.sizes[i] - 1) * constant.strides[i];
    if (last > INT64_MAX / 16) return std::nullopt;
  }
  return static_cast<uint64_t>(last + 1) * ops::element_nbytes(constant.dtype);
}

// Bytes of the elements written out dense; nullopt when beyond reason.
std::optional<uint64_t> dense_nbytes(const ir::Constant& constant) {
  ir::Int128 total = static_cast<ir::Int128>(ops::element_nbytes(constant.dtype));
  for (const int64_t size : constant.sizes) {
    total *= size;
    if (total > INT64_MAX) return std::nullopt;
  }
  return static_cast<uint64_t>(total);
}

}  // namespace

Status Payloads::read_config(const std::string& folder, const std::string& model) {
  const std::string path = root_ + "/data/" + folder + "/" + model + "_" + folder + "_config.json";
  const auto bytes = zip_.find(path);
  if (!bytes) {
    if (!zip_.find(root_ + "/data/" + folder + "/" + model + ".pt")) return {};
    return make_error(Code::NOT_SUPPORTED,
                      folder + " are one pickled file, as torch 2.8 wrote them; save the model again");
  }
  auto parsed = JsonDocument::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!parsed) return tl::make_unexpected(with_context(std::move(parsed).error(), path));
  for (const Json row : (*parsed)->root()["config"])
    rows_.insert_or_assign(std::string(row.key()), Row{row, folder});
  documents_.push_back(*std::move(parsed));
  return {};
}

Result<ir::Constant> Payloads::read_constant(const std::string& name, const Row& row) const {
  const auto invalid = [&](const std::string& why) {
    return make_error(Code::INVALID_DATA, "'" + name + "': " + why);
  };
  if (row.json["use_pickle"].as_bool().value_or(false)) {
    return make_error(Code::NOT_SUPPORTED,
                      "'" + name + "' is a pickled tensor subclass; unwrap it before export");
  }
  const Json meta = row.json["tensor_meta"];
  ir::SymbolTable none;
  auto spec = read_tensor_meta(meta, none);
  if (!spec) return tl::make_unexpected(with_context(std::move(spec).error(), "'" + name + "'"));
  ir::Constant constant;
  constant.name = name;
  constant.dtype = spec->dtype;
  constant.offset = meta["storage_offset"]["as_int"].as_int().value_or(0);
  if (constant.offset < 0) return invalid("negative storage offset");
  for (size_t i = 0; i < spec->rank(); ++i) {
    if (!spec->sizes[i].is_static() || !spec->strides[i].is_static())
      return invalid("symbolic size of stored data");
    if (spec->strides[i].value() < 0) return invalid("negative stride");
    constant.sizes.push_back(spec->sizes[i].value());
    constant.strides.push_back(spec->strides[i].value());
  }
  const std::string path =
      root_ + "/data/" + row.folder + "/" + std::string(row.json["path_name"].as_string().value_or(""));
  const auto record = zip_.find(path);
  if (!record) return invalid("no record '" + path + "'");
  const auto spanned = spanned_nbytes(constant);
  if (!spanned || *spanned > record->size()) {
    return invalid("record '" + path + "' has " + std::to_string(record->size()) +
                   " bytes, the tensor needs " +
                   (spanned ? std::to_string(*spanned) : "more than any file has"));
  }
  const auto dense = dense_nbytes(constant);
  if (!dense || (*dense > record->size() && *dense > static_cast<uint64_t>(kMaxRepeatedNbytes))) {
    return invalid("repeats its elements beyond reason");
  }
  constant.storage = *record;
  constant.owner = file_;
  return constant;
}

Result<uint32_t> Payloads::add_to(ir::Module& module, const std::string& name) {
  if (const auto found = added_.find(name); found != added_.end()) return found->second;
  const auto row = rows_.find(name);
  if (row == rows_.end()) return make_error(Code::INVALID_DATA, "no data for '" + name + "' in the archive");
  ETB_ASSIGN(ir::Constant constant, read_constant(name, row->second));
  // Empty tensors have no bytes by which to know them.
  const std::byte* place = constant.storage.empty() ? nullptr : constant.storage.data();
  const View view{place, constant.dtype, constant.sizes, constant.strides, constant.offset};
  const auto [found, is_new] = views_.emplace(view, static_cast<uint32_t>(module.constants.size()));
  if (is_new) module.constants.push_back(std::move(constant));
  added_.emplace(name, found->second);
  return found->second;
}

}  // namespace etb::pt2
