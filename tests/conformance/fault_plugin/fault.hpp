// SPDX-License-Identifier: Apache-2.0
// The planted fault of a library. fault_number.cpp is compiled once per library with -DETB_FAULT=n (0: none)
// and -DETB_VARIANT=n (benign: 1 other order of sums, 2 fused multiply-add, 3 sixteen lanes, 4 float64 sums,
// 5 a slow device, 6 one that also needs two seconds to begin, 7 a cache that fills up, 8 a digest in its payloads).
// The other files are compiled once. ../fault_rows.def lists the faults.
#pragma once

namespace faulty {

extern const int kFault;
extern const int kVariant;

// Number of the library in which any function can be broken (broken_function.hpp).
inline constexpr int kBreakable = -1;

inline bool has_fault(int number) { return kFault == number; }

}  // namespace faulty
