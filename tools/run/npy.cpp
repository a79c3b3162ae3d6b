// SPDX-License-Identifier: Apache-2.0
#include "tools/run/npy.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>

#include "api/format/input_file.hpp"
#include "api/format/output_file.hpp"
#include "api/format/printable_text.hpp"
#include "host/runtime/float16.hpp"

namespace etb::tools {

namespace {

using host::Dtype;

struct TypeRow {
  Dtype dtype;
  std::string_view descr;  // without the byte order
};

// NumPy reads headers of 10,000 bytes by default.
constexpr uint64_t kMaxHeaderNbytes = uint64_t{64} << 10;

constexpr TypeRow kTypes[] = {{Dtype::BOOL, "b1"},     {Dtype::UINT8, "u1"},     {Dtype::INT8, "i1"},
                              {Dtype::UINT16, "u2"},   {Dtype::INT16, "i2"},     {Dtype::UINT32, "u4"},
                              {Dtype::INT32, "i4"},    {Dtype::UINT64, "u8"},    {Dtype::INT64, "i8"},
                              {Dtype::FLOAT16, "f2"},  {Dtype::FLOAT32, "f4"},   {Dtype::FLOAT64, "f8"},
                              {Dtype::BFLOAT16, "V2"}, {Dtype::COMPLEX64, "c8"}, {Dtype::COMPLEX128, "c16"}};

// Returns the text after `key` in the header, a Python dict on one line.
Result<std::string_view> find_field(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos)
    return make_error(Code::INVALID_DATA, fmt::format("the header has no '{}'", key));
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

// Returns the text between the quotes at the start of `field`.
Result<std::string_view> parse_quoted(std::string_view field) {
  const size_t end = field.empty() || field[0] != '\'' ? std::string_view::npos : field.find('\'', 1);
  if (end == std::string_view::npos)
    return make_error(Code::INVALID_DATA,
                      "the header has a structured dtype, expected a plain one such as '<f4'");
  return field.substr(1, end - 1);
}

Result<Dtype> parse_descr(std::string_view field) {
  ETB_ASSIGN(const std::string_view descr, parse_quoted(field));
  for (const TypeRow& row : kTypes) {
    if (!descr.empty() && descr.substr(1) == row.descr && (descr[0] == '<' || descr[0] == '|'))
      return row.dtype;
  }
  return make_error(Code::INVALID_DATA, fmt::format("found dtype {}, expected little-endian numbers or bools",
                                                    format::in_quotes(descr)));
}

Result<std::vector<int64_t>> parse_sizes(std::string_view field) {
  std::vector<int64_t> sizes;
  const size_t close = field.empty() || field[0] != '(' ? std::string_view::npos : field.find(')');
  if (close == std::string_view::npos)
    return make_error(Code::INVALID_DATA, "the shape in the header is not a tuple");
  const std::string_view tuple = field.substr(1, close - 1);
  const char* at = tuple.data();
  const char* end = at + tuple.size();
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 0)
      return make_error(Code::INVALID_DATA,
                        fmt::format("shape ({}), expected sizes", format::made_printable(tuple, 64)));
    sizes.push_back(size);
    at = next;
  }
  return sizes;
}

Result<std::string_view> find_header(std::string_view file, size_t* out_data_offset) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 10 || file.substr(0, 6) != kMagic)
    return make_error(Code::INVALID_DATA, "not a .npy file");
  const bool is_long = file[6] >= 2;
  const size_t start = is_long ? 12 : 10;
  if (start > file.size()) return make_error(Code::INVALID_DATA, "the header is truncated");
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, is_long ? 4 : 2);
  if (length > file.size() - start)
    return make_error(Code::INVALID_DATA, "the header is truncated, or longer than " +
                                              std::to_string(kMaxHeaderNbytes) + " bytes");
  *out_data_offset = start + length;
  return file.substr(start, length);
}

// Parses the header. `out_data_offset` receives the offset of the elements.
Result<Array> parse_header(std::string_view file, size_t* out_data_offset) {
  ETB_ASSIGN(const std::string_view header, find_header(file, out_data_offset));
  Array array;
  ETB_ASSIGN(const std::string_view descr, find_field(header, "descr"));
  ETB_ASSIGN(array.dtype, parse_descr(descr));
  ETB_ASSIGN(const std::string_view shape, find_field(header, "shape"));
  ETB_ASSIGN(array.sizes, parse_sizes(shape));
  ETB_ASSIGN(const std::string_view fortran, find_field(header, "fortran_order"));
  if (fortran.starts_with("True")) {
    array.dim_order = row_major(array.sizes.size());
    std::reverse(array.dim_order.begin(), array.dim_order.end());
  }
  return array;
}

Result<Array> parse_npy(const format::InputFile& file, uint64_t max_data_nbytes) {
  std::string start(static_cast<size_t>(std::min(file.nbytes(), kMaxHeaderNbytes)), '\0');
  ETB_TRY(file.read(0, std::as_writable_bytes(std::span(start))));
  size_t offset = 0;
  ETB_ASSIGN(Array array, parse_header(start, &offset));
  ETB_ASSIGN(const uint64_t nbytes, count_bytes(array.dtype, array.sizes));
  if (file.nbytes() - offset < nbytes) {
    return make_error(Code::INVALID_DATA,
                      fmt::format("{} bytes of data, the shape needs {}", file.nbytes() - offset, nbytes));
  }
  if (nbytes > max_data_nbytes) {
    return make_error(Code::INVALID_DATA,
                      fmt::format("found {}, expected at most {} bytes of data",
                                  format_shape(array.dtype, array.sizes), max_data_nbytes));
  }
  array.bytes.resize(static_cast<size_t>(nbytes));
  ETB_TRY(file.read(offset, array.bytes));
  return array;
}

// Converts elements to a type that NumPy knows.
Array to_known(Array array) {
  if (array.dtype == Dtype::BFLOAT16) {
    const size_t count = array.bytes.size() / 2;
    std::vector<std::byte> wide(count * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      host::BFloat16 narrow;
      std::memcpy(&narrow, array.bytes.data() + 2 * i, sizeof(narrow));
      const float value = host::to_float(narrow);
      std::memcpy(wide.data() + sizeof(float) * i, &value, sizeof(value));
    }
    return {Dtype::FLOAT32, std::move(array.sizes), {}, std::move(wide)};
  }
  for (const TypeRow& row : kTypes) {
    if (row.dtype == array.dtype) return array;
  }
  array.sizes.push_back(static_cast<int64_t>(host::element_nbytes(array.dtype)));
  array.dtype = Dtype::UINT8;
  return array;
}

}  // namespace

Result<Array> read_npy(const std::string& path, uint64_t max_data_nbytes) {
  ETB_ASSIGN(const format::InputFile file, format::InputFile::open(path));
  auto array = parse_npy(file, max_data_nbytes);
  if (!array)
    return tl::make_unexpected(with_context(std::move(array).error(), format::made_printable(path)));
  return array;
}

Status write_npy(const std::string& path, const host::Tensor& tensor) {
  const Array array = to_known(to_row_major(tensor));
  std::string_view descr;
  for (const TypeRow& row : kTypes) {
    if (row.dtype == array.dtype) descr = row.descr;
  }
  std::string shape = fmt::format("{}", fmt::join(array.sizes, ", "));
  if (array.sizes.size() == 1) shape += ",";
  const char order = host::element_nbytes(array.dtype) == 1 ? '|' : '<';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, descr, shape);
  // Data starts on a 64-byte boundary.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string file = std::string("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(length & 0xff);
  file += static_cast<char>(length >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
  return format::write_file(path, file);
}

}  // namespace etb::tools
