// SPDX-License-Identifier: Apache-2.0
// Records of digests that earlier processes of the same user computed, so that an unchanged library is hashed once a boot.
//
// A record is believed as long as the file's device, inode, size, times of modification and change, and the boot are those of
// the record. Every way to change a file sets its time of change to the present, except two: writing to a page that is
// mapped and already changed, and changing the disk from outside. Both need the rights of the file's owner or root, who may
// change the expected digest in the manifest as well. Secure mode keeps no records.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "host/registry/digest.hpp"
#include "host/registry/trusted_file.hpp"

namespace etb::host {

class DigestRecords {
 public:
  // A file that changed later than this before it was hashed gets no record: two changes within one tick of the file
  // system's clock look the same.
  static constexpr int64_t kMinAgeNs = 2'000'000'000;

  // Keeps records in `folder`, an absolute path, which is made when the first is written; "" keeps none. Folder and records
  // have to be trusted by `trust`.
  DigestRecords(std::string folder, const TrustPolicy& trust, int64_t min_age_ns = kMinAgeNs)
      : folder_(std::move(folder)), trust_(trust), min_age_ns_(min_age_ns) {}

  // Returns the digest of an open file, from its record or by reading it all. A record that cannot be read or written is no
  // error.
  [[nodiscard]] Result<Sha256> digest_of(const FileBytes& file) const;

 private:
  std::string folder_;
  TrustPolicy trust_;
  int64_t min_age_ns_;
};

// The folder of a user's records: "etbackend/digests" beneath XDG_CACHE_HOME or ~/.cache; "" when neither is an absolute path.
// `environment` reads a variable.
std::string digest_record_folder(
    const std::function<std::optional<std::string>(const char* name)>& environment);

}  // namespace etb::host
