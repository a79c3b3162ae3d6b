#include "partitioner_sdk/emit/emit.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

namespace etb::emit {

namespace {

// Segments of payloads and named data, equal bytes once. Bytes are looked up by their size and beginning, then compared, so that
// large ones are not all hashed.
class BytesSegments {
 public:
  explicit BytesSegments(Program& program) : program_(program) {}

  uint32_t add(std::span<const std::byte> bytes) {
    constexpr size_t kBeginning = 256;
    std::string key(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kBeginning));
    key += "/" + std::to_string(bytes.size());
    for (auto [at, end] = numbers_.equal_range(key); at != end; ++at) {
      const std::span<const std::byte> known = program_.segments[at->second].front().bytes;
      if (std::equal(bytes.begin(), bytes.end(), known.begin(), known.end())) return at->second;
    }
    const auto number = static_cast<uint32_t>(program_.segments.size());
    program_.parts.segment_nbytes.push_back(bytes.size());
    program_.segments.push_back({{0, bytes}});
    numbers_.emplace(std::move(key), number);
    return number;
  }

 private:
  Program& program_;
  std::unordered_multimap<std::string, uint32_t> numbers_;
};

// Where the payloads of the methods' delegates lie, and the data beside them.
void add_delegate_data(Program& program, const EmitOptions& options) {
  constexpr int8_t kInSegment = 1;
  BytesSegments segments(program);
  for (size_t m = 0; m < program.methods.size(); ++m) {
    const auto& calls = program.methods[m].delegate_calls;
    for (size_t i = 0; i < calls.size(); ++i) {
      format::DelegateSpec& delegate = program.parts.methods[m].delegates[i];
      delegate.location = kInSegment;
      delegate.index = segments.add(options.delegates[calls[i].delegate].payload);
    }
  }
  for (const NamedBytes& item : options.named_data) {
    program.parts.named_data.emplace_back(item.key, segments.add(item.bytes));
    const auto alignment = static_cast<uint32_t>(item.alignment);
    program.parts.segment_alignment = std::max(program.parts.segment_alignment, alignment);
  }
}

}  // namespace

Result<Program> emit(std::span<ir::Module> methods, const EmitOptions& options) {
  Program program;
  DataSegment constants, states;
  for (ir::Module& module : methods) {
    MethodEmitter emitter(module, constants, states, options.has_kernel, options.delegates);
    auto method = emitter.run();
    if (!method)
      return tl::make_unexpected(with_context(std::move(method).error(), "method '" + module.name + "'"));
    program.methods.push_back({module.name, emitter.memory_plan().arena_nbytes,
                               emitter.memory_plan().lower_bound_nbytes, method->instructions.size(),
                               emitter.delegate_calls()});
    program.parts.methods.push_back(*std::move(method));
  }
  // The official run time wants a constant segment even where there are no constants; such a file has no extended header.
  program.parts.constant_offsets = constants.offsets();
  program.parts.segment_nbytes.push_back(constants.nbytes());
  program.segments.push_back(constants.pieces());
  if (!states.is_empty()) {
    program.parts.mutable_segment = static_cast<uint32_t>(program.segments.size());
    program.parts.mutable_offsets = states.offsets();
    program.parts.segment_nbytes.push_back(states.nbytes());
    program.segments.push_back(states.pieces());
  }
  add_delegate_data(program, options);
  const size_t own_segments = states.is_empty() ? 1 : 2;
  if (constants.nbytes() + states.nbytes() == 0 && program.segments.size() == own_segments)
    program.parts.header_length = 0;
  return program;
}

Status write_file(const Program& program, const std::string& path) {
  const std::string temporary = path + ".part";
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    return make_error(Code::ACCESS_FAILED, std::string(what) + " '" + path + "': " + why);
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file(std::fopen(temporary.c_str(), "wb"));
  if (!file) return fail("cannot create");
  const Status written =
      format::write_program(program.parts, program.segments, [&](std::span<const std::byte> bytes) -> Status {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size()) return {};
        return make_error(Code::ACCESS_FAILED, "short write");
      });
  if (!written) return fail("cannot write");
  if (std::fclose(file.release()) != 0) return fail("cannot write");
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return fail("cannot rename to");
  return {};
}

}  // namespace etb::emit
