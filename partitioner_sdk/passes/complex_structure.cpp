// SPDX-License-Identifier: Apache-2.0
// Complex numbers: ops that move elements, convert dtypes, or take complex numbers apart and together.
#include <algorithm>

#include "partitioner_sdk/passes/complex_builder.hpp"

namespace etb::passes {

namespace {

// Ops that compute each part of a result from that part of the operands, with the same arguments.
constexpr std::string_view kActOnParts[] = {"_chunk_cat",
                                            "_reshape_alias",
                                            "_unsafe_index",
                                            "_unsafe_index_put",
                                            "_unsafe_view",
                                            "add",
                                            "alias",
                                            "alias_copy",
                                            "as_strided",
                                            "as_strided_copy",
                                            "broadcast_to",
                                            "cat",
                                            "channel_shuffle",
                                            "chunk",
                                            "clone",
                                            "col2im",
                                            "concat",
                                            "concatenate",
                                            "constant_pad_nd",
                                            "contiguous",
                                            "copy",
                                            "cumsum",
                                            "detach",
                                            "detach_copy",
                                            "diag",
                                            "diag_embed",
                                            "diagonal",
                                            "diagonal_copy",
                                            "diagonal_scatter",
                                            "diff",
                                            "embedding",
                                            "expand",
                                            "expand_as",
                                            "expand_copy",
                                            "fft_fftshift",
                                            "fft_ifftshift",
                                            "fill",
                                            "flatten",
                                            "flip",
                                            "full",
                                            "full_like",
                                            "gather",
                                            "index",
                                            "index_add",
                                            "index_copy",
                                            "index_fill",
                                            "index_put",
                                            "index_select",
                                            "lift_fresh",
                                            "lift_fresh_copy",
                                            "linspace",
                                            "mT",
                                            "masked_fill",
                                            "masked_scatter",
                                            "masked_select",
                                            "mean",
                                            "moveaxis",
                                            "movedim",
                                            "nan_to_num",
                                            "narrow",
                                            "narrow_copy",
                                            "neg",
                                            "numpy_T",
                                            "permute",
                                            "permute_copy",
                                            "pixel_shuffle",
                                            "pixel_unshuffle",
                                            "put",
                                            "ravel",
                                            "reflection_pad1d",
                                            "reflection_pad2d",
                                            "reflection_pad3d",
                                            "repeat",
                                            "repeat_interleave",
                                            "replication_pad1d",
                                            "replication_pad2d",
                                            "replication_pad3d",
                                            "reshape",
                                            "reshape_as",
                                            "roll",
                                            "rot90",
                                            "scatter",
                                            "scatter_add",
                                            "select",
                                            "select_copy",
                                            "select_scatter",
                                            "slice",
                                            "slice_copy",
                                            "slice_scatter",
                                            "split",
                                            "split_copy",
                                            "split_with_sizes",
                                            "split_with_sizes_copy",
                                            "squeeze",
                                            "squeeze_copy",
                                            "stack",
                                            "sub",
                                            "sum",
                                            "swapaxes",
                                            "t",
                                            "t_copy",
                                            "take",
                                            "take_along_dim",
                                            "tensor_split",
                                            "tile",
                                            "trace",
                                            "transpose",
                                            "transpose_copy",
                                            "tril",
                                            "triu",
                                            "unbind",
                                            "unbind_copy",
                                            "unflatten",
                                            "unfold",
                                            "unfold_copy",
                                            "unsafe_chunk",
                                            "unsafe_split",
                                            "unsafe_split_with_sizes",
                                            "unsqueeze",
                                            "unsqueeze_copy",
                                            "view",
                                            "view_as",
                                            "view_copy",
                                            "where"};

// Arguments that are the same for both parts.
constexpr std::string_view kSharedArguments[] = {
    "alpha", "condition", "index",  "indices", "mask",
    "nan",   "neginf",    "posinf", "repeats", "tensor_indices_or_sections"};

bool is_one_of(std::span<const std::string_view> sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

// Returns one part of a number: the part of a complex number, the number itself or 0.
Argument part_of_number(const Argument& number, bool is_real) {
  if (const auto* value = ir::get_if<ir::Complex>(number)) return is_real ? value->real : value->imaginary;
  if (is_real) return number;
  if (ir::get_if<bool>(number) != nullptr) return false;
  return ir::get_if<Dim>(number) != nullptr ? Argument(Dim(0)) : Argument(0.0);
}

// Returns the dtype of the result: the declared one, else that of all operands.
Dtype dtype_of_result(ComplexBuilder& b, const Call& call, std::span<const TensorSpec> declared) {
  if (!declared.empty()) return declared[0].dtype;
  std::optional<Dtype> out;
  const ops::Schema& schema = *call.op().schema;
  for (uint32_t i = 0; i < call.arguments().size(); ++i) {
    if (const auto* dtype = ir::get_if<Dtype>(call.arguments()[i])) return *dtype;
    if (ir::get_if<ir::Complex>(call.arguments()[i]) != nullptr)
      out = out ? infer::promote_dtypes(*out, Dtype::COMPLEX64) : Dtype::COMPLEX64;
    if (is_one_of(kSharedArguments, schema.argument(i).name)) continue;
    ir::for_each_value(call.arguments()[i], [&](ValueId id) {
      out = out ? infer::promote_dtypes(*out, b.spec(id).dtype) : b.spec(id).dtype;
    });
  }
  return out.value_or(Dtype::COMPLEX64);
}

// The arguments of an op for one of both parts.
class PartArguments {
 public:
  PartArguments(ComplexBuilder& b, const Call& call, Dtype dtype) : b_(b), call_(call), dtype_(dtype) {}

  std::vector<Argument> of(bool is_real) {
    std::vector<Argument> out;
    const ops::Schema& schema = *call_.op().schema;
    for (uint32_t i = 0; i < call_.arguments().size(); ++i) {
      const ops::Argument row = schema.argument(i);
      const Argument& argument = call_.arguments()[i];
      out.push_back(is_one_of(kSharedArguments, row.name) ? argument : part(argument, row, is_real));
    }
    return out;
  }

 private:
  Argument part(const Argument& argument, const ops::Argument& row, bool is_real) {
    if (const auto* dtype = ir::get_if<Dtype>(argument)) return ops::real_part(*dtype);
    if (const auto* ref = ir::get_if<ValueRef>(argument)) return ValueRef{tensor(ref->id, is_real)};
    if (const auto* list = ir::get_if<ir::ValueList>(argument)) {
      ir::ValueList out;
      for (const ValueId id : list->ids) out.ids.push_back(id == ir::kNoValue ? id : tensor(id, is_real));
      return out;
    }
    const bool is_number = row.type.base == ops::BaseType::kScalar || row.type.base == ops::BaseType::kTensor;
    if (!is_number || ir::get_if<Nothing>(argument) != nullptr) return argument;
    return part_of_number(argument, is_real);
  }

  // A real operand of another dtype is converted, so that the parts agree.
  ValueId tensor(ValueId id, bool is_real) {
    if (b_.graph().values[id].kind != ir::ValueKind::kTensor) return id;
    const ValueId converted = to_dtype(b_,
                                       b_.is_complex(id) && is_real ? b_.real(id)
                                       : b_.is_complex(id)          ? b_.imaginary(id)
                                                                    : id,
                                       ops::real_part(dtype_));
    return is_real || b_.is_complex(id) ? converted : b_.filled(converted, 0);
  }

  ComplexBuilder& b_;
  const Call& call_;
  Dtype dtype_;
};

Values conjugate(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0);
  if (!b.is_complex(self)) return {self};
  const Parts x = b.parts(self);
  return {b.make({x.re, -x.im}, b.spec(self).dtype)};
}
Values same(ComplexBuilder&, const Call& a) { return {a.read_tensor(0)}; }
Values negated_view(ComplexBuilder& b, const Call& a) {
  return {b.call("aten.neg.default", {a.argument(0)})};
}

// The transposed conjugate.
Values adjoint(ComplexBuilder& b, const Call& a) {
  const ValueId turned = b.spec(a.read_tensor(0)).rank() < 2 ? ValueId(a.read_tensor(0))
                                                             : transpose(b, a.read_tensor(0), -2, -1);
  return {b.call("aten._conj.default", {ValueRef{turned}})};
}

Values real_part(ComplexBuilder& b, const Call& a) { return {b.real(a.read_tensor(0))}; }
Values imaginary_part(ComplexBuilder& b, const Call& a) { return {b.imaginary(a.read_tensor(0))}; }
Values view_as_real(ComplexBuilder& b, const Call& a) { return {b.pair(a.read_tensor(0))}; }
Values view_as_complex(ComplexBuilder& b, const Call& a) { return {b.make_from_pair(a.read_tensor(0))}; }

Values complex_of_parts(ComplexBuilder& b, const Call& a) {
  const ValueId re = a.read_tensor(0), im = a.read_tensor(1);
  return {b.make({b.real_value(re), b.real_value(im)}, b.spec(re).dtype)};
}
Values polar(ComplexBuilder& b, const Call& a) {
  const ValueId length = a.read_tensor(0);
  const Real angle = b.real_value(a.read_tensor(1)), r = b.real_value(length);
  return {
      b.make({r * compute("cos.default", angle), r * compute("sin.default", angle)}, b.spec(length).dtype)};
}

// Converts to `target`: between complex dtypes part by part; to a real one without the imaginary part, as in
// PyTorch; to bool by comparison with 0.
ValueId converted(ComplexBuilder& b, ValueId value, Dtype target) {
  const Parts x = b.parts(value);
  if (ops::is_complex(target)) return b.make(x, target);
  if (!ops::is_bool(target) || !b.is_complex(value)) return to_dtype(b, x.re.id, target);
  return compute("logical_or.default", compute("ne.Scalar", x.re, b.number(0)),
                 compute("ne.Scalar", x.im, b.number(0)))
      .id;
}

// to, _to_copy and type_as, in their overloads.
Values convert(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0);
  Dtype target = b.spec(self).dtype;
  for (size_t i = 1; i < a.arguments().size(); ++i) {
    if (const auto* dtype = ir::get_if<Dtype>(a.argument(i))) target = *dtype;
    if (const TensorSpec* other = a.argument(i).find_tensor()) target = other->dtype;
  }
  const bool is_kept = ops::is_complex(target) || ops::is_bool(target);
  if (!b.is_complex(self) && !is_kept) return {};
  // A decomposition that computes in a real dtype was written for real numbers.
  if (!is_kept && b.declared().empty()) {
    a.fail("a step of real numbers reads complex ones");
    return {};
  }
  return {converted(b, self, target)};
}

// A view with the sizes of another tensor, where either may be real.
Values as_other(ComplexBuilder& b, const Call& a) {
  const ValueId self = a.read_tensor(0), other = a.read_tensor(1);
  const Argument sizes = b.spec(other).sizes;
  const bool expands = a.op().schema->base_name() == "expand_as";
  return {b.call(expands ? "aten.expand.default" : "aten.reshape.default", {ValueRef{self}, sizes})};
}

// Creation: the imaginary part of a number is 0. A real tensor like a complex one is created in one piece.
Values create(ComplexBuilder& b, const Call& a) {
  const bool is_like = a.op().schema->base_name() == "full_like";
  const Argument& number = a.argument(1);
  std::optional<Dtype> dtype;
  for (const Argument& argument : a.arguments())
    if (const auto* given = ir::get_if<Dtype>(argument)) dtype = *given;
  const TensorSpec* self = a.argument(0).find_tensor();
  if (!dtype && self != nullptr) dtype = self->dtype;
  if (!dtype && ir::get_if<ir::Complex>(number) == nullptr) return {};
  const Dtype made = dtype.value_or(Dtype::COMPLEX64);
  const auto filled = [&](const Argument& value) {
    if (is_like) {
      const ValueId like = b.real(a.read_tensor(0));
      return b.call("aten.full_like.default", {ValueRef{like}, value},
                    {{"pin_memory", false},
                     {"memory_format", ir::MemoryFormat::kPreserve},
                     {"dtype", ops::real_part(made)}});
    }
    return b.call("aten.full.default", {a.argument(0), value},
                  {{"dtype", ops::real_part(made)},
                   {"layout", ir::Layout::kStrided},
                   {"device", ir::Device{"cpu"}},
                   {"pin_memory", false}});
  };
  const ValueId re = filled(part_of_number(number, true));
  if (!ops::is_complex(made)) return {re};
  const ValueId im = filled(part_of_number(number, false));
  return {b.make({b.real_value(re), b.real_value(im)}, made)};
}
Values scalar_tensor(ComplexBuilder& b, const Call& a) {
  std::optional<Dtype> dtype;
  for (const Argument& argument : a.arguments())
    if (const auto* given = ir::get_if<Dtype>(argument)) dtype = *given;
  return {
      b.call("aten.full.default", {Dims{}, a.argument(0)}, {{"dtype", dtype.value_or(Dtype::COMPLEX64)}})};
}

// Uninitialised complex tensors have no values that could be compared.
Values empty(ComplexBuilder& b, const Call& a) {
  const bool is_like = a.argument(0).find_tensor() != nullptr;
  std::optional<Dtype> dtype;
  for (const Argument& argument : a.arguments())
    if (const auto* given = ir::get_if<Dtype>(argument)) dtype = *given;
  if (!dtype && is_like) dtype = a.read_tensor(0).spec().dtype;
  const size_t sizes_at = a.op().schema->base_name() == "new_empty" ? 1 : 0;
  const Argument sizes = a.op().schema->base_name() == "empty_like" ? Argument(a.read_tensor(0).spec().sizes)
                                                                    : Argument(a.argument(sizes_at));
  return {b.call("aten.full.default", {sizes, Dim(0)}, {{"dtype", dtype.value_or(Dtype::COMPLEX64)}})};
}

// Fourier transforms read and write complex tensors.
template <bool returns_complex>
Values transform(ComplexBuilder& b, const Call& a) {
  std::vector<Argument> args(a.arguments().begin(), a.arguments().end());
  args[0] = ValueRef{b.whole(a.read_tensor(0))};
  const ValueId made = b.call_unchanged(a.op().name, std::move(args));
  return {returns_complex ? b.make_from_whole(made) : made};
}

}  // namespace

bool acts_on_parts(std::string_view base_name) { return is_one_of(kActOnParts, base_name); }

Values apply_to_parts(ComplexBuilder& b, const Call& call, std::span<const TensorSpec> declared) {
  const Dtype dtype = dtype_of_result(b, call, declared);
  PartArguments arguments(b, call, dtype);
  const std::vector<Argument> of_real = arguments.of(true), of_imaginary = arguments.of(false);
  if (b.has_failed()) return {};
  const std::string name = call.op().name;
  std::vector<TensorSpec> specs(declared.begin(), declared.end());
  for (TensorSpec& spec : specs) spec.dtype = ops::real_part(spec.dtype);
  const auto results = [&](const std::vector<Argument>& args) {
    return specs.empty() ? b.call_all(name, args) : b.add_declared(b.module().op(name), args, specs);
  };
  const Values re = results(of_real), im = results(of_imaginary);
  Values out;
  for (size_t i = 0; i < re.size() && i < im.size(); ++i)
    out.push_back(b.make({b.real_value(re[i]), b.real_value(im[i])}, dtype));
  return out;
}

std::span<const ComplexRule> complex_structure_rules() {
  static constexpr ComplexRule kRows[] = {
      {"aten._conj", conjugate},
      {"aten._conj_physical", conjugate},
      {"aten._fft_c2c", transform<true>},
      {"aten._fft_c2r", transform<false>},
      {"aten._fft_r2c", transform<true>},
      {"aten._neg_view", negated_view},
      {"aten._to_copy", convert},
      {"aten.adjoint", adjoint},
      {"aten.complex", complex_of_parts},
      {"aten.conj", conjugate},
      {"aten.conj_physical", conjugate},
      {"aten.empty", empty},
      {"aten.empty_like", empty},
      {"aten.expand_as", as_other},
      {"aten.full", create},
      {"aten.full_like", create},
      {"aten.imag", imaginary_part},
      {"aten.mH", adjoint},
      {"aten.matrix_H", adjoint},
      {"aten.new_empty", empty},
      {"aten.polar", polar},
      {"aten.real", real_part},
      {"aten.reshape_as", as_other},
      {"aten.resolve_conj", same},
      {"aten.resolve_neg", same},
      {"aten.scalar_tensor", scalar_tensor},
      {"aten.to", convert},
      {"aten.type_as", convert},
      {"aten.view_as", as_other},
      {"aten.view_as_complex", view_as_complex},
      {"aten.view_as_complex_copy", view_as_complex},
      {"aten.view_as_real", view_as_real},
      {"aten.view_as_real_copy", view_as_real},
  };
  return kRows;
}

}  // namespace etb::passes
