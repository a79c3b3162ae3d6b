// SPDX-License-Identifier: Apache-2.0
// The table of one variant.
#include "host/kernels/vector/table.hpp"

#include "host/kernels/vector/variant.hpp"

namespace etb::host {
namespace ETB_VARIANT {
extern const ElementLoops kElementLoops;
extern const ConvertLoops kConvertLoops;
extern const MatrixLoops kMatrixLoops;
extern const RowLoops<float> kFloatRows;
extern const RowLoops<double> kDoubleRows;
extern const RowLoops<int64_t> kIntegerRows;
extern const LinearLoops<float> kFloatLinear;
extern const LinearLoops<double> kDoubleLinear;
extern const LinearLoops<ComplexNumber<float>> kComplex64Linear;
extern const LinearLoops<ComplexNumber<double>> kComplex128Linear;
extern const FourierLoops<float> kFloatFourier;
extern const FourierLoops<double> kDoubleFourier;
extern const AttentionLoops kAttentionLoops;
extern const VectorTable kTable;

#define ETB_TEXT_(name) #name
#define ETB_TEXT(name) ETB_TEXT_(name)
const VectorTable kTable = {ETB_TEXT(ETB_VARIANT), &kElementLoops,    &kConvertLoops,     &kMatrixLoops,
                            &kFloatRows,           &kDoubleRows,      &kIntegerRows,      &kFloatLinear,
                            &kDoubleLinear,        &kComplex64Linear, &kComplex128Linear, &kFloatFourier,
                            &kDoubleFourier,       &kAttentionLoops};
}  // namespace ETB_VARIANT
}  // namespace etb::host
