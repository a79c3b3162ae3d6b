// SPDX-License-Identifier: Apache-2.0
#include "host/module/open_files.hpp"

#include <algorithm>

#include "host/loaders/file_loader.hpp"
#include "host/loaders/mmap_loader.hpp"
#include "host/module/core_error.hpp"

namespace etb::host {

Result<std::shared_ptr<DataLoader>> open_loader(const std::string& path, LoadMode mode) {
  if (mode == LoadMode::kFile) {
    auto loader = std::make_shared<FileLoader>();
    ETB_TRY(checked([&](etb_error* error) { return loader->open(path.c_str(), error); }));
    return loader;
  }
  const auto lock = mode == LoadMode::kMmapLock      ? MmapLoader::Lock::kRequire
                    : mode == LoadMode::kMmapTryLock ? MmapLoader::Lock::kTry
                                                     : MmapLoader::Lock::kNone;
  auto loader = std::make_shared<MmapLoader>();
  ETB_TRY(checked([&](etb_error* error) { return loader->open(path.c_str(), lock, error); }));
  return loader;
}

Result<std::shared_ptr<const OpenFiles>> OpenFiles::open(std::shared_ptr<const SharedProgram> program,
                                                         std::span<const std::string> data_paths,
                                                         LoadMode mode) {
  SharedProgram::OpenedFiles& known = program->opened_files();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.files, [](const auto& files) { return files.expired(); });
  for (const auto& weak : known.files)
    if (auto files = weak.lock(); files != nullptr && files->is_of(data_paths, mode)) return files;
  std::shared_ptr<OpenFiles> opened(new OpenFiles(std::move(program), mode));
  for (const std::string& path : data_paths)
    if (Status added = opened->add(path); !added)
      return tl::make_unexpected(with_context(std::move(added).error(), path));
  known.files.push_back(opened);
  return opened;
}

// The identity is read before the file. If the path is replaced in between, a later module finds another identity and opens it.
Status OpenFiles::add(const std::string& path) {
  Item item;
  item.path = path;
  item.identity = identify_file(path);
  ETB_ASSIGN(item.loader, open_loader(path, mode_));
  ETB_TRY(checked([&](etb_error* error) { return item.file->load(*item.loader, error); }));
  views_.push_back(item.file.get());
  items_.push_back(std::move(item));
  return {};
}

bool OpenFiles::is_of(std::span<const std::string> data_paths, LoadMode mode) const {
  const auto is_same = [](const Item& item, const std::string& path) {
    return item.path == path && item.identity && item.identity == identify_file(path);
  };
  return (mode == mode_ || data_paths.empty()) && std::ranges::equal(items_, data_paths, is_same);
}

void OpenFiles::rest() const noexcept {
  program_->rest();
  for (const Item& item : items_) item.loader->rest();
}

}  // namespace etb::host
