// SPDX-License-Identifier: Apache-2.0
// Finds kernels and checks calls against their signatures.
#include "host/runtime/kernel_registry.hpp"

#include <cstdio>

namespace etb::host {
namespace {

constexpr uint16_t bit(Tag tag) { return static_cast<uint16_t>(1u << static_cast<unsigned>(tag)); }

// Tags that each signature letter accepts.
struct TagMasks {
  uint16_t masks[64] = {};  // letters of both cases differ in their low six bits
  constexpr TagMasks() {
    const uint16_t none = bit(Tag::kNone), number = bit(Tag::kInt) | bit(Tag::kDouble) | bit(Tag::kBool);
    const uint16_t integer = bit(Tag::kInt) | bit(Tag::kBool), real = bit(Tag::kDouble) | bit(Tag::kInt);
    set('T', 't', bit(Tag::kTensor), none);
    set('S', 's', number, none);
    set('i', 'n', integer, none);
    set('d', 'e', real, none);
    set('b', 'c', bit(Tag::kBool), none);
    set('z', 'y', bit(Tag::kString), none);
    set('I', 'j', bit(Tag::kIntList), none);
    set('D', 'f', bit(Tag::kDoubleList), none);
    set('B', 'B', bit(Tag::kBoolList), 0);
    set('L', 'L', bit(Tag::kTensorList), 0);
    set('M', 'M', bit(Tag::kOptionalTensorList) | bit(Tag::kTensorList), 0);
    set('x', 'x', 0xFFFF, 0);
  }
  constexpr void set(char required, char optional, uint16_t mask, uint16_t none) {
    masks[required & 63] = mask;
    masks[optional & 63] = mask | none;
  }
};
constexpr TagMasks kTagMasks;

// Text for what a letter accepts: "tensor", and "tensor or none" for the optional variant.
struct LetterText {
  const char* kind;
  const char* suffix;
};
LetterText letter_text(char letter) {
  constexpr char kLetters[] = "TSidbzIDtsnecyjfBLM";  // eight required ones, their optional variants, others
  constexpr const char* kKinds[] = {"tensor",
                                    "number",
                                    "int",
                                    "double",
                                    "bool",
                                    "string",
                                    "int list",
                                    "double list",
                                    "bool list",
                                    "tensor list",
                                    "optional tensor list"};
  const char* const found = std::strchr(kLetters, letter);
  if (found == nullptr) return {"value", ""};
  const auto at = static_cast<size_t>(found - kLetters);
  return {kKinds[at < 8 ? at : at - 8], at >= 8 && at < 16 ? " or none" : ""};
}

bool has_data(const Tensor& tensor) { return tensor.data() != nullptr || tensor.numel() == 0; }

etb_status check_items(KernelContext& context, const EValue& list, size_t index) {
  const Tag tag = list.tag();
  size_t item_index = 0;
  for (const EValue* item : list.values()) {
    const bool is_absent = item == nullptr || item->is_none();
    const bool fits = tag == Tag::kIntList ? !is_absent && item->is_int()
                      : is_absent          ? tag == Tag::kOptionalTensorList
                                           : item->is_tensor() && has_data(item->tensor());
    if (!fits) {
      return context.fail(ETB_INVALID_TYPE, "argument %zu: item %zu of the %s is %s", index, item_index,
                          to_text(tag), is_absent ? "none" : to_text(item->tag()));
    }
    ++item_index;
  }
  return ETB_OK;
}

bool matches(const Kernel& kernel, std::string_view name, std::string_view overload) {
  const std::string_view full = kernel.name;
  if (overload.empty()) return full == name;
  return full.size() == name.size() + 1 + overload.size() && full.starts_with(name) &&
         full[name.size()] == '.' && full.ends_with(overload);
}

uint32_t hash_op(std::string_view name, std::string_view overload) {
  const uint32_t hash = hash_name(name);
  return short_hash(overload.empty() ? hash : hash_name(overload, hash_name(".", hash)));
}

}  // namespace

etb_status check_arguments(KernelContext& context, const Kernel& kernel, EValue* const* args,
                           size_t count) noexcept {
  size_t index = 0;
  for (const char* letter = kernel.signature; *letter != '\0'; ++letter) {
    if (is_mark(*letter)) continue;
    if (index >= count) {
      return context.fail(ETB_INVALID_ARGUMENT, "%zu arguments, expected %u", count,
                          unsigned{kernel.argument_count});
    }
    const EValue& value = *args[index];
    const Tag tag = value.tag();
    if ((kTagMasks.masks[*letter & 63] >> static_cast<unsigned>(tag) & 1) == 0) {
      const LetterText expected = letter_text(*letter);
      return context.fail(ETB_INVALID_TYPE, "argument %zu is %s, expected %s%s", index, to_text(tag),
                          expected.kind, expected.suffix);
    }
    if (tag == Tag::kTensor) {
      if (*letter != 'x' && !has_data(value.tensor()))
        return context.fail(ETB_INVALID_ARGUMENT, "argument %zu: the tensor has no memory", index);
    } else if (tag >= Tag::kIntList) {
      if (const etb_status status = check_items(context, value, index); status != ETB_OK) return status;
    }
    ++index;
  }
  return ETB_OK;
}

size_t format_kernel_key(EValue* const* args, size_t count, std::span<char> out_text) noexcept {
  size_t used = 0;
  const auto put = [&](const char* format, int value) {
    if (used >= out_text.size()) return;
    const int written = std::snprintf(out_text.data() + used, out_text.size() - used, format, value);
    used += static_cast<size_t>(written);
  };
  for (size_t i = 0; i < count; ++i) {
    if (!args[i]->is_tensor()) continue;
    const Tensor& tensor = args[i]->tensor();
    put(used == 0 ? "%d;" : "|%d;", static_cast<int>(tensor.dtype()));
    for (int dim = 0; dim < tensor.rank(); ++dim) {
      put(dim == 0 ? "%d" : ",%d", tensor.dim_order()[static_cast<size_t>(dim)]);
    }
  }
  return used < out_text.size() ? used : 0;
}

etb_status KernelRegistry::add(Table table, const Kernel** out_duplicate) noexcept {
  if (table_count_ == kMaxTables) return ETB_OUT_OF_RESOURCES;
  tables_[table_count_++] = table;  // so that the search below also sees duplicates among the new rows
  // Skips the search for rows with an unused hash, which are nearly all. A bit set records the hashes seen.
  constexpr uint32_t kBitCount = 1 << 12;
  uint32_t seen[kBitCount / 32] = {};
  const Kernel* duplicate = nullptr;
  for_each([&](const Kernel& kernel) {
    const uint32_t bit = kernel.name_hash % kBitCount;
    const bool is_seen = (seen[bit / 32] >> (bit % 32) & 1) != 0;
    seen[bit / 32] |= uint32_t{1} << (bit % 32);
    has_keys_ = has_keys_ || kernel.key[0] != '\0';
    if (!is_seen || duplicate != nullptr) return;
    int same_count = 0;
    for_each([&](const Kernel& other) {
      same_count += other.name_hash == kernel.name_hash && std::strcmp(other.name, kernel.name) == 0 &&
                    std::strcmp(other.key, kernel.key) == 0;
    });
    if (same_count > 1) duplicate = &kernel;
  });
  if (duplicate == nullptr) return ETB_OK;
  --table_count_;
  if (out_duplicate != nullptr) *out_duplicate = duplicate;
  return ETB_ALREADY_EXISTS;
}

// find() takes the last of equal rows, so only the new rows are compared with each other.
etb_status KernelRegistry::add_over(KernelRows rows, const Kernel** out_duplicate) noexcept {
  if (table_count_ == kMaxTables) return ETB_OUT_OF_RESOURCES;
  for (const Kernel& kernel : rows) {
    for (const Kernel& other : rows) {
      if (&other == &kernel || std::strcmp(other.name, kernel.name) != 0 ||
          std::strcmp(other.key, kernel.key) != 0)
        continue;
      if (out_duplicate != nullptr) *out_duplicate = &kernel;
      return ETB_ALREADY_EXISTS;
    }
  }
  for (const Kernel& kernel : rows) has_keys_ = has_keys_ || kernel.key[0] != '\0';
  tables_[table_count_++] = {rows, {}};
  return ETB_OK;
}

const Kernel* KernelRegistry::find(std::string_view name, std::string_view overload, EValue* const* args,
                                   size_t count) const noexcept {
  const uint32_t hash = hash_op(name, overload);
  const Kernel* fallback = nullptr;
  const Kernel* exact = nullptr;
  char key[512];
  size_t key_count = 0;
  for_each([&](const Kernel& kernel) {
    if (kernel.name_hash != hash || !matches(kernel, name, overload)) return;
    if (kernel.key[0] == '\0') {
      fallback = &kernel;
    } else if (args != nullptr) {
      if (key_count == 0)
        key_count = format_kernel_key(args, std::min<size_t>(count, kernel.argument_count), key);
      if (key_count != 0 && kernel.key == std::string_view(key, key_count)) exact = &kernel;
    }
  });
  return exact != nullptr ? exact : fallback;
}

bool KernelRegistry::has_op(std::string_view name, std::string_view overload) const noexcept {
  const uint32_t hash = hash_op(name, overload);
  bool found = false;
  for_each([&](const Kernel& kernel) {
    found = found || (kernel.name_hash == hash && matches(kernel, name, overload));
  });
  return found;
}

bool KernelRegistry::has_keyed(std::string_view name, std::string_view overload) const noexcept {
  if (!has_keys_) return false;
  const uint32_t hash = hash_op(name, overload);
  bool found = false;
  for_each([&](const Kernel& kernel) {
    found = found || (kernel.name_hash == hash && kernel.key[0] != '\0' && matches(kernel, name, overload));
  });
  return found;
}

}  // namespace etb::host
