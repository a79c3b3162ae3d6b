// Views, copies and their many spellings.
#include <algorithm>
#include <numeric>

#include "partitioner_sdk/passes/decomposition.hpp"

namespace etb::passes {

ValueId reshape(Builder& b, ValueId value, Dims sizes) {
  const TensorSpec spec = b.spec(value);
  Dim known = 1;
  for (const Dim size : sizes) {
    if (!size.is(-1)) known = b.symbols().mul(known, size);
  }
  for (Dim& size : sizes) {
    if (size.is(-1))
      size = known.is(0) ? Dim(0) : b.symbols().floor_div(ir::numel(b.symbols(), spec.sizes), known);
  }
  if (!infer::try_view(b.symbols(), spec, sizes)) {
    value =
        b.call("aten.clone.default", {ValueRef{value}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
  }
  return b.call("aten.view.default", {ValueRef{value}, std::move(sizes)});
}

ValueId to_dtype(Builder& b, ValueId value, Dtype dtype) {
  if (b.spec(value).dtype == dtype) return value;
  return b.call("aten._to_copy.default", {ValueRef{value}}, {{"dtype", dtype}});
}

ValueId contiguous(Builder& b, ValueId value) {
  if (ir::is_contiguous(b.symbols(), b.spec(value))) return value;
  return b.call("aten.clone.default", {ValueRef{value}}, {{"memory_format", ir::MemoryFormat::kContiguous}});
}

ValueId transpose(Builder& b, ValueId value, int64_t first, int64_t second) {
  const auto rank = static_cast<int64_t>(b.spec(value).rank());
  Dims order;
  for (int64_t i = 0; i < rank; ++i) order.emplace_back(i);
  if (rank > 0)
    std::swap(order[static_cast<size_t>((first + rank) % rank)],
              order[static_cast<size_t>((second + rank) % rank)]);
  return b.call("aten.permute.default", {ValueRef{value}, std::move(order)});
}

namespace {

Values identity(Builder&, const Arguments& a) { return {a.value(0)}; }
Values copied(Builder& b, const Arguments& a) { return {b.call("aten.clone.default", {a.ref(0)})}; }

Values transpose_two(Builder& b, const Arguments& a) {
  const size_t rank = a.tensor(0).rank();
  const size_t first = a.axis(a.integer(1), rank), second = a.axis(a.integer(2), rank);
  return {transpose(b, a.value(0), static_cast<int64_t>(first), static_cast<int64_t>(second))};
}
Values transpose_matrix(Builder& b, const Arguments& a) {
  if (a.tensor(0).rank() < 2) return {a.value(0)};
  return {transpose(b, a.value(0), 0, 1)};
}
Values transpose_last_two(Builder& b, const Arguments& a) { return {transpose(b, a.value(0), -2, -1)}; }

Values reshaped(Builder& b, const Arguments& a) { return {reshape(b, a.value(0), a.dims(1))}; }
Values view_as(Builder& b, const Arguments& a) { return {reshape(b, a.value(0), a.tensor(1).sizes)}; }
Values expand_as(Builder& b, const Arguments& a) {
  return {b.call("aten.expand.default", {a.ref(0), Argument(a.tensor(1).sizes)})};
}

Values flatten(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() == 0) return {b.call("aten.view.default", {a.ref(0), Dims{1}})};
  const size_t first = a.axis(a.integer(1), in.rank()), last = a.axis(a.integer(2), in.rank());
  if (first >= last) return {a.value(0)};
  Dims sizes(in.sizes.begin(), in.sizes.begin() + static_cast<std::ptrdiff_t>(first));
  Dim joined = 1;
  for (size_t i = first; i <= last; ++i) joined = b.symbols().mul(joined, in.sizes[i]);
  sizes.push_back(joined);
  sizes.insert(sizes.end(), in.sizes.begin() + static_cast<std::ptrdiff_t>(last) + 1, in.sizes.end());
  return {reshape(b, a.value(0), std::move(sizes))};
}

Values unflatten(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  if (in.rank() == 0) return {};
  const size_t axis = a.axis(a.integer(1), in.rank());
  Dims inner = a.dims(2);
  Dim known = 1;
  for (const Dim size : inner) {
    if (!size.is(-1)) known = b.symbols().mul(known, size);
  }
  for (Dim& size : inner) {
    if (size.is(-1)) size = b.symbols().floor_div(in.sizes[axis], known);
  }
  Dims sizes = in.sizes;
  const auto at = sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  sizes.insert(at, inner.begin(), inner.end());
  return {b.call("aten.view.default", {a.ref(0), std::move(sizes)})};
}

// Which dimensions of size 1 fall away; dimensions of another size stay, as in PyTorch.
Values squeeze_all(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  Dims dims;
  for (size_t i = 0; i < in.rank(); ++i) {
    if (in.sizes[i].is(1)) dims.emplace_back(static_cast<int64_t>(i));
  }
  return {b.call("aten.squeeze.dims", {a.ref(0), std::move(dims)})};
}
Values squeeze_one(Builder& b, const Arguments& a) {
  return {b.call("aten.squeeze.dims", {a.ref(0), Dims{a.dim(1)}})};
}

Values split_evenly(Builder& b, const Arguments& a, Dim size, Dim part, int64_t dim) {
  if (!size.is_static() || !part.is_static() || part.value() < 0 ||
      (part.value() == 0 && size.value() != 0)) {
    a.fail("split of a symbolic size");
    return {};
  }
  Dims sizes;
  for (int64_t rest = size.value(); rest > 0 || sizes.empty(); rest -= part.value()) {
    sizes.emplace_back(std::min(rest, part.value()));
    if (part.value() == 0) break;
  }
  return b.call_all("aten.split_with_sizes.default", {a.ref(0), std::move(sizes), Dim(dim)});
}
Dim split_size(const Arguments& a, int64_t dim) {
  const TensorSpec& in = a.tensor(0);
  const size_t axis = a.axis(dim, in.rank());
  return in.rank() == 0 ? Dim(1) : in.sizes[axis];
}
Values split(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2);
  return split_evenly(b, a, split_size(a, dim), a.dim(1), dim);
}
Values chunk(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(2), count = a.integer(1);
  const Dim size = split_size(a, dim);
  if (count <= 0) {
    a.fail("chunk into none");
    return {};
  }
  return split_evenly(b, a, size, b.symbols().floor_div(b.symbols().add(size, count - 1), count), dim);
}
Values unbind(Builder& b, const Arguments& a) {
  const int64_t dim = a.integer(1);
  const Dim size = split_size(a, dim);
  if (!size.is_static() || a.tensor(0).rank() == 0) {
    a.fail("unbind of a symbolic size");
    return {};
  }
  Values slices, out;
  for (int64_t i = 0; i < size.value(); ++i) {
    slices.push_back(b.call("aten.slice.Tensor", {a.ref(0), Dim(dim), Dim(i), Dim(i + 1)}));
  }
  for (const ValueId slice : slices) {
    out.push_back(b.call("aten.squeeze.dims", {ValueRef{slice}, Dims{Dim(dim)}}));
  }
  return out;
}
// A slice of everything is nothing.
Values slice_of_all(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const auto out = infer::infer(b.module(), b.graph(), b.module().op("aten.slice.Tensor"), a.arguments());
  if (out && out->front().sizes == in.sizes) return {a.value(0)};
  return {};
}
Values narrow(Builder& b, const Arguments& a) {
  const Dim end = b.symbols().add(a.dim(2), a.dim(3));
  return {b.call("aten.slice.Tensor", {a.ref(0), a.argument(1), a.dim(2), end})};
}

Values stack(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  if (parts.empty()) return {};
  const TensorSpec first = b.spec(parts[0]);
  const size_t axis = a.axis(a.integer(1), first.rank() + 1);
  if (axis == first.rank()) {
    ir::ValueList columns;
    for (const ValueId part : parts) {
      columns.ids.push_back(
          b.call("aten.unsqueeze.default", {ValueRef{part}, Dim(static_cast<int64_t>(axis))}));
    }
    return {b.call("aten.cat.default", {std::move(columns), Dim(static_cast<int64_t>(axis))})};
  }
  const ValueId joined = b.call("aten.cat.default", {ir::ValueList{parts}, Dim(static_cast<int64_t>(axis))});
  Dims sizes = first.sizes;
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), Dim(static_cast<int64_t>(parts.size())));
  return {b.call("aten.view.default", {ValueRef{joined}, std::move(sizes)})};
}

Values make_contiguous(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const auto format = a.memory_format(1).value_or(ir::MemoryFormat::kContiguous);
  const bool is_so = format == ir::MemoryFormat::kPreserve ||
                     (format == ir::MemoryFormat::kContiguous ? ir::is_contiguous(b.symbols(), in)
                                                              : ir::is_channels_last(b.symbols(), in));
  if (is_so) return {a.value(0)};
  return {b.call("aten.clone.default", {a.ref(0)}, {{"memory_format", format}})};
}

// All overloads of `to`: nothing when nothing changes, else one copy.
Values to_any(Builder& b, const Arguments& a, std::optional<Dtype> dtype, size_t copy_index,
              size_t format_index) {
  const TensorSpec in = a.tensor(0);
  const auto format = a.memory_format(format_index);
  const bool changes_format =
      (format == ir::MemoryFormat::kContiguous && !ir::is_contiguous(b.symbols(), in)) ||
      ((format == ir::MemoryFormat::kChannelsLast || format == ir::MemoryFormat::kChannelsLast3d) &&
       !ir::is_channels_last(b.symbols(), in));
  const bool changes_dtype = dtype && *dtype != in.dtype;
  if (!changes_dtype && !changes_format && !a.flag(copy_index)) return {a.value(0)};
  std::vector<Builder::Named> named;
  if (changes_dtype) named.push_back({"dtype", *dtype});
  if (format) named.push_back({"memory_format", *format});
  return {b.call("aten._to_copy.default", {a.ref(0)}, std::move(named))};
}
Values to_dtype_overload(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(1), 3, 4); }
Values to_dtype_layout(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(1), 6, 7); }
Values to_device(Builder& b, const Arguments& a) { return to_any(b, a, a.dtype(2), 4, 5); }
Values to_other(Builder& b, const Arguments& a) { return to_any(b, a, a.tensor(1).dtype, 3, 4); }
Values type_as(Builder& b, const Arguments& a) { return {to_dtype(b, a.value(0), a.tensor(1).dtype)}; }

Values pixel_shuffle(Builder& b, const Arguments& a) {
  const TensorSpec in = a.tensor(0);
  const int64_t factor = a.integer(1);
  if (in.rank() < 3 || factor <= 0) return {};
  ir::SymbolTable& symbols = b.symbols();
  const auto batch = static_cast<std::ptrdiff_t>(in.rank() - 3);
  const Dim channels = symbols.floor_div(in.sizes[in.rank() - 3], factor * factor);
  const Dim height = in.sizes[in.rank() - 2], width = in.sizes[in.rank() - 1];
  Dims split_sizes(in.sizes.begin(), in.sizes.begin() + batch), sizes = split_sizes;
  split_sizes.insert(split_sizes.end(), {channels, Dim(factor), Dim(factor), height, width});
  sizes.insert(sizes.end(), {channels, symbols.mul(height, factor), symbols.mul(width, factor)});
  Dims order;
  for (int64_t i = 0; i < batch; ++i) order.emplace_back(i);
  for (const int64_t i : {0, 3, 1, 4, 2}) order.emplace_back(batch + i);
  const ValueId cut = b.call("aten.view.default", {a.ref(0), std::move(split_sizes)});
  const ValueId turned = b.call("aten.permute.default", {ValueRef{cut}, std::move(order)});
  const ValueId joined = reshape(b, turned, std::move(sizes));
  return {
      b.call("aten.clone.default", {ValueRef{joined}}, {{"memory_format", ir::MemoryFormat::kContiguous}})};
}

Values move_axes(Builder& b, const Arguments& a) {
  const auto rank = a.tensor(0).rank();
  const Dims from = a.dims(1), to = a.dims(2);
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> is_moved(rank, false);
  for (size_t i = 0; i < from.size() && i < to.size(); ++i) {
    const size_t source = a.axis(from[i].value(), rank), target = a.axis(to[i].value(), rank);
    if (source >= rank || target >= rank) return {};
    order[target] = static_cast<int64_t>(source);
    is_moved[source] = true;
  }
  size_t next = 0;
  Dims dims;
  for (const int64_t source : order) {
    if (source >= 0) {
      dims.emplace_back(source);
      continue;
    }
    while (is_moved[next]) ++next;
    dims.emplace_back(static_cast<int64_t>(next++));
  }
  return {b.call("aten.permute.default", {a.ref(0), std::move(dims)})};
}

// Lines of the tensors' elements, each along its own dimension and as wide as all others.
Values meshgrid(Builder& b, const Arguments& a) {
  std::vector<ValueId> parts = a.values(0);
  const auto* indexing = a.argument_count() > 1 ? ir::get_if<std::string>(a.argument(1)) : nullptr;
  const bool swaps = indexing != nullptr && *indexing == "xy" && parts.size() >= 2;
  if (swaps) std::swap(parts[0], parts[1]);
  Dims sizes;
  for (const ValueId part : parts) sizes.push_back(ir::numel(b.symbols(), b.spec(part).sizes));
  Values out;
  for (size_t i = 0; i < parts.size(); ++i) {
    Dims line(parts.size(), Dim(1));
    line[i] = sizes[i];
    const ValueId own = reshape(b, parts[i], std::move(line));
    ValueId grid = b.call("aten.expand.default", {ValueRef{own}, Argument(sizes)});
    if (swaps) grid = transpose(b, grid, 0, 1);
    out.push_back(grid);
  }
  if (swaps) std::swap(out[0], out[1]);
  return out;
}

// Tensors of too few dimensions get leading ones.
Values stack_along(Builder& b, const Arguments& a, size_t least_rank, int64_t dim) {
  ir::ValueList parts;
  for (ValueId part : a.values(0)) {
    Dims sizes = sizes_of(b, part);
    if (sizes.size() < least_rank) {
      sizes.insert(sizes.begin(), least_rank - sizes.size(), Dim(1));
      part = b.call("aten.view.default", {ValueRef{part}, std::move(sizes)});
    }
    parts.ids.push_back(part);
  }
  if (parts.ids.empty()) return {};
  return {b.call("aten.cat.default", {std::move(parts), Dim(dim)})};
}
Values hstack(Builder& b, const Arguments& a) {
  const std::vector<ValueId> parts = a.values(0);
  const bool are_lines = !parts.empty() && b.spec(parts[0]).rank() <= 1;
  return stack_along(b, a, 1, are_lines ? 0 : 1);
}
Values vstack(Builder& b, const Arguments& a) { return stack_along(b, a, 2, 0); }

Values outer(Builder& b, const Arguments& a) {
  const ValueId column = b.call("aten.view.default", {a.ref(0), Dims{a.tensor(0).sizes.at(0), Dim(1)}});
  return {b.call("aten.mul.Tensor", {ValueRef{column}, a.ref(1)})};
}

Values tile(Builder& b, const Arguments& a) {
  Dims counts = a.dims(1);
  while (counts.size() < a.tensor(0).rank()) counts.insert(counts.begin(), Dim(1));
  return {b.call("aten.repeat.default", {a.ref(0), std::move(counts)})};
}

}  // namespace

std::span<const Decomposition> view_decompositions() {
  static constexpr Decomposition kRows[] = {
      {"aten._unsafe_view.default", reshaped},
      {"aten.alias.default", identity},
      {"aten.chunk.default", chunk},
      {"aten.contiguous.default", make_contiguous},
      {"aten.detach.default", identity},
      {"aten.detach_.default", identity},
      {"aten.expand_as.default", expand_as},
      {"aten.flatten.using_ints", flatten},
      {"aten.hstack.default", hstack},
      {"aten.lift_fresh.default", identity},
      {"aten.lift_fresh_copy.default", copied},
      {"aten.mT.default", transpose_last_two},
      {"aten.meshgrid.default", meshgrid},
      {"aten.meshgrid.indexing", meshgrid},
      {"aten.movedim.int", move_axes},
      {"aten.movedim.intlist", move_axes},
      {"aten.narrow.default", narrow},
      {"aten.numpy_T.default", transpose_matrix},
      {"aten.outer.default", outer},
      {"aten.pixel_shuffle.default", pixel_shuffle},
      {"aten.reshape.default", reshaped},
      {"aten.slice.Tensor", slice_of_all},
      {"aten.split.Tensor", split},
      {"aten.squeeze.default", squeeze_all},
      {"aten.squeeze.dim", squeeze_one},
      {"aten.stack.default", stack},
      {"aten.t.default", transpose_matrix},
      {"aten.tile.default", tile},
      {"aten.to.device", to_device},
      {"aten.to.dtype", to_dtype_overload},
      {"aten.to.dtype_layout", to_dtype_layout},
      {"aten.to.other", to_other},
      {"aten.transpose.int", transpose_two},
      {"aten.type_as.default", type_as},
      {"aten.unbind.int", unbind},
      {"aten.unflatten.int", unflatten},
      {"aten.view_as.default", view_as},
      {"aten.vstack.default", vstack},
  };
  return kRows;
}

}  // namespace etb::passes
