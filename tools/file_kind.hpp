// SPDX-License-Identifier: Apache-2.0
// The kind of a file by its first bytes, for messages about a file of another kind than a command expects.
#pragma once

#include <initializer_list>
#include <string>

#include "etb/cpp/result.hpp"

namespace etb::tools {

enum class FileKind {
  kUnknown,  // also a file that cannot be read: the command's own error is better
  kEmpty,
  kProgram,       // .pte
  kBundle,        // .bpte
  kArchive,       // .pt2
  kGraphImage,    // .etg
  kGraphText,     // text of an image or of a stage of the compiler
  kRecord,        // .etrecord
  kExternalData,  // .ptd
  kEtdump,        // .etdp
  kCallTrace,     // .etbt
  kManifest,      // of a plugin
  kJson,
  kLibrary,  // ELF
  kZip,
  kTorchScript,  // zip of torch.jit.save
  kPickledZip,   // zip of torch.save
  kPickle,       // torch.save before version 1.6
  kArray,        // .npy
  kOnnx,
  kTflite,
  kGguf,
  kSafetensors,
  kHtml,
  kText,
};

FileKind find_file_kind(const std::string& path);

// Returns "an ONNX model": the kind in words.
std::string describe_file_kind(FileKind kind);

// Rejects a file of a known kind that is none of `expected`. The message names the kind found, `what` was
// expected, and a command that takes the file. Files of unknown kinds pass: the command's parser says more.
[[nodiscard]] Status expect_kind(const std::string& path, std::initializer_list<FileKind> expected,
                                 const std::string& what);

}  // namespace etb::tools
