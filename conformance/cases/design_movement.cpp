// SPDX-License-Identifier: Apache-2.0
// Ops that move elements: views, slices, permutations, repetitions, padding. Ranks up to 6, dim orders,
// negative and clamped positions, empty results.
#include <algorithm>
#include <numeric>

#include "conformance/cases/design.hpp"
#include "conformance/cases/designs.hpp"
#include "conformance/cases/op_form.hpp"

namespace etb::conformance {
namespace {

using graph::bool_arg;
using graph::int_arg;
using graph::ints_arg;
using graph::value_arg;

const Sizes kSizes[2][7] = {
    {{}, {17}, {5, 8}, {3, 4, 7}, {2, 3, 5, 4}, {2, 3, 2, 4, 3}, {2, 3, 1, 2, 4, 2}},
    {{}, {128}, {31, 3}, {2, 16, 5}, {3, 1, 4, 9}, {1, 2, 3, 2, 5}, {2, 1, 2, 3, 2, 3}}};

// Arguments after self, and the sizes of the result.
struct Moved {
  std::vector<graph::ArgumentDesc> args;
  Sizes result;
  size_t parts = 0;  // length of a list of equal results
};
using Move = std::function<Moved(const Sizes& sizes)>;

Maker moved_maker(const char* op, etb_dtype dtype, uint32_t order, const Move& move) {
  return [=](const Sizes& sizes) {
    const Moved moved = move(sizes);
    OpForm form;
    form.op = op;
    form.operands = {{{dtype, sizes, order_of(sizes.size(), order)}, Values::kNan, {-100, 100}}};
    form.args = {value_arg(0, "self")};
    form.args.insert(form.args.end(), moved.args.begin(), moved.args.end());
    form.results.assign(std::max<size_t>(moved.parts, 1), {dtype, moved.result, {}});
    if (moved.parts > 0) form.result_lengths = {static_cast<int32_t>(moved.parts)};
    return form;
  };
}

// Adds static cases where drawn, and dynamic ones for every third row.
class Adder {
 public:
  Adder(CaseList& out, etb_dtype dtype) : out_(out), dtype_(dtype) {}
  void add(const char* op, const Sizes& sizes, uint32_t order, const Move& move, bool may_be_empty = true) {
    ++at_;
    if (!is_drawn(op, dtype_, at_)) return;
    const Maker maker = moved_maker(op, dtype_, order, move);
    add_form(out_, dtype_, maker(sizes));
    if (sizes.empty() || (at_ % 3 != 0 && dtype_ != ETB_DTYPE_FLOAT32)) return;
    if (may_be_empty)
      add_dynamic_forms(out_, dtype_, maker, sizes, at_);
    else
      add_dynamic_form(out_, dtype_, maker, sizes, static_cast<Moving>(at_ % 5),
                       static_cast<Order>(at_ / 5 % 3));
  }
  // For moves that the smallest sizes do not allow.
  void add_static(const char* op, const Sizes& sizes, uint32_t order, const Move& move) {
    if (is_drawn(op, dtype_, ++at_)) add_form(out_, dtype_, moved_maker(op, dtype_, order, move)(sizes));
  }

 private:
  CaseList& out_;
  etb_dtype dtype_;
  size_t at_ = 0;
};

constexpr size_t kRanks[] = {1, 2, 3, 4, 5, 6};

// ---- slices

struct Range {
  int64_t start, end, step;
  bool has_start = true, has_end = true;
};
constexpr Range kRanges[] = {{1, 4, 1},
                             {-3, 100, 1},
                             {-100, -1, 1},
                             {0, 5, 2},
                             {1, 100, 3},
                             {2, 2, 1},
                             {3, 1, 1},
                             {0, 1, 1},
                             {-2, -1, 1},
                             {0, 0, 2, false, false},
                             {2, 0, 1, true, false},
                             {0, 3, 7},
                             {0, INT64_MAX, 1}};

int64_t clamped(int64_t at, int64_t size) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); }

int64_t sliced_size(const Range& r, int64_t size) {
  const int64_t begin = r.has_start ? clamped(r.start, size) : 0;
  const int64_t end = std::max(begin, r.has_end ? clamped(r.end, size) : size);
  return (end - begin + r.step - 1) / r.step;
}

std::vector<graph::ArgumentDesc> range_args(const Range& r, int64_t dim) {
  return {int_arg(dim, "dim"), r.has_start ? int_arg(r.start, "start") : graph::none_arg("start"),
          r.has_end ? int_arg(r.end, "end") : graph::none_arg("end"), int_arg(r.step, "step")};
}

void add_slices(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  Design design;
  const auto rank_of = design.add_all(kRanks);
  const auto range_of = design.add_all(kRanges);
  const auto place = design.add_all(kAllPlaces);
  const auto is_negative = design.add<bool>({false, true});
  const auto order_number = design.add<uint32_t>({0, 1, 2});
  const auto table = design.add<size_t>({0, 1});
  size_t at = 0;
  for (const Levels& l : design.rows("slices")) {
    const size_t rank = rank_of(l), dim = dim_at(rank, place(l));
    const Sizes& sizes = kSizes[table(l)][rank];
    const int64_t named = signed_dim(dim, rank, is_negative(l));
    const uint32_t order = order_number(l);
    const auto number = static_cast<int64_t>(range_of.level(l));
    const Range range = range_of(l);
    adder.add("aten.slice_copy.Tensor", sizes, order, [=](const Sizes& now) {
      Sizes result = now;
      result[dim] = sliced_size(range, now[dim]);
      return Moved{range_args(range, named), result};
    });
    const int64_t index = number % 3 == 0 ? -1 : number % 3 == 1 ? 0 : -sizes[dim];
    if (++at % 2 == 0)
      adder.add(
          "aten.select_copy.int", sizes, order,
          [=](const Sizes& now) {
            Sizes result = now;
            result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
            // An index of a dimension that may be 1 is 0 or -1.
            const int64_t fitting = std::clamp(index, -std::max<int64_t>(now[dim], 1), int64_t{0});
            return Moved{{int_arg(named, "dim"), int_arg(fitting, "index")}, result};
          },
          false);
    else
      adder.add_static("aten.narrow_copy.default", sizes, order, [=](const Sizes& now) {
        Sizes result = now;
        const int64_t start = std::min<int64_t>(number % 3, now[dim]),
                      length = std::max<int64_t>(now[dim] - start - number % 2, 0);
        result[dim] = length;
        return Moved{{int_arg(named, "dim"), int_arg(start, "start"), int_arg(length, "length")}, result};
      });
  }
}

// ---- split and unbind, whose parts have different sizes

Maker split_maker(etb_dtype dtype, bool has_list, size_t dim, int64_t named, int64_t part, uint32_t order) {
  return [=](const Sizes& sizes) {
    OpForm form;
    form.op = has_list ? "aten.split_with_sizes_copy.default" : "aten.split_copy.Tensor";
    form.operands = {{{dtype, sizes, order_of(sizes.size(), order)}, Values::kNan}};
    std::vector<int64_t> parts;
    for (int64_t left = sizes[dim]; left > 0 || parts.empty(); left -= part)
      parts.push_back(std::clamp<int64_t>(left, 0, part));
    if (has_list && parts.size() > 1) std::swap(parts.front(), parts.back());
    form.args = {value_arg(0, "self"),
                 has_list ? ints_arg(parts, "split_sizes") : int_arg(part, "split_size"),
                 int_arg(named, "dim")};
    for (const int64_t size : parts) {
      Sizes result = sizes;
      result[dim] = size;
      form.results.push_back({dtype, result, {}});
    }
    form.result_lengths = {static_cast<int32_t>(parts.size())};
    return form;
  };
}

void add_splits(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  Design design;
  const auto rank_of = design.add_all(kRanks);
  const auto place = design.add_all(kAllPlaces);
  const auto is_negative = design.add<bool>({false, true});
  const auto order = design.add<uint32_t>({0, 1, 2});
  const auto part = design.add<int64_t>({1, 2, 3, 100});
  const auto has_list = design.add<bool>({false, true});
  size_t at = 0;
  for (const Levels& l : design.rows("splits")) {
    const size_t rank = rank_of(l), dim = dim_at(rank, place(l));
    const Sizes& sizes = kSizes[0][rank];
    const int64_t named = signed_dim(dim, rank, is_negative(l));
    ++at;
    if (is_drawn("split", dtype, at)) {
      const Maker maker = split_maker(dtype, has_list(l), dim, named, part(l), order(l));
      add_form(out, dtype, maker(sizes));
      if (at % 2 == 0 || dtype == ETB_DTYPE_FLOAT32) add_dynamic_forms(out, dtype, maker, sizes, at);
    }
    if (at % 2 == 0)
      adder.add("aten.unbind_copy.int", sizes, order(l), [=](const Sizes& now) {
        Sizes result = now;
        result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
        return Moved{{int_arg(named, "dim")}, result, std::max<size_t>(static_cast<size_t>(now[dim]), 1)};
      });
  }
}

// ---- permutations

// Kinds: 0 none, 1 reversed, 2 rotated, 3 the last two swapped, 4 the first two, 5 rotated but for the first.
std::vector<size_t> permutation(size_t rank, uint32_t kind) {
  std::vector<size_t> p(rank);
  std::iota(p.begin(), p.end(), size_t{0});
  if (kind == 1) std::reverse(p.begin(), p.end());
  if (kind == 2) std::rotate(p.begin(), p.begin() + 1, p.end());
  if (kind == 3 && rank > 1) std::swap(p[rank - 1], p[rank - 2]);
  if (kind == 4 && rank > 1) std::swap(p[0], p[1]);
  if (kind == 5 && rank > 2) std::rotate(p.begin() + 1, p.begin() + 2, p.end());
  return p;
}

void add_permutations(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  Design design;
  const auto rank_of = design.add_all(kRanks);
  const auto kind_of = design.add<uint32_t>({0, 1, 2, 3, 4, 5});
  const auto has_negative = design.add<bool>({false, true});
  const auto order_number = design.add<uint32_t>({0, 1, 2});
  const auto table = design.add<size_t>({0, 1});
  size_t at = 0;
  for (const Levels& l : design.rows("permutations")) {
    const size_t rank = rank_of(l);
    const uint32_t kind = kind_of(l), order = order_number(l);
    const bool is_negative = has_negative(l);
    const Sizes& sizes = kSizes[table(l)][rank];
    const std::vector<size_t> p = permutation(rank, kind);
    adder.add("aten.permute_copy.default", sizes, order, [=](const Sizes& now) {
      Moved moved;
      std::vector<int64_t> dims;
      for (size_t i = 0; i < rank; ++i) {
        dims.push_back(signed_dim(p[i], rank, is_negative && i % 2 == 0));
        moved.result.push_back(now[p[i]]);
      }
      moved.args = {ints_arg(dims, "dims")};
      return moved;
    });
    const size_t a = p[0], b = p[rank - 1];
    adder.add("aten.transpose_copy.int", sizes, order, [=](const Sizes& now) {
      Moved moved{{int_arg(signed_dim(a, rank, is_negative), "dim0"),
                   int_arg(signed_dim(b, rank, !is_negative), "dim1")},
                  now};
      std::swap(moved.result[a], moved.result[b]);
      return moved;
    });
    if (++at % 2 == 0) continue;
    adder.add("aten.flip.default", sizes, order, [=](const Sizes& now) {
      std::vector<int64_t> dims;
      for (size_t i = 0; i < (kind + 1) % (rank + 1); ++i)
        dims.push_back(signed_dim(p[i], rank, is_negative));
      return Moved{{ints_arg(dims, "dims")}, now};
    });
    adder.add("aten.roll.default", sizes, order, [=](const Sizes& now) {
      const int64_t shift = is_negative ? -2 : int64_t{kind} * 3 + 1;
      if (kind == 0) return Moved{{ints_arg({shift}, "shifts"), ints_arg({}, "dims")}, now};
      if (rank == 1 || kind < 3)
        return Moved{{ints_arg({shift}, "shifts"), ints_arg({signed_dim(p[0], rank, !is_negative)}, "dims")},
                     now};
      return Moved{{ints_arg({shift, 1}, "shifts"),
                    ints_arg({signed_dim(p[0], rank, false), signed_dim(p[1], rank, true)}, "dims")},
                   now};
    });
  }
  for (const Sizes& sizes : {Sizes{}, {7}, {4, 9}, {64, 65}})
    adder.add("aten.t_copy.default", sizes, 0, [](const Sizes& now) {
      return Moved{{}, {now.rbegin(), now.rend()}};
    });
  for (const Sizes& high : {Sizes{2, 1, 3, 2, 1, 2, 3}, {2, 3, 1, 2, 1, 2, 2, 1}})
    for (const size_t turn : {size_t{3}, high.size() - 1})
      adder.add("aten.permute_copy.default", high, 0, [turn](const Sizes& now) {
        Moved moved;
        std::vector<int64_t> dims;
        for (size_t i = 0; i < now.size(); ++i) {
          dims.push_back(static_cast<int64_t>((i + turn) % now.size()));
          moved.result.push_back(now[(i + turn) % now.size()]);
        }
        moved.args = {ints_arg(dims, "dims")};
        return moved;
      });
  adder.add_static("aten.permute_copy.default", {300, 1001}, 0, [](const Sizes& now) {
    return Moved{{ints_arg({1, 0}, "dims")}, {now[1], now[0]}};  // above 1 MB
  });
}

// ---- repetitions, padding, triangles, windows

void add_repetitions(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  Design design;
  const auto rank_of = design.add_all(kRanks);
  const auto kind_of = design.add<uint32_t>({0, 1, 2, 3});  // the dimension; 3: also a factor of 0
  const auto order_number = design.add<uint32_t>({0, 1, 2});
  const auto has_more = design.add<bool>({false, true});
  for (const Levels& l : design.rows("repetitions")) {
    const size_t rank = rank_of(l);
    const uint32_t kind = kind_of(l), order = order_number(l);
    const bool has_new_dim = has_more(l) && rank < 6;
    adder.add("aten.repeat.default", kSizes[0][rank], order, [=](const Sizes& now) {
      Moved moved{{}, now};
      std::vector<int64_t> repeats(rank, 1);
      repeats[kind % rank] = kind == 3 ? 0 : 3;
      repeats.back() += kind == 3 ? 0 : 1;
      for (size_t d = 0; d < rank; ++d) moved.result[d] *= repeats[d];
      if (has_new_dim) {
        repeats.insert(repeats.begin(), 2);
        moved.result.insert(moved.result.begin(), 2);
      }
      moved.args = {ints_arg(repeats, "repeats")};
      return moved;
    });
    // Dimensions of size 1 grow; -1 keeps a size.
    Sizes narrow = kSizes[0][rank];
    narrow[kind % rank] = 1;
    adder.add("aten.expand_copy.default", narrow, 0, [=](const Sizes& now) {
      Moved moved{{}, now};
      std::vector<int64_t> sizes(rank, -1);
      if (now[kind % rank] == 1) {
        sizes[kind % rank] = 4;
        moved.result[kind % rank] = 4;
      }
      if (has_new_dim) {
        sizes.insert(sizes.begin(), 3);
        moved.result.insert(moved.result.begin(), 3);
      }
      moved.args = {ints_arg(sizes, "size")};
      return moved;
    });
    const int64_t sign = has_more(l) ? -1 : 2;
    const auto pad = [=](const Sizes& now) {
      Moved moved{{}, now};
      std::vector<int64_t> amounts;
      for (size_t i = 0; i < std::min<size_t>(rank, kind + 1); ++i) {
        amounts.push_back(i % 2 == 0 ? 1 : sign);
        amounts.push_back(static_cast<int64_t>(i) + (kind == 2 ? 0 : 1));
        int64_t& size = moved.result[rank - 1 - i];
        size += amounts[amounts.size() - 2] + amounts.back();
      }
      moved.args = {ints_arg(amounts, "pad"), int_arg(dtype == ETB_DTYPE_BOOL ? 1 : int64_t{kind}, "value")};
      return moved;
    };
    if (sign < 0)
      adder.add_static("aten.constant_pad_nd.default", kSizes[0][rank], order, pad);
    else
      adder.add("aten.constant_pad_nd.default", kSizes[0][rank], order, pad);
  }
}

void add_triangles(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  Design design;
  const auto rank_of = design.add<size_t>({2, 3, 4, 5, 6});
  const auto offset_of = design.add<int64_t>({0, 1, -1, 3, -2});
  const auto table_of = design.add<size_t>({0, 1});
  for (const Levels& l : design.rows("triangles")) {
    const size_t rank = rank_of(l), table = table_of(l);
    const int64_t offset = offset_of(l);
    adder.add("aten.tril.default", kSizes[table][rank], 0, [=](const Sizes& now) {
      return Moved{{int_arg(offset, "diagonal")}, now};
    });
    const size_t a = table == 0 ? 0 : rank - 1, b = rank / 2 == a ? 0 : rank / 2;
    adder.add_static("aten.diagonal_copy.default", kSizes[table][rank], 0, [=](const Sizes& now) {
      Moved moved{{int_arg(offset, "offset"), int_arg(signed_dim(a, rank, true), "dim1"),
                   int_arg(signed_dim(b, rank, false), "dim2")},
                  {}};
      for (size_t d = 0; d < rank; ++d)
        if (d != a && d != b) moved.result.push_back(now[d]);
      const int64_t length =
          offset >= 0 ? std::min(now[a], now[b] - offset) : std::min(now[a] + offset, now[b]);
      moved.result.push_back(std::max<int64_t>(length, 0));
      return moved;
    });
    const size_t number = offset_of.level(l), dim = number % rank;
    adder.add_static("aten.unfold_copy.default", kSizes[0][rank], 0, [=](const Sizes& now) {
      const int64_t size = std::min<int64_t>(now[dim], 1 + static_cast<int64_t>(number) % 3),
                    step = 1 + static_cast<int64_t>(table);
      Moved moved{{int_arg(signed_dim(dim, rank, table == 1), "dimension"), int_arg(size, "size"),
                   int_arg(step, "step")},
                  now};
      moved.result[dim] = (now[dim] - size) / step + 1;
      moved.result.push_back(size);
      return moved;
    });
  }
}

// ---- views

void add_views(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  size_t at = 0;
  for (const auto& table : kSizes)
    for (size_t rank = 0; rank <= 6; ++rank) {
      const Sizes& sizes = table[rank];
      const auto product = [](const Sizes& now, size_t begin) {
        return std::accumulate(now.begin() + static_cast<std::ptrdiff_t>(begin), now.end(), int64_t{1},
                               std::multiplies<>());
      };
      adder.add_static("aten.view_copy.default", sizes, 0, [=](const Sizes& now) {
        return Moved{{ints_arg({product(now, 0)}, "size")}, {product(now, 0)}};
      });
      for (size_t keep = 0; keep + 1 < rank; ++keep)
        // The dimensions from `keep` on become one. The sizes of the others are given, so they do not change.
        adder.add("aten.view_copy.default", sizes, 0, [=](const Sizes& now) {
          Moved moved;
          std::vector<int64_t> given;
          for (size_t d = 0; d < keep; ++d) given.push_back(now[d]);
          moved.result = given;
          moved.result.push_back(product(now, keep));
          given.push_back(now.size() == rank && product(now, 0) > 0 ? -1 : product(now, keep));
          moved.args = {ints_arg(given, "size")};
          return moved;
        });
      for (const int64_t dim : {int64_t{0}, int64_t{-1}, static_cast<int64_t>(rank) / 2}) {
        if (rank == 6) continue;
        adder.add(
            "aten.unsqueeze_copy.default", sizes, static_cast<uint32_t>(++at % 2), [=](const Sizes& now) {
              Moved moved{{int_arg(dim, "dim")}, now};
              moved.result.insert(
                  dim < 0 ? moved.result.end() : moved.result.begin() + static_cast<std::ptrdiff_t>(dim), 1);
              return moved;
            });
        if (rank == 0) continue;
        Sizes ones = sizes;
        const size_t squeezed = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
        ones[squeezed] = at % 3 == 0 ? 2 : 1;  // a dimension of 2 remains
        adder.add_static("aten.squeeze_copy.dim", ones, 0, [=](const Sizes& now) {
          Moved moved{{int_arg(dim, "dim")}, now};
          if (now[squeezed] == 1)
            moved.result.erase(moved.result.begin() + static_cast<std::ptrdiff_t>(squeezed));
          return moved;
        });
        adder.add_static("aten.squeeze_copy.dims", ones, 0, [=](const Sizes& now) {
          Moved moved{{ints_arg(rank > 1 ? std::vector<int64_t>{dim, squeezed == 0 ? 1 : 0}
                                         : std::vector<int64_t>{dim},
                                "dim")},
                      {}};
          for (size_t d = 0; d < rank; ++d)
            if (now[d] != 1 || (d != squeezed && d != (squeezed == 0 ? 1u : 0u)))
              moved.result.push_back(now[d]);
          return moved;
        });
      }
    }
}

void add_shuffles(CaseList& out, etb_dtype dtype) {
  Adder adder(out, dtype);
  for (const int64_t factor : {int64_t{1}, int64_t{2}, int64_t{3}})
    for (const uint32_t order : {0u, 1u}) {
      adder.add_static("aten.pixel_shuffle.default", {2, 2 * factor * factor, 3, 5}, order,
                       [=](const Sizes& now) {
                         return Moved{{int_arg(factor, "upscale_factor")},
                                      {now[0], now[1] / factor / factor, now[2] * factor, now[3] * factor}};
                       });
      adder.add_static("aten.pixel_unshuffle.default", {2, 3, 2 * factor, 5 * factor}, order,
                       [=](const Sizes& now) {
                         return Moved{{int_arg(factor, "downscale_factor")},
                                      {now[0], now[1] * factor * factor, now[2] / factor, now[3] / factor}};
                       });
    }
}

}  // namespace

void add_slice_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    add_slices(out, dtype);
    add_splits(out, dtype);
  }
}

void add_view_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) add_views(out, dtype);
}

void add_arrangement_designs(CaseList& out) {
  for (const etb_dtype dtype : kAllDtypes) {
    add_permutations(out, dtype);
    add_repetitions(out, dtype);
    add_triangles(out, dtype);
    add_shuffles(out, dtype);
  }
}

}  // namespace etb::conformance
