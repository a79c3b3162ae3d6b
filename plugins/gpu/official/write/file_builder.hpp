// SPDX-License-Identifier: Apache-2.0
// FileBuilder: collects the values and calls of an official VulkanBackend payload and writes its bytes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plugins/gpu/official/file.hpp"

namespace etb::gpu {

// How the official runtime stores a tensor: numbers of the file format.
struct Storage {
  uint8_t kind = 0;    // 0: buffer; 1: 3D texture
  uint8_t layout = 0;  // dimension with neighbours in memory; 0: the last one, 2: the third to last one
  friend bool operator==(const Storage&, const Storage&) = default;
};
inline constexpr Storage kRowMajorBuffer{0, 0};
inline constexpr Storage kChannelTexture{1, 2};  // a texel has four channels of a pixel

struct TensorDesc {
  ElementType type = ElementType::kFloat32;
  Shape shape = {};
  Storage storage = {};
  int32_t constant = -1;       // index from add_constant; -1: computed or passed
  int32_t memory_object = -1;  // shared by tensors that are never in use at once; -1: memory of its own
  friend bool operator==(const TensorDesc&, const TensorDesc&) = default;
};

class FileBuilder {
 public:
  // Each returns the index of a value. Equal scalars are one value.
  uint32_t add_nothing() { return add_scalar(std::monostate()); }
  uint32_t add_integer(int64_t number) { return add_scalar(number); }
  uint32_t add_number(double number) { return add_scalar(number); }
  uint32_t add_truth(bool truth) { return add_scalar(truth); }
  uint32_t add_integers(std::vector<int64_t> items) { return add(std::move(items)); }
  uint32_t add_values(std::vector<int32_t> items) { return add(std::move(items)); }
  uint32_t add_text(std::string text) { return add(std::move(text)); }
  uint32_t add_tensor(const TensorDesc& tensor) { return add(tensor); }

  // Returns the index of a constant, whose bytes are the program's named data. Equal keys are one constant.
  int32_t add_constant(const std::string& key, uint64_t nbytes);
  void set_constant(uint32_t tensor, int32_t constant) {
    std::get<TensorDesc>(values_[tensor]).constant = constant;
  }

  struct Call {
    std::string op;
    std::vector<uint32_t> arguments;  // in the order of the operator's schema; the last one is the result
    uint32_t debug_id = 0;
  };
  // Returns the position of the call.
  size_t add_call(Call call);
  Call& call(size_t position) { return calls_[position]; }
  size_t call_count() const { return calls_.size(); }

  // True if a call has the value, also in a list.
  std::vector<bool> used_values() const;

  // Lets computed tensors share memory. `kept`: values with memory of their own, such as inputs and outputs.
  void share_memory(const std::vector<uint32_t>& kept);

  // Leaves out values that nothing uses.
  std::vector<std::byte> finish(const std::vector<uint32_t>& inputs,
                                const std::vector<uint32_t>& outputs) const;

 private:
  using Value = std::variant<std::monostate, int64_t, double, bool, std::vector<int64_t>,
                             std::vector<int32_t>, std::string, TensorDesc>;
  struct Constant {
    std::string key;
    uint64_t nbytes;
  };
  struct Life {
    size_t first = SIZE_MAX, last = 0;  // positions of calls
  };

  uint32_t add(Value value);
  uint32_t add_scalar(Value value);
  std::vector<Life> lives() const;

  std::vector<Value> values_;
  std::vector<Constant> constants_;
  std::vector<Call> calls_;
};

}  // namespace etb::gpu
