// SPDX-License-Identifier: Apache-2.0
// The kernels of functions.def and kernels.def as an enum.
#pragma once

#include <array>
#include <cstdint>

namespace etb::gpu {

enum class Kernel : uint16_t {
#define ETB_GPU_UNARY(name, ...) kUnary##name,
#define ETB_GPU_BINARY(name, ...) kBinary##name, kBroadcast##name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, ...) k##name,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

inline constexpr uint32_t kKernelBindings[] = {
#define ETB_GPU_UNARY(...) 2,
#define ETB_GPU_BINARY(...) 3, 3,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, file, bindings, ...) bindings,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

inline constexpr const char* kKernelNames[] = {
#define ETB_GPU_UNARY(name, ...) "Unary" #name,
#define ETB_GPU_BINARY(name, ...) "Binary" #name, "Broadcast" #name,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, ...) #name,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};

inline constexpr uint32_t kKernelCount = sizeof(kKernelBindings) / sizeof(kKernelBindings[0]);

constexpr uint32_t index_of(Kernel kernel) { return static_cast<uint32_t>(kernel); }

// Kernels for products and convolutions.
enum class KernelFamily : uint8_t {
  kRegisters,  // for every device
  kTiles,      // for CPU drivers of Vulkan: subgroups of eight, shuffles, texel buffers of 2^25 texels
  kVectors,    // for CPU drivers of OpenCL: a tile of vectors of 16 numbers by each work-item
  kGroups,     // for GPUs: a tile by each workgroup, whose invocations share loads and wait for each other
};

inline constexpr KernelFamily kKernelFamilies[] = {
#define ETB_GPU_UNARY(...) KernelFamily::kRegisters,
#define ETB_GPU_BINARY(...) KernelFamily::kRegisters, KernelFamily::kRegisters,
#include "plugins/gpu/kernels/functions.def"
#undef ETB_GPU_BINARY
#undef ETB_GPU_UNARY
#define ETB_GPU_KERNEL(name, file, bindings, macros, family) KernelFamily::family,
#include "plugins/gpu/kernels/kernels.def"
#undef ETB_GPU_KERNEL
};
constexpr KernelFamily family_of(Kernel kernel) { return kKernelFamilies[index_of(kernel)]; }

// HALVES of kernel.glsl: bit k is set if buffer k has float16. Then the kernel may be of the set that uses the device's own numbers of
// float16, and compute a function of single elements in float16.
inline constexpr uint32_t kArithmeticBit = 1u << 8, kInHalfBit = 1u << 9;

inline constexpr uint32_t kLargestGroup = 256;             // invocations of a workgroup of kGroups
inline constexpr uint64_t kSharedMemoryBytes = 16 * 1024;  // that its kernels need at most

// Invocations of a workgroup, for kernels that work with one number only; 0 for the others.
constexpr uint32_t fixed_group_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::kGroupMatmul:
    case Kernel::kGroupMatmulEdge:
    case Kernel::kGroupMatmulNarrow:
    case Kernel::kGroupMatmulNarrowEdge:
    case Kernel::kGroupMatmul16:
    case Kernel::kGroupMatmul16Narrow:
    case Kernel::kGroupMatmul8:
    case Kernel::kGroupMatmul8Narrow:
    case Kernel::kGroupMatmul4:
    case Kernel::kGroupMatmul4Narrow:
    case Kernel::kGroupConvolution:
    case Kernel::kGroupAttention:
    case Kernel::kGroupAttentionEdge:
      return 64;
    case Kernel::kGroupMatmulSlices:
    case Kernel::kGroupMatmulSlicesEdge:
    case Kernel::kGroupMatmul16Slices:
    case Kernel::kGroupMatmul8Slices:
    case Kernel::kGroupMatmul4Slices:
    case Kernel::kGroupConvolutionSlices:
      return kLargestGroup;
    default:
      return 0;
  }
}

// True if invocations are counted in one dimension: workgroups may then be spread over two. Products and convolutions
// have workgroups along three.
constexpr bool is_linear(Kernel kernel) {
  switch (kernel) {
    case Kernel::kMatmulWide:
    case Kernel::kMatmulWideEdge:
    case Kernel::kMatmulNarrow:
    case Kernel::kMatmulNarrowEdge:
    case Kernel::kMatmul8Wide:
    case Kernel::kMatmul8WideEdge:
    case Kernel::kMatmul8Narrow:
    case Kernel::kMatmul8NarrowEdge:
    case Kernel::kMatmul4Wide:
    case Kernel::kMatmul4WideEdge:
    case Kernel::kMatmul4Narrow:
    case Kernel::kMatmul4NarrowEdge:
    case Kernel::kMatmul16Wide:
    case Kernel::kMatmul16WideEdge:
    case Kernel::kMatmul16Narrow:
    case Kernel::kMatmul16NarrowEdge:
    case Kernel::kConvolution:
    case Kernel::kConvolution8:
    case Kernel::kDepthwiseConvolution:
    case Kernel::kDepthwise8:
    case Kernel::kTileMatmul:
    case Kernel::kTileMatmulEdge:
    case Kernel::kTileConvolution:
    case Kernel::kTileDepthwise1:
    case Kernel::kTileDepthwise2:
    case Kernel::kTileDepthwise:
    case Kernel::kVectorMatmul:
    case Kernel::kVectorMatmulHalf:
    case Kernel::kVectorMatmulRow:
    case Kernel::kVectorConvolution:
    case Kernel::kVectorDepthwise1:
    case Kernel::kVectorDepthwise2:
    case Kernel::kGroupMatmul:
    case Kernel::kGroupMatmulEdge:
    case Kernel::kGroupMatmulNarrow:
    case Kernel::kGroupMatmulNarrowEdge:
    case Kernel::kGroupMatmulSlices:
    case Kernel::kGroupMatmulSlicesEdge:
    case Kernel::kGroupMatmul16:
    case Kernel::kGroupMatmul16Narrow:
    case Kernel::kGroupMatmul16Slices:
    case Kernel::kGroupMatmul8:
    case Kernel::kGroupMatmul8Narrow:
    case Kernel::kGroupMatmul8Slices:
    case Kernel::kGroupMatmul4:
    case Kernel::kGroupMatmul4Narrow:
    case Kernel::kGroupMatmul4Slices:
    case Kernel::kGroupConvolution:
    case Kernel::kGroupConvolutionSlices:
    case Kernel::kTileAttention:
    case Kernel::kTileAttentionMasked:
    case Kernel::kTileAttentionEdge:
    case Kernel::kTileAttentionEdgeMasked:
    case Kernel::kTileAttentionChosen:
    case Kernel::kTileAttentionEdgeChosen:
    case Kernel::kVectorAttention:
    case Kernel::kVectorAttentionRow:
    case Kernel::kGroupAttention:
    case Kernel::kGroupAttentionEdge:
      return false;
    default:
      return true;
  }
}

inline constexpr uint32_t kMaxTexelBindings = 4;
// Floats of a texel, for the bindings that a kernel reads as texel buffers. They come before the others. 0: a storage buffer.
struct TexelBindings {
  uint32_t count = 0;
  std::array<uint32_t, kMaxTexelBindings> floats = {};
};

constexpr TexelBindings texels_of(Kernel kernel) {
  switch (kernel) {
    case Kernel::kTileMatmul:
      return {4, {4, 4, 1, 4}};
    case Kernel::kTileConvolution:
      return {4, {1, 4, 1, 1}};
    case Kernel::kTileMatmulEdge:
    case Kernel::kTileDepthwise1:
    case Kernel::kTileDepthwise2:
    case Kernel::kTileDepthwise:
    case Kernel::kTileAttentionEdge:
    case Kernel::kTileAttentionEdgeMasked:
    case Kernel::kTileAttentionEdgeChosen:
      return {4, {1, 1, 1, 1}};
    case Kernel::kTileAttention:
    case Kernel::kTileAttentionMasked:
    case Kernel::kTileAttentionChosen:
      return {4, {4, 4, 4, 1}};
    default:
      return {};
  }
}

}  // namespace etb::gpu
