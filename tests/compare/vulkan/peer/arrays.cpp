// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace peer {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::SizesType;

struct TypeName {
  ScalarType type;
  const char* name;  // of NumPy
};

constexpr std::array kTypes{TypeName{ScalarType::Float, "<f4"}, TypeName{ScalarType::Double, "<f8"},
                            TypeName{ScalarType::Half, "<f2"},  TypeName{ScalarType::Bool, "|b1"},
                            TypeName{ScalarType::Char, "|i1"},  TypeName{ScalarType::Byte, "|u1"},
                            TypeName{ScalarType::Short, "<i2"}, TypeName{ScalarType::Int, "<i4"},
                            TypeName{ScalarType::Long, "<i8"}};

// The text between `begin` and `end` after `key` in a header of NumPy.
std::string field(const std::string& header, const std::string& key, char begin, char end) {
  const size_t from = header.find(begin, header.find("'" + key + "':") + key.size() + 3);
  const size_t to = from == std::string::npos ? from : header.find(end, from + 1);
  if (to == std::string::npos) throw std::runtime_error("no field '" + key + "' in the header of an array");
  return header.substr(from + 1, to - from - 1);
}

std::vector<SizesType> sizes_of(const std::string& text) {
  std::vector<SizesType> sizes;
  for (const char* at = text.data(); at < text.data() + text.size(); ++at) {
    SizesType size = 0;
    const auto [end, error] = std::from_chars(at, text.data() + text.size(), size);
    if (error != std::errc{}) continue;  // a space or a comma
    sizes.push_back(size);
    at = end;
  }
  return sizes;
}

Argument read_array(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  if (all.size() < 10 || all.compare(0, 8, std::string("\x93NUMPY\x01\0", 8)) != 0)
    throw std::runtime_error(path + ": no array of NumPy, version 1.0");
  const size_t length = static_cast<unsigned char>(all[8]) + 256U * static_cast<unsigned char>(all[9]);
  const std::string header = all.substr(10, length);
  if (header.find("'fortran_order': False") == std::string::npos)
    throw std::runtime_error(path + ": the array is not row-major");
  const std::string name = field(header, "descr", '\'', '\'');
  for (const TypeName& type : kTypes) {
    if (name != type.name) continue;
    Argument argument;
    argument.bytes.assign(all.begin() + static_cast<std::ptrdiff_t>(10 + length), all.end());
    argument.tensor = executorch::extension::from_blob(argument.bytes.data(),
                                                       sizes_of(field(header, "shape", '(', ')')), type.type);
    if (argument.tensor->nbytes() != argument.bytes.size())
      throw std::runtime_error(path + ": the array is not complete");
    argument.value = *argument.tensor;
    return argument;
  }
  throw std::runtime_error(path + ": type " + name);
}

template <class T>
bool parse(const std::string& text, Argument& out) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  out.value = executorch::runtime::EValue(number);
  return true;
}

}  // namespace

Argument read_argument(const std::string& text) {
  if (text.ends_with(".npy")) return read_array(text);
  Argument argument;
  if (text == "none") return argument;
  if (text == "true" || text == "false") {
    argument.value = executorch::runtime::EValue(text == "true");
    return argument;
  }
  if (!parse<int64_t>(text, argument) && !parse<double>(text, argument))
    throw std::runtime_error(text + ": no array, number, true, false or none");
  return argument;
}

void write_array(const std::string& path, const executorch::aten::Tensor& tensor) {
  for (const TypeName& type : kTypes) {
    if (type.type != tensor.scalar_type()) continue;
    std::string header = "{'descr': '" + std::string(type.name) + "', 'fortran_order': False, 'shape': (";
    for (const SizesType size : tensor.sizes()) header += std::to_string(size) + ",";
    header += "), }";
    header.append(63 - (10 + header.size()) % 64, ' ')
        .append(1, '\n');  // the data begins at a multiple of 64
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\0", 8);
    file.put(static_cast<char>(header.size() % 256)).put(static_cast<char>(header.size() / 256));
    file << header;
    file.write(static_cast<const char*>(tensor.const_data_ptr()),
               static_cast<std::streamsize>(tensor.nbytes()));
    if (!file) throw std::runtime_error(path + ": cannot be written");
    return;
  }
  throw std::runtime_error(path + ": a type that arrays of NumPy do not have here");
}

}  // namespace peer
