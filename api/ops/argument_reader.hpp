// SPDX-License-Identifier: Apache-2.0
// Interface between the named arguments of an operator and the code that reads their values.
//
// Each row of schemas.txt becomes a class template of the same name in a header made while the product is built:
// "ops/add.hpp" holds every overload of aten.add and aten.add_, "ops/quantized_decomposed/add.hpp" those of
// quantized_decomposed.add. aten's classes are in namespace etb::ops, all others in a namespace of their own below it:
//
//   row                        class
//   aten.add.Tensor            ops::add_Tensor
//   aten.relu.default          ops::relu_default
//   aten.add_.Tensor           ops::add_in_place_Tensor
//   aten.__and__.Scalar        ops::_and_Scalar
//   quantized_decomposed.add.out   ops::quantized_decomposed::add_out
//
// Such a view derives from its template argument, the reader, and inherits its constructors:
//
//   #include "ops/slice_copy.hpp"
//   ops::slice_copy_Tensor_out<KernelArguments> args(values);
//   const Tensor& self = args.self();  // is KernelArguments::read_tensor(0)
//
// One accessor an argument, with the argument's name; a keyword of C++ gets a trailing underscore. An accessor is only
// compiled where it is used, and returns what the reader returns: a reader has the functions below that its users need, with
// types of its own. Accessors hide members of the reader with the same name; Reader::dim(...) still reaches them.
//
//   schema                 reader
//   tensor                 read_tensor(index)
//   tensor?                read_optional_tensor(index)
//   tensor[]               read_tensor_list(index)
//   tensor?[]              read_list_of_optional_tensors(index)
//   tensor?[]?             read_optional_list_of_optional_tensors(index)
//   tensor!a               read_written_tensor(index)          an out argument, or one written in place
//   tensor[]!a             read_written_tensor_list(index)
//   scalar, scalar?        read_scalar(index), read_optional_scalar(index)
//   int, int?              read_int(index), read_optional_int(index)
//   float, float?          read_float(index), read_optional_float(index)
//   bool, bool?            read_bool(index), read_optional_bool(index)
//   string, string?        read_string(index), read_optional_string(index)
//   complex                read_complex(index)
//   dtype, dtype?          read_dtype(index), read_optional_dtype(index); the same for layout, memory_format, device, generator
//   int[], int[2]          read_int_list(index, list_size)     list_size: 2; 0 where no number is accepted for the list
//   int[]?, int[1]?        read_optional_int_list(index, list_size)
//   float[], float[]?      read_float_list(index), read_optional_float_list(index); the same for bool[] and scalar[]
//
// A view also has, as constants:
//
//   kName             "aten.slice_copy.Tensor_out"
//   kProgramName      "aten::slice_copy.Tensor_out", the spelling of programs; "aten::copy_" for an overload called default
//   kArgumentNames    "self dim start end step out"
//   kLetters          "TinniT!", the signature of a kernel; host/runtime/kernel_registry.hpp has the alphabet
//   kArgumentCount    6
//   Index::step       4, the position of an argument
#pragma once

namespace etb::ops {

// For code that only needs the constants of a view: View<NoReader>::Index::step.
struct NoReader {};

// A reader can be read from through a reference to const, because views are passed by value.
template <class R>
concept ArgumentReader = requires(const R& reader) {
  reader.read_tensor(0u);
  reader.read_optional_tensor(0u);
  reader.read_int(0u);
  reader.read_bool(0u);
  reader.read_int_list(0u, 0u);
};

}  // namespace etb::ops
