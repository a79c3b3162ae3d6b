// SPDX-License-Identifier: Apache-2.0
// Collects the rows of all files of this folder from the build's list (xnnpack_ops.inc has one line per
// file).
#include <map>
#include <vector>

#include "plugins/xnnpack/compile/op.hpp"

namespace etb::xnnpack {

#define ETB_XNN_OPS(file) extern const OpList file##_ops;
#include "xnnpack_ops.inc"
#undef ETB_XNN_OPS

namespace {

struct Table {
  Table() {
#define ETB_XNN_OPS(file) add(file##_ops);
#include "xnnpack_ops.inc"
#undef ETB_XNN_OPS
  }

  void add(OpList list) {
    for (const Op& op : list) {
      by_name.emplace(op.name, &op);
      rows.push_back({op.name, op.dtypes, op.min_rank, op.max_rank,
                      ETB_LAYOUT_CONTIGUOUS | ETB_LAYOUT_CHANNELS_LAST, (op.traits & kStatic) == 0,
                      op.constraint});
      if ((op.traits & kPreserved) != 0) preserved.push_back(op.name);
    }
  }

  std::map<std::string_view, const Op*> by_name;
  std::vector<OpRow> rows;
  std::vector<const char*> preserved;
};

const Table& table() {
  static const Table kTable;
  return kTable;
}

}  // namespace

const Op* find_op(std::string_view name) {
  const auto found = table().by_name.find(name);
  return found == table().by_name.end() ? nullptr : found->second;
}

bool has_trait(std::string_view name, uint32_t traits) {
  const Op* op = find_op(name);
  return op != nullptr && (op->traits & traits) != 0;
}

std::span<const OpRow> op_rows() { return table().rows; }
std::span<const char* const> preserved_ops() { return table().preserved; }

}  // namespace etb::xnnpack
