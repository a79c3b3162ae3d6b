// SPDX-License-Identifier: Apache-2.0
// Copies the elements of a strided constant in row-major order. Weights of linear layers are stored
// transposed, so this reads most bytes of a language model for portable kernels.
#include <algorithm>
#include <cstring>

#include "partitioner_sdk/ir/module.hpp"

namespace etb::ir {

namespace {

// A piece stays in the second-level cache until it is written.
constexpr size_t kPieceNbytes = size_t{256} << 10;
// A cache line, in elements of four bytes.
constexpr size_t kLine = 16;

using Four = uint32_t __attribute__((vector_size(16)));

Four load(const std::byte* from) {
  Four four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

void transpose_four(const std::byte* from, size_t from_step, std::byte* to, size_t to_step) {
  const Four a = load(from), b = load(from + from_step);
  const Four c = load(from + 2 * from_step), d = load(from + 3 * from_step);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const Four rows[4] = {
      __builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab, cd, 2, 3, 6, 7),
      __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5), __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7)};
  for (size_t i = 0; i < 4; ++i) std::memcpy(to + i * to_step, &rows[i], sizeof(rows[i]));
}

// `rows` x `columns`; element [i, k] is at offset i + k * step of `from`, in elements.
template <class T>
void transpose(const std::byte* from, size_t step, std::byte* to, size_t rows, size_t columns) {
  const auto single = [&](size_t i, size_t k) {
    std::memcpy(to + (i * columns + k) * sizeof(T), from + (i + k * step) * sizeof(T), sizeof(T));
  };
  for (size_t line = 0; line < columns; line += kLine) {
    const size_t end = std::min(line + kLine, columns);
    size_t i = 0;
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      for (; i + 4 <= rows; i += 4) {
        size_t k = line;
        for (; k + 4 <= end; k += 4) {
          transpose_four(from + (i + k * step) * sizeof(T), step * sizeof(T),
                         to + (i * columns + k) * sizeof(T), columns * sizeof(T));
        }
        for (; k < end; ++k) {
          for (size_t n = 0; n < 4; ++n) single(i + n, k);
        }
      }
    }
    for (; i < rows; ++i) {
      for (size_t k = line; k < end; ++k) single(i, k);
    }
  }
}

bool is_transposed(const Constant& constant) {
  const size_t item = ops::element_nbytes(constant.dtype);
  return constant.sizes.size() == 2 && constant.strides[0] == 1 && constant.strides[1] >= constant.sizes[0] &&
         (item == 4 || item == 2 || item == 1);
}

using Take = std::function<Status(std::span<const std::byte>)>;

Status give_transposed(const Constant& constant, const std::byte* base, const Take& take) {
  const size_t item = ops::element_nbytes(constant.dtype);
  const auto rows = static_cast<size_t>(constant.sizes[0]), columns = static_cast<size_t>(constant.sizes[1]);
  const auto step = static_cast<size_t>(constant.strides[1]);
  const size_t wanted = std::max<size_t>(kPieceNbytes / (columns * item) / kLine * kLine, kLine);
  const size_t row_count = std::min(rows, wanted);
  std::vector<std::byte> piece(row_count * columns * item);
  for (size_t row = 0; row < rows; row += row_count) {
    const size_t count = std::min(row_count, rows - row);
    const std::byte* from = base + row * item;
    if (item == 4) transpose<uint32_t>(from, step, piece.data(), count, columns);
    if (item == 2) transpose<uint16_t>(from, step, piece.data(), count, columns);
    if (item == 1) transpose<uint8_t>(from, step, piece.data(), count, columns);
    ETB_TRY(take(std::span(piece).first(count * columns * item)));
  }
  return {};
}

Status give_strided(const Constant& constant, const std::byte* base, const Take& take) {
  const size_t item = ops::element_nbytes(constant.dtype);
  const std::vector<int64_t>&sizes = constant.sizes, &strides = constant.strides;
  std::vector<std::byte> piece(std::min<uint64_t>(constant.nbytes(), kPieceNbytes / item * item));
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at = 0;
  size_t filled = 0;
  for (uint64_t left = constant.numel(); left > 0; --left) {
    std::memcpy(piece.data() + filled, base + at * static_cast<int64_t>(item), item);
    filled += item;
    if (filled == piece.size() || left == 1) {
      ETB_TRY(take(std::span(piece).first(filled)));
      filled = 0;
    }
    for (size_t d = index.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return {};
}

}  // namespace

Status Constant::give_row_major(const std::function<Status(std::span<const std::byte> bytes)>& take) const {
  if (is_contiguous()) return take(bytes());
  const std::byte* base = storage.data() + static_cast<size_t>(offset) * ops::element_nbytes(dtype);
  return is_transposed(*this) ? give_transposed(*this, base, take) : give_strided(*this, base, take);
}

std::vector<std::byte> Constant::dense_bytes() const {
  std::vector<std::byte> out;
  out.reserve(nbytes());
  // This callback cannot fail.
  (void)give_row_major([&](std::span<const std::byte> piece) -> Status {
    out.insert(out.end(), piece.begin(), piece.end());
    return {};
  });
  return out;
}

}  // namespace etb::ir
