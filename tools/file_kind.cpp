// SPDX-License-Identifier: Apache-2.0
#include "tools/file_kind.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "api/format/input_file.hpp"
#include "api/format/printable_text.hpp"

namespace etb::tools {

namespace {

struct Row {
  FileKind kind;
  const char* text;
  const char* hint;  // a command that takes it, or how to get a file that a command takes
};

constexpr const char* kExport =
    "export the model in Python with torch.export.export and torch.export.save, then `etbackend compile`";

constexpr Row kRows[] = {
    {FileKind::kUnknown, "a file of an unknown kind", ""},
    {FileKind::kEmpty, "an empty file", "the step that wrote it may have failed"},
    {FileKind::kProgram, "a program (.pte)",
     "`etbackend run FILE` runs it, `etbackend info FILE` prints its contents"},
    {FileKind::kBundle, "a bundled program (.bpte)",
     "`etbackend run FILE` runs its test cases, `etbackend bundle FILE --extract PROGRAM.pte` writes its "
     "program"},
    {FileKind::kArchive, "an archive of torch.export (.pt2)",
     "`etbackend compile FILE` makes a program (.pte) of it; `etbackend run FILE` runs it on portable "
     "kernels, "
     "`etbackend graph FILE` prints it"},
    {FileKind::kGraphImage, "a graph image (.etg)", "`etbackend graph FILE` prints it"},
    {FileKind::kGraphText, "the text of a graph", "`etbackend graph FILE` reads it"},
    {FileKind::kRecord, "a record of a compilation (.etrecord)",
     "`etbackend inspect RUN.etdp --etrecord FILE` and ExecuTorch's Inspector read it; the program of the "
     "same "
     "compilation is the .pte file"},
    {FileKind::kExternalData, "external weights (.ptd)", "`etbackend run PROGRAM --data FILE` reads them"},
    {FileKind::kEtdump, "a record of runs (.etdp)", "`etbackend inspect FILE` prints it"},
    {FileKind::kCallTrace, "a call trace (.etbt)",
     "`etbackend replay FILE` repeats its calls on a plugin, `etbackend replay FILE --list` prints them"},
    {FileKind::kManifest, "the manifest of a plugin",
     "`etbackend info FILE` prints it, `etbackend verify FILE` tests the plugin"},
    {FileKind::kJson, "a JSON file", ""},
    {FileKind::kLibrary, "an ELF library or program",
     "`etbackend verify FILE` tests a plugin's library, `etbackend run PROGRAM --kernels FILE` loads custom "
     "kernels"},
    {FileKind::kZip, "a zip file without a model of torch.export", kExport},
    {FileKind::kTorchScript, "a TorchScript model (torch.jit.save)", kExport},
    {FileKind::kPickledZip, "a pickle of torch.save (.pt, .pth)", kExport},
    {FileKind::kPickle, "a Python pickle", kExport},
    {FileKind::kArray, "a NumPy array (.npy)", "`etbackend run PROGRAM --input FILE` reads it"},
    {FileKind::kOnnx, "an ONNX model", kExport},
    {FileKind::kTflite, "a TensorFlow Lite model", kExport},
    {FileKind::kGguf, "a GGUF file of weights", kExport},
    {FileKind::kSafetensors, "a safetensors file of weights", kExport},
    {FileKind::kHtml, "an HTML page", "a download may have returned an error page instead of the file"},
    {FileKind::kText, "a text file", ""},
};

const Row& row_of(FileKind kind) {
  const auto* found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.kind == kind; });
  return found == std::end(kRows) ? kRows[0] : *found;
}

// The first and the last bytes of a file. Names of a zip file's records are in the last ones.
struct Sample {
  std::string head, tail;
  bool has(size_t offset, std::string_view magic) const {
    return head.size() >= offset + magic.size() && head.compare(offset, magic.size(), magic) == 0;
  }
};

constexpr uint64_t kHeadNbytes = 4096, kTailNbytes = uint64_t{1} << 20;

// A zip file's directory has each record's name after this signature and 42 bytes of numbers.
std::vector<std::string_view> record_names(std::string_view bytes) {
  constexpr std::string_view kSignature("PK\1\2", 4);
  constexpr size_t kFixedNbytes = 46, kLengthOffset = 28;
  std::vector<std::string_view> names;
  for (size_t at = bytes.find(kSignature); at != std::string_view::npos;
       at = bytes.find(kSignature, at + 1)) {
    if (bytes.size() - at < kFixedNbytes) break;
    uint16_t length = 0;
    std::memcpy(&length, bytes.data() + at + kLengthOffset, sizeof(length));
    if (bytes.size() - at - kFixedNbytes >= length) names.push_back(bytes.substr(at + kFixedNbytes, length));
  }
  return names;
}

FileKind kind_of_zip(const Sample& sample) {
  const std::vector<std::string_view> names = record_names(sample.tail);
  const auto has = [&](auto matches) { return std::any_of(names.begin(), names.end(), matches); };
  if (has([](std::string_view name) {
        return name.find("models/") != std::string_view::npos && name.ends_with(".json");
      }))
    return FileKind::kArchive;
  if (has([](std::string_view name) { return name.starts_with("ETRECORD"); })) return FileKind::kRecord;
  if (has([](std::string_view name) { return name.ends_with("constants.pkl"); }))
    return FileKind::kTorchScript;
  if (has([](std::string_view name) { return name.ends_with("data.pkl"); })) return FileKind::kPickledZip;
  return names.empty() ? FileKind::kUnknown : FileKind::kZip;  // without names it is cut off
}

// A protobuf without magic: ir_version (field 1, a small number), then a field of ModelProto.
bool is_onnx(const Sample& sample) {
  if (sample.head.size() < 16 || sample.head[0] != 8 || sample.head[1] < 1 || sample.head[1] > 64)
    return false;
  constexpr std::string_view kFields("\x12\x1a\x22\x3a\x42\x72",
                                     6);  // texts, the graph, opset_import, metadata
  return kFields.find(sample.head[2]) != std::string_view::npos;
}

bool is_safetensors(const Sample& sample, uint64_t nbytes) {
  if (sample.head.size() < 10 || sample.head[8] != '{' || sample.head[9] != '"') return false;
  uint64_t header = 0;
  std::memcpy(&header, sample.head.data(), sizeof(header));
  return header >= 2 && header <= nbytes - 8;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

FileKind kind_of_text(const Sample& sample) {
  const std::string_view head = sample.head;
  const size_t at = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  const std::string start = lower_case(head.substr(at, 64));
  for (const char* tag : {"<!doctype html", "<html", "<head"})
    if (start.starts_with(tag)) return FileKind::kHtml;
  if (start.starts_with("{"))
    return head.find("\"manifest_version\"") != std::string_view::npos ? FileKind::kManifest
                                                                       : FileKind::kJson;
  if (start.starts_with("etg ") || start.starts_with("module ")) return FileKind::kGraphText;
  const bool is_text = !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
  return is_text ? FileKind::kText : FileKind::kUnknown;
}

FileKind kind_of(const Sample& sample, uint64_t nbytes) {
  if (nbytes == 0) return FileKind::kEmpty;
  if (sample.has(4, "ET12")) return FileKind::kProgram;
  if (sample.has(4, "BP08")) return FileKind::kBundle;
  if (sample.has(4, "ETG1")) return FileKind::kGraphImage;
  if (sample.has(4, "FT01")) return FileKind::kExternalData;
  if (sample.has(8, "ED00")) return FileKind::kEtdump;
  if (sample.has(0, "ETBCALLS")) return FileKind::kCallTrace;
  if (sample.has(4, "TFL3")) return FileKind::kTflite;
  if (sample.has(0,
                 "\x7f"
                 "ELF"))
    return FileKind::kLibrary;
  if (sample.has(0, "GGUF")) return FileKind::kGguf;
  if (sample.has(0, "\x93NUMPY")) return FileKind::kArray;
  if (sample.has(0, "PK\3\4")) return kind_of_zip(sample);
  if (sample.head.size() > 2 && sample.head[0] == '\x80' && sample.head[1] >= 2 && sample.head[1] <= 5)
    return FileKind::kPickle;
  if (is_safetensors(sample, nbytes)) return FileKind::kSafetensors;
  if (is_onnx(sample)) return FileKind::kOnnx;
  return kind_of_text(sample);
}

}  // namespace

FileKind find_file_kind(const std::string& path) {
  const auto file = format::InputFile::open(path);
  if (!file) return FileKind::kUnknown;
  const uint64_t nbytes = file->nbytes();
  Sample sample;
  sample.head.resize(static_cast<size_t>(std::min(nbytes, kHeadNbytes)));
  if (!file->read(0, std::as_writable_bytes(std::span(sample.head)))) return FileKind::kUnknown;
  if (sample.has(0, "PK")) {
    sample.tail.resize(static_cast<size_t>(std::min(nbytes, kTailNbytes)));
    if (!file->read(nbytes - sample.tail.size(), std::as_writable_bytes(std::span(sample.tail))))
      return FileKind::kUnknown;
  }
  return kind_of(sample, nbytes);
}

std::string describe_file_kind(FileKind kind) { return row_of(kind).text; }

Status expect_kind(const std::string& path, std::initializer_list<FileKind> expected,
                   const std::string& what) {
  const FileKind kind = find_file_kind(path);
  if (kind == FileKind::kUnknown || std::find(expected.begin(), expected.end(), kind) != expected.end())
    return {};
  const Row& row = row_of(kind);
  return make_error(Code::INVALID_DATA, '\'' + format::made_printable(path) + "': found " + row.text +
                                            ", expected " + what +
                                            (*row.hint == '\0' ? "" : std::string("\nhint: ") + row.hint));
}

}  // namespace etb::tools
