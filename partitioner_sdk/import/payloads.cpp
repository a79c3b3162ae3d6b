// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/payloads.hpp"

#include <algorithm>

#include "partitioner_sdk/import/saved_tensors.hpp"
#include "partitioner_sdk/import/tensor_meta.hpp"

namespace etb::pt2 {

namespace {

// Limit for a view that repeats its elements (stride 0): it may exceed its record, but it is written out
// dense.
constexpr uint64_t kMaxRepeatedNbytes = uint64_t{1} << 30;
// Limit for all views together: tensors may share parts of a storage, and a small archive could repeat that a
// million times.
constexpr uint64_t kMaxViewsOfAByte = 8;

constexpr size_t kMaxRank = 16;

// Returns the bytes that the view spans from the start of its storage; nullopt if no storage is that large.
// An empty view has a start, too.
std::optional<uint64_t> spanned_nbytes(const ir::Constant& constant) {
  ir::Int128 end = constant.offset;
  if (std::find(constant.sizes.begin(), constant.sizes.end(), 0) == constant.sizes.end()) {
    end += 1;
    for (size_t i = 0; i < constant.sizes.size() && end <= INT64_MAX / 16; ++i)
      end += static_cast<ir::Int128>(constant.sizes[i] - 1) * constant.strides[i];
  }
  if (end > INT64_MAX / 16) return std::nullopt;
  return static_cast<uint64_t>(end) * ops::element_nbytes(constant.dtype);
}

// Returns the bytes of the elements written out dense; nullopt if unreasonable. A size of 0 does not hide an
// overflow of the other sizes: it would appear in the strides.
std::optional<uint64_t> dense_nbytes(const ir::Constant& constant) {
  ir::Int128 total = static_cast<ir::Int128>(ops::element_nbytes(constant.dtype));
  bool is_empty = false;
  for (const int64_t size : constant.sizes) {
    is_empty = is_empty || size == 0;
    total *= std::max<int64_t>(size, 1);
    if (total > INT64_MAX) return std::nullopt;
  }
  return is_empty ? 0 : static_cast<uint64_t>(total);
}

// Checks that the storage holds the view.
Status check_extent(const ir::Constant& constant, std::span<const std::byte> storage,
                    const std::string& who) {
  const auto invalid = [&](const std::string& why) {
    return make_error(Code::INVALID_DATA, "'" + constant.name + "': " + why);
  };
  const auto is_negative = [](int64_t value) { return value < 0; };
  if (constant.offset < 0) return invalid("negative storage offset");
  if (constant.sizes.size() != constant.strides.size() || constant.sizes.size() > kMaxRank)
    return invalid("tensor of rank " + std::to_string(constant.sizes.size()));
  if (std::any_of(constant.sizes.begin(), constant.sizes.end(), is_negative)) return invalid("negative size");
  if (std::any_of(constant.strides.begin(), constant.strides.end(), is_negative))
    return invalid("negative stride");
  const auto spanned = spanned_nbytes(constant);
  if (!spanned || *spanned > storage.size()) {
    return invalid(who + " has " + std::to_string(storage.size()) + " bytes, the tensor needs " +
                   (spanned ? std::to_string(*spanned) : "more than any file has"));
  }
  const auto dense = dense_nbytes(constant);
  if (!dense || (*dense > storage.size() && *dense > kMaxRepeatedNbytes))
    return invalid("its strides repeat elements to more than " + std::to_string(kMaxRepeatedNbytes) +
                   " bytes");
  return {};
}

}  // namespace

Status Payloads::read_config(const std::string& folder, const std::string& model) {
  const std::string path = root_ + "/data/" + folder + "/" + model + "_" + folder + "_config.json";
  const auto bytes = zip_.find(path);
  if (!bytes) return read_saved(root_ + "/data/" + folder + "/" + model + ".pt");
  auto parsed = JsonDocument::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!parsed) return tl::make_unexpected(with_context(std::move(parsed).error(), path));
  for (const Json row : (*parsed)->root()["config"])
    rows_.insert_or_assign(std::string(row.key()), Row{row, folder});
  documents_.push_back(*std::move(parsed));
  return {};
}

Status Payloads::read_saved(const std::string& path) {
  const auto bytes = zip_.find(path);
  if (!bytes) return {};
  auto tensors = read_saved_tensors(*bytes);
  if (!tensors) return tl::make_unexpected(with_context(std::move(tensors).error(), path));
  saved_.merge(*tensors);
  return {};
}

Result<ir::Constant> Payloads::find_constant(const std::string& name) const {
  if (const auto row = rows_.find(name); row != rows_.end()) return read_constant(name, row->second);
  const auto saved = saved_.find(name);
  if (saved == saved_.end())
    return make_error(Code::INVALID_DATA, "the archive has no data for '" + name + "'");
  ir::Constant constant = saved->second;
  constant.name = name;
  ETB_TRY(check_extent(constant, constant.storage, "its storage"));
  return constant;
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
  for (size_t i = 0; i < spec->rank(); ++i) {
    if (!spec->sizes[i].is_static() || !spec->strides[i].is_static())
      return invalid("stored data has a symbolic size, expected constants");
    constant.sizes.push_back(spec->sizes[i].value());
    constant.strides.push_back(spec->strides[i].value());
  }
  const std::string path =
      root_ + "/data/" + row.folder + "/" + std::string(row.json["path_name"].as_string().value_or(""));
  const auto record = zip_.find(path);
  if (!record) return invalid("the archive has no record '" + path + "'");
  ETB_TRY(check_extent(constant, *record, "record '" + path + "'"));
  constant.storage = *record;
  return constant;
}

Result<uint32_t> Payloads::add_to(ir::Module& module, const std::string& name) {
  if (const auto found = added_.find(name); found != added_.end()) return found->second;
  ETB_ASSIGN(ir::Constant constant, find_constant(name));
  constant.owner = file_;
  // Empty tensors have no bytes that identify them.
  const std::byte* place = constant.storage.empty() ? nullptr : constant.storage.data();
  const View view{place, constant.dtype, constant.sizes, constant.strides, constant.offset};
  const auto [found, is_new] = views_.emplace(view, static_cast<uint32_t>(module.constants.size()));
  if (is_new) {
    dense_nbytes_ += constant.nbytes();
    if (dense_nbytes_ > kMaxRepeatedNbytes + kMaxViewsOfAByte * zip_.nbytes()) {
      return make_error(Code::INVALID_DATA, "constants of " + std::to_string(dense_nbytes_) +
                                                " bytes up to '" + name + "', in an archive of " +
                                                std::to_string(zip_.nbytes()));
    }
    module.constants.push_back(std::move(constant));
  }
  added_.emplace(name, found->second);
  return found->second;
}

}  // namespace etb::pt2
