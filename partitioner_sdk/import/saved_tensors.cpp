// SPDX-License-Identifier: Apache-2.0
#include "partitioner_sdk/import/saved_tensors.hpp"

namespace etb::pt2 {

Result<SavedObject> SavedObject::open(std::span<const std::byte> file) {
  ETB_ASSIGN(const ZipArchive zip, ZipArchive::open(file));
  const std::string root = zip.first_name().substr(0, zip.first_name().find('/'));
  const auto bytes = zip.find(root + "/data.pkl");
  if (!bytes)
    return make_error(Code::INVALID_DATA, "the file has no data.pkl; expected a file of torch.save");
  const auto order = zip.find(root + "/byteorder");
  if (order && std::string_view(reinterpret_cast<const char*>(order->data()), order->size()) != "little")
    return make_error(Code::NOT_SUPPORTED, "saved in big-endian byte order, expected little-endian");
  SavedObject out;
  ETB_ASSIGN(out.pickle, Pickle::read(*bytes, [&](std::string_view key) {
               return zip.find(root + "/data/" + std::string(key));
             }));
  return out;
}

Result<std::map<std::string, ir::Constant, std::less<>>> read_saved_tensors(std::span<const std::byte> file) {
  ETB_ASSIGN(const SavedObject saved, SavedObject::open(file));
  const Pickle& pickle = saved.pickle;
  if (pickle.root().kind != PickleKind::kDict)
    return make_error(Code::INVALID_DATA, "pickle: the top object is not a dict of tensors");
  std::map<std::string, ir::Constant, std::less<>> out;
  const std::vector<PickleId>& items = pickle.root().items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleObject &key = pickle.object(items[i]), &value = pickle.object(items[i + 1]);
    if (key.kind == PickleKind::kText && value.kind == PickleKind::kTensor)
      out.insert_or_assign(std::string(key.text), pickle.tensor(value));
  }
  return out;
}

}  // namespace etb::pt2
