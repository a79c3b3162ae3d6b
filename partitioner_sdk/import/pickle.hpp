// SPDX-License-Identifier: Apache-2.0
// Reads a pickle of PyTorch (torch.save, or pickle.dumps of tensors) as data: no code of it is executed. Objects are
// numbers, texts, lists, dicts and tensors; any other is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

enum class PickleKind : uint8_t {
  kNone,
  kBool,
  kInt,
  kFloat,
  kText,
  kBytes,
  kList,
  kDict,
  kGlobal,
  kStorage,
  kTensor
};

using PickleId = uint32_t;

struct PickleObject {
  PickleKind kind = PickleKind::kNone;
  int64_t number = 0;                // kBool, kInt; index of a tensor or of a storage
  double real = 0;                   // kFloat
  std::string_view text = {};        // a text; bytes; a global's "module name"
  std::vector<PickleId> items = {};  // of a list or tuple; a dict's keys and values in turn
};

// Returns the bytes of a storage by its key in the file; nullopt if there is none.
using FindStorage = std::function<std::optional<std::span<const std::byte>>(std::string_view key)>;

class Pickle {
 public:
  // Views of `bytes` and of the storages, which the caller keeps.
  [[nodiscard]] static Result<Pickle> read(std::span<const std::byte> bytes, const FindStorage& find_storage);

  const PickleObject& root() const { return objects_[root_]; }
  const PickleObject& object(PickleId id) const { return objects_[id]; }
  // A tensor, not checked against the size of its storage.
  const ir::Constant& tensor(const PickleObject& object) const {
    return tensors_[static_cast<size_t>(object.number)];
  }

 private:
  friend class PickleMachine;
  std::vector<PickleObject> objects_;
  std::vector<ir::Constant> tensors_;
  std::vector<std::unique_ptr<std::string>> globals_;
  PickleId root_ = 0;
};

}  // namespace etb::pt2
