// SPDX-License-Identifier: Apache-2.0
#include "tools/run/serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "api/format/input_file.hpp"
#include "api/format/output_file.hpp"
#include "host/registry/json_document.hpp"
#include "tools/run/method_inputs.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/timing.hpp"

namespace etb::tools {

namespace {

// Requests use a map: lookup by key does not search all members.
using Request = nlohmann::json;
using Reply = nlohmann::ordered_json;
using host::Dtype;
using host::EValue;

tl::unexpected<Error> bad_request(std::string message) {
  return make_error(Code::INVALID_ARGUMENT, std::move(message));
}

template <class T>
Result<std::vector<T>> parse_numbers(const Request& list, const char* what) {
  std::vector<T> numbers;
  if (!list.is_array()) return bad_request(fmt::format("'{}' is not an array", what));
  for (const Request& item : list) {
    if (!item.is_number_integer())
      return bad_request(fmt::format("'{}' has an item that is not an integer", what));
    numbers.push_back(item.get<T>());
  }
  return numbers;
}

Result<std::vector<std::byte>> read_part(const std::string& path, uint64_t offset, uint64_t nbytes) {
  ETB_ASSIGN(const format::InputFile file, format::InputFile::open(path));
  if (offset > file.nbytes() || nbytes > file.nbytes() - offset) {
    return make_error(Code::INVALID_DATA, fmt::format("{}: found {} bytes, expected {} at offset {}", path,
                                                      file.nbytes(), nbytes, offset));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(nbytes));
  ETB_TRY(file.read(offset, bytes));
  return bytes;
}

// Reads {"file", "offset", "dtype", "shape", "dim_order"}. Missing dtype and shape are the method's.
Result<Array> parse_raw(const Request& input, const MethodInputs& inputs, const host::MethodMeta& meta,
                        uint32_t index) {
  if (!input.contains("file") || !input["file"].is_string()) return bad_request("an input has no 'file'");
  Array array;
  const bool is_tensor = index < meta.input_count() && meta.input(index).kind() == format::ValueKind::kTensor;
  if (is_tensor) {
    const auto record = meta.input(index).as_tensor();
    array.dtype = static_cast<Dtype>(record.dtype);
    array.sizes.assign(record.sizes.begin(), record.sizes.end());
  } else if (!input.contains("dtype") || !input.contains("shape")) {
    return bad_request(
        "'dtype' and 'shape' are missing, and the method's input is not a tensor that defines them");
  }
  if (input.contains("dtype")) {
    if (!input["dtype"].is_string()) return bad_request("'dtype' is not a string");
    ETB_ASSIGN(array.dtype, parse_dtype(input["dtype"].get<std::string>()));
  }
  if (input.contains("shape")) {
    ETB_ASSIGN(array.sizes, parse_numbers<int64_t>(input["shape"], "shape"));
  }
  if (input.contains("dim_order")) {
    ETB_ASSIGN(array.dim_order, parse_numbers<uint8_t>(input["dim_order"], "dim_order"));
    auto sorted = array.dim_order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != row_major(array.sizes.size()))
      return bad_request("'dim_order' is not a permutation of the dimensions");
  }
  const Request offset = input.value("offset", Request(uint64_t{0}));
  if (!offset.is_number_unsigned()) return bad_request("'offset' is not an integer of at least 0");
  ETB_ASSIGN(const uint64_t nbytes, count_bytes(array.dtype, array.sizes));
  if (nbytes > inputs.max_file_nbytes(index))
    return bad_request(fmt::format("input {}: found {}, expected at most {} bytes", index,
                                   format_shape(array.dtype, array.sizes), inputs.max_file_nbytes(index)));
  ETB_ASSIGN(array.bytes, read_part(input["file"].get<std::string>(), offset.get<uint64_t>(), nbytes));
  return array;
}

Status set_input(MethodInputs& inputs, const host::MethodMeta& meta, uint32_t index, const Request& input) {
  if (input.is_string()) return inputs.set_text(index, input.get<std::string>());
  if (input.is_boolean()) return inputs.set_number(index, EValue(input.get<bool>()));
  if (input.is_number_integer()) return inputs.set_number(index, EValue(input.get<int64_t>()));
  if (input.is_number()) return inputs.set_number(index, EValue(input.get<double>()));
  if (input.is_null()) return inputs.set_none(index);
  if (!input.is_object())
    return bad_request(fmt::format("input {} is neither file, number, bool, null nor object", index));
  ETB_ASSIGN(Array array, parse_raw(input, inputs, meta, index));
  return inputs.set_array(index, std::move(array));
}

Result<Reply> write_output(const EValue& value, size_t index, const std::string& folder) {
  switch (value.tag()) {
    case host::Tag::kInt:
      return Reply(value.to_int());
    case host::Tag::kDouble:
      return Reply(value.to_double());
    case host::Tag::kBool:
      return Reply(value.to_bool());
    case host::Tag::kTensor:
      break;
    default:
      return Reply(nullptr);
  }
  const Array array = to_row_major(value.tensor());
  const std::string path = (std::filesystem::path(folder) / fmt::format("{}.bin", index)).string();
  ETB_TRY(format::write_file(path, array.bytes));
  return Reply{{"file", path},
               {"dtype", host::to_text(array.dtype)},
               {"shape", array.sizes},
               {"dim_order", row_major(array.sizes.size())}};
}

// Creates the requested folder if it is missing. Done before the run, which may be long or change state.
Result<std::string> make_output_folder(const Request& request) {
  const Request folder = request.value("output_dir", Request("."));
  if (!folder.is_string()) return bad_request("'output_dir' is not a string");
  const auto path = folder.get<std::string>();
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed || !std::filesystem::is_directory(path, failed))
    return make_error(Code::ACCESS_FAILED, fmt::format("cannot create output_dir '{}': {}", path,
                                                       failed ? failed.message() : "a file has this name"));
  return path;
}

Result<Request> parse_request(const std::string& line) {
  host::JsonDocument document = host::read_json(line);
  if (!document.diagnostics.empty())
    return bad_request("the line is not a request: " + to_text(document.diagnostics));
  if (!document.root || !document.root->is_object()) return bad_request("the line is not a JSON object");
  return *std::move(document.root);
}

Result<Reply> answer(host::Module& module, const std::string& method, const LimitOptions& limits,
                     const std::string& line) {
  ETB_ASSIGN(const Request request, parse_request(line));
  const Request list = request.value("inputs", Request::array());
  if (!list.is_array()) return bad_request("'inputs' is not an array");
  ETB_ASSIGN(const host::MethodMeta meta, module.method_meta(method));
  if (list.size() != meta.input_count()) {
    return bad_request(
        fmt::format("{} inputs given, the method expects {}", list.size(), meta.input_count()));
  }
  MethodInputs inputs(meta);
  for (uint32_t i = 0; i < list.size(); ++i) ETB_TRY(set_input(inputs, meta, i, list[i]));
  ETB_TRY(module.set_inputs(method, inputs.values()));
  ETB_ASSIGN(const std::string folder, make_output_folder(request));
  const auto begin = std::chrono::steady_clock::now();
  ETB_TRY(module.run(method, limits_from_now(limits)));
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
  ETB_ASSIGN(const std::vector<EValue> outputs, module.get_outputs(method));
  Reply written = Reply::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    ETB_ASSIGN(Reply output, write_output(outputs[i], i, folder));
    written.push_back(std::move(output));
  }
  Reply reply{{"outputs", std::move(written)}, {"us", us.count()}};
  if (!inputs.notes().empty()) reply["notes"] = inputs.notes();
  return reply;
}

enum class Line : uint8_t { kRead, kTooLong, kEndless, kNone };

// Limit for skipping the rest of a line that is too long. An input beyond it is no list of requests.
constexpr size_t kMaxLineNbytes = size_t{64} << 20;

// Reads to the line's end but keeps only the bytes that a request may have: input without line ends must not
// fill memory.
Line read_line(std::istream& in, std::string& out) {
  out.clear();
  std::streambuf& bytes = *in.rdbuf();
  size_t nbytes = 0;
  for (int c = bytes.sbumpc(); c != '\n'; c = bytes.sbumpc()) {
    if (c == std::char_traits<char>::eof()) {
      in.setstate(std::ios::eofbit);
      if (out.empty()) return Line::kNone;
      break;
    }
    if (++nbytes > kMaxLineNbytes) return Line::kEndless;
    if (nbytes <= host::kJsonMaxBytes) out += static_cast<char>(c);
  }
  return nbytes > host::kJsonMaxBytes ? Line::kTooLong : Line::kRead;
}

}  // namespace

Status serve(host::Module& module, const std::string& method, const LimitOptions& limits, std::istream& in,
             std::ostream& out) {
  ETB_TRY(module.load_method(method));
  std::string line;
  while (in && out) {
    const Line kind = read_line(in, line);
    if (kind == Line::kNone) break;
    if (kind == Line::kEndless)
      return make_error(Code::INVALID_DATA,
                        fmt::format("standard input: found {} bytes without a line end, expected a "
                                    "request a line of at most {} bytes",
                                    kMaxLineNbytes, host::kJsonMaxBytes));
    if (line.empty()) continue;
    const auto reply =
        kind == Line::kTooLong
            ? Result<Reply>(bad_request(fmt::format("the line has more than {} bytes", host::kJsonMaxBytes)))
            : answer(module, method, limits, line);
    const Reply json =
        reply ? *reply
              : Reply{{"error", {{"code", to_text(reply.error().code)}, {"message", reply.error().message}}}};
    // Infinite doubles and NaN become null in JSON. Text from files may not be UTF-8.
    out << json.dump(-1, ' ', true, Reply::error_handler_t::replace) << std::endl;
  }
  return {};
}

}  // namespace etb::tools
