#include "tools/evaluate_constants.hpp"

#include <cstdint>
#include <cstring>
#include <memory>

#include "host/module/module.hpp"
#include "partitioner_sdk/emit/emit.hpp"

namespace etb::tools {

Result<std::vector<std::vector<std::byte>>> evaluate_constants(ir::Module& module) {
  ETB_ASSIGN(const emit::Program program, emit::emit({&module, 1}));
  // In memory, aligned as the run time wants it.
  constexpr size_t kAlignment = 128;
  const size_t capacity = format::make_program_head(program.parts).file_nbytes;
  const std::unique_ptr<std::byte[]> memory(new std::byte[capacity + kAlignment]);
  const size_t past = reinterpret_cast<uintptr_t>(memory.get()) % kAlignment;
  std::byte* image = memory.get() + (kAlignment - past) % kAlignment;
  size_t nbytes = 0;
  ETB_TRY(
      format::write_program(program.parts, program.segments, [&](std::span<const std::byte> bytes) -> Status {
        if (bytes.size() > capacity - nbytes)
          return make_error(Code::INTERNAL, "program longer than announced");
        if (!bytes.empty()) std::memcpy(image + nbytes, bytes.data(), bytes.size());
        nbytes += bytes.size();
        return {};
      }));
  ETB_ASSIGN(host::Module runner, host::Module::from_bytes({image, nbytes}));
  ETB_ASSIGN(const std::vector<host::EValue> outputs, runner.forward({}));
  std::vector<std::vector<std::byte>> values;
  for (const host::EValue& output : outputs) {
    const host::Tensor& tensor = output.tensor();
    const auto* data = static_cast<const std::byte*>(tensor.data());
    values.emplace_back(data, data + tensor.nbytes());
  }
  return values;
}

}  // namespace etb::tools
