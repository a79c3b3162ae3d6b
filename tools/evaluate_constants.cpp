// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate_constants.hpp"

#include <cstdint>
#include <memory>

#include "host/module/module.hpp"
#include "partitioner_sdk/emit/program_memory.hpp"

namespace etb::tools {

namespace {

constexpr size_t kAlignment = 128;  // of each result

// The constants that `module` reads, as arguments of its method. Weights are read in place.
class Operands {
 public:
  // Turns constants into inputs of the method.
  explicit Operands(ir::Module& module) {
    for (ir::Input& input : module.main().inputs) {
      constants_.push_back(module.constants[input.constant]);
      input.kind = ir::InputKind::kUser;
      input.constant = ir::kNone;
    }
    module.constants.clear();
  }

  std::vector<host::EValue> values() {
    std::vector<host::EValue> values;
    tensors_ = std::make_unique<Argument[]>(constants_.size());
    for (size_t i = 0; i < constants_.size(); ++i) {
      const ir::Constant& constant = constants_[i];
      std::span<const std::byte> bytes =
          constant.is_contiguous() ? constant.bytes() : std::span<const std::byte>();
      if (!constant.is_contiguous() ||
          reinterpret_cast<uintptr_t>(bytes.data()) % alignof(std::max_align_t) != 0) {
        tensors_[i].turned = constant.dense_bytes();
        bytes = tensors_[i].turned;
      }
      // The method writes to no input.
      auto* data = const_cast<std::byte*>(bytes.data());
      tensors_[i].tensor = tensors_[i].storage.make(constant.dtype, constant.sizes, data, bytes.size(), {});
      values.emplace_back(&tensors_[i].tensor);
    }
    return values;
  }

 private:
  struct Argument {
    host::TensorStorage storage;
    std::vector<std::byte> turned;
    host::Tensor tensor;
  };
  std::vector<ir::Constant> constants_;
  std::unique_ptr<Argument[]> tensors_;
};

size_t nbytes_of(const ir::Module& module, const ir::Output& output) {
  const ir::TensorSpec& spec = module.main().values[std::get<ir::ValueRef>(output.value).id].spec;
  size_t nbytes = ops::element_nbytes(spec.dtype);
  for (const ir::Dim size : spec.sizes) nbytes *= static_cast<size_t>(size.value());
  return nbytes;
}

}  // namespace

Result<std::vector<ir::OwnedBytes>> evaluate_constants(ir::Module& module) {
  Operands operands(module);
  emit::EmitOptions options;
  options.plans_inputs = options.plans_outputs = false;
  ETB_ASSIGN(const emit::Program program, emit::emit({&module, 1}, options));
  ETB_ASSIGN(const emit::ProgramMemory image, emit::ProgramMemory::make(program));
  ETB_ASSIGN(host::Module runner, host::Module::from_bytes(image.bytes(), {.brings_outputs = false}));
  // One allocation: large ones get huge pages.
  const auto round_up = [](size_t nbytes) { return (nbytes + kAlignment - 1) / kAlignment * kAlignment; };
  size_t total = 0;
  for (const ir::Output& output : module.main().outputs) total += round_up(nbytes_of(module, output));
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(total);
  std::vector<ir::OwnedBytes> results;
  size_t at = 0;
  for (const ir::Output& output : module.main().outputs) {
    const std::span<std::byte> place(memory.get() + at, nbytes_of(module, output));
    ETB_TRY(runner.set_output(module.name, static_cast<uint32_t>(results.size()), place));
    results.push_back({place, memory});
    at += round_up(place.size());
  }
  ETB_TRY(runner.execute(module.name, operands.values()));
  return results;
}

}  // namespace etb::tools
