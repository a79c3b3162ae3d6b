#include "tools/run/serve.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/run/method_inputs.hpp"
#include "tools/run/npy.hpp"
#include "tools/run/timing.hpp"

namespace etb::tools {

namespace {

using Json = nlohmann::ordered_json;
using host::Dtype;
using host::EValue;

tl::unexpected<Error> bad_request(std::string message) {
  return make_error(Code::INVALID_ARGUMENT, std::move(message));
}

template <class T>
Result<std::vector<T>> parse_numbers(const Json& list, const char* what) {
  std::vector<T> numbers;
  if (!list.is_array()) return bad_request(fmt::format("'{}' is no array", what));
  for (const Json& item : list) {
    if (!item.is_number_integer())
      return bad_request(fmt::format("'{}' holds something else than integers", what));
    numbers.push_back(item.get<T>());
  }
  return numbers;
}

Result<std::vector<std::byte>> read_part(const std::string& path, uint64_t offset, uint64_t nbytes) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff length = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (length < 0) return make_error(Code::NOT_FOUND, fmt::format("{}: cannot be read", path));
  const auto total = static_cast<uint64_t>(length);
  if (offset > total || nbytes > total - offset) {
    return make_error(Code::INVALID_ARGUMENT,
                      fmt::format("{}: {} bytes at {}, the file has {}", path, nbytes, offset, total));
  }
  std::vector<std::byte> bytes(static_cast<size_t>(nbytes));
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(nbytes));
  if (!in) return make_error(Code::ACCESS_FAILED, fmt::format("{}: cannot be read", path));
  return bytes;
}

// {"file", "offset", "dtype", "shape", "dim_order"}; without dtype and shape, those of the method.
Result<Array> parse_raw(const Json& input, const host::MethodMeta& meta, uint32_t index) {
  if (!input.contains("file") || !input["file"].is_string()) return bad_request("an input without 'file'");
  Array array;
  const bool is_tensor = index < meta.input_count() && meta.input(index).kind() == format::ValueKind::kTensor;
  if (is_tensor) {
    const auto record = meta.input(index).as_tensor();
    array.dtype = static_cast<Dtype>(record.dtype);
    array.sizes.assign(record.sizes.begin(), record.sizes.end());
  } else if (!input.contains("dtype") || !input.contains("shape")) {
    return bad_request("the method's input is no tensor; 'dtype' and 'shape' are needed");
  }
  if (input.contains("dtype")) {
    if (!input["dtype"].is_string()) return bad_request("'dtype' is no string");
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
      return bad_request("'dim_order' is no permutation of the dimensions");
  }
  const Json offset = input.value("offset", Json(uint64_t{0}));
  if (!offset.is_number_unsigned()) return bad_request("'offset' is no non-negative integer");
  ETB_ASSIGN(const uint64_t nbytes, count_bytes(array.dtype, array.sizes));
  ETB_ASSIGN(array.bytes, read_part(input["file"].get<std::string>(), offset.get<uint64_t>(), nbytes));
  return array;
}

Status set_input(MethodInputs& inputs, const host::MethodMeta& meta, uint32_t index, const Json& input) {
  if (input.is_string()) return inputs.set_text(index, input.get<std::string>());
  if (input.is_boolean()) return inputs.set_number(index, EValue(input.get<bool>()));
  if (input.is_number_integer()) return inputs.set_number(index, EValue(input.get<int64_t>()));
  if (input.is_number()) return inputs.set_number(index, EValue(input.get<double>()));
  if (!input.is_object())
    return bad_request(fmt::format("input {} is neither file, number, bool nor object", index));
  ETB_ASSIGN(Array array, parse_raw(input, meta, index));
  return inputs.set_array(index, std::move(array));
}

Result<Json> write_output(const EValue& value, size_t index, const std::string& folder) {
  switch (value.tag()) {
    case host::Tag::kInt:
      return Json(value.to_int());
    case host::Tag::kDouble:
      return Json(value.to_double());
    case host::Tag::kBool:
      return Json(value.to_bool());
    case host::Tag::kTensor:
      break;
    default:
      return Json(nullptr);
  }
  const Array array = to_row_major(value.tensor());
  const std::string path = (std::filesystem::path(folder) / fmt::format("{}.bin", index)).string();
  ETB_TRY(write_bytes(path, array.bytes));
  return Json{{"file", path},
              {"dtype", host::to_text(array.dtype)},
              {"shape", array.sizes},
              {"dim_order", row_major(array.sizes.size())}};
}

Result<Json> answer(host::Module& module, const std::string& method, uint64_t timeout_ms,
                    const std::string& line) {
  const Json request = Json::parse(line, nullptr, false);
  if (request.is_discarded() || !request.is_object()) return bad_request("the line is no JSON object");
  const Json list = request.value("inputs", Json::array());
  if (!list.is_array()) return bad_request("'inputs' is no array");
  ETB_ASSIGN(const host::MethodMeta meta, module.method_meta(method));
  if (list.size() != meta.input_count()) {
    return bad_request(
        fmt::format("{} inputs given, the method expects {}", list.size(), meta.input_count()));
  }
  MethodInputs inputs(meta);
  for (uint32_t i = 0; i < list.size(); ++i) ETB_TRY(set_input(inputs, meta, i, list[i]));
  ETB_TRY(module.set_inputs(method, inputs.values()));
  const auto begin = std::chrono::steady_clock::now();
  ETB_TRY(module.run(method, limits_from_now(timeout_ms)));
  const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
  const Json folder = request.value("output_dir", Json("."));
  if (!folder.is_string()) return bad_request("'output_dir' is no string");
  ETB_ASSIGN(const std::vector<EValue> outputs, module.get_outputs(method));
  Json written = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    ETB_ASSIGN(Json output, write_output(outputs[i], i, folder.get<std::string>()));
    written.push_back(std::move(output));
  }
  Json reply{{"outputs", std::move(written)}, {"us", us.count()}};
  if (!inputs.notes().empty()) reply["notes"] = inputs.notes();
  return reply;
}

}  // namespace

Status serve(host::Module& module, const std::string& method, uint64_t timeout_ms, std::istream& in,
             std::ostream& out) {
  ETB_TRY(module.load_method(method));
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const auto reply = answer(module, method, timeout_ms, line);
    const Json json =
        reply ? *reply
              : Json{{"error", {{"code", to_text(reply.error().code)}, {"message", reply.error().message}}}};
    // Doubles that are not finite are null in JSON; text from files may not be UTF-8.
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return {};
}

}  // namespace etb::tools
