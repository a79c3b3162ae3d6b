// SPDX-License-Identifier: Apache-2.0
// Weights and constants of a model in an archive: views of the stored bytes, each checked against its record.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "partitioner_sdk/import/diagnostics.hpp"
#include "partitioner_sdk/import/json_document.hpp"
#include "partitioner_sdk/import/mapped_file.hpp"
#include "partitioner_sdk/import/zip_archive.hpp"
#include "partitioner_sdk/ir/module.hpp"

namespace etb::pt2 {

class Payloads {
 public:
  Payloads(const ZipArchive& zip, std::string root, std::shared_ptr<const MappedFile> file)
      : zip_(zip), root_(std::move(root)), file_(std::move(file)) {}

  // Reads data/FOLDER/MODEL_FOLDER_config.json, or torch 2.8's form instead: all tensors saved in
  // data/FOLDER/MODEL.pt. Without either, there are no weights.
  [[nodiscard]] Status read_config(const std::string& folder, const std::string& model);
  // Reads all tensors that torch.save wrote into the record, if it exists.
  [[nodiscard]] Status read_saved(const std::string& path);

  bool is_empty() const { return rows_.empty() && saved_.empty(); }

  // Adds the constant `name` to the module on first use. Names of the same view of the same storage share one
  // constant. Errors if there is none or its record does not hold it.
  [[nodiscard]] Result<uint32_t> add_to(ir::Module& module, const std::string& name);

 private:
  struct Row {
    Json json;
    std::string folder;
  };
  [[nodiscard]] Result<ir::Constant> find_constant(const std::string& name) const;
  [[nodiscard]] Result<ir::Constant> read_constant(const std::string& name, const Row& row) const;

  using View = std::tuple<const std::byte*, ir::Dtype, std::vector<int64_t>, std::vector<int64_t>, int64_t>;
  const ZipArchive& zip_;
  std::string root_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<std::unique_ptr<JsonDocument>> documents_;
  std::map<std::string, Row, std::less<>> rows_;
  std::map<std::string, ir::Constant, std::less<>> saved_;
  std::map<std::string, uint32_t, std::less<>> added_;
  std::map<View, uint32_t> views_;
  uint64_t dense_nbytes_ = 0;  // size of the added constants, written out
};

}  // namespace etb::pt2
