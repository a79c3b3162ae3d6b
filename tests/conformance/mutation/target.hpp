// SPDX-License-Identifier: Apache-2.0
// The plugins whose sources are mutated.
#pragma once

#include <string>
#include <vector>

namespace etb::mutation {

struct Target {
  std::string name;
  std::string ninja_target;                 // links the plugin
  std::string product;                      // the library in the build tree, without ".so"
  std::string backend;                      // for `etbackend compile -b`
  std::vector<std::string> object_folders;  // folders of its objects: ".../<cmake target>.dir/"
  std::string sample_ops;                   // samples are those whose op contains this
  bool has_kernels = false;  // `kernel_cases` is an oracle, and samples of single ops add nothing
};

const std::vector<Target>& all_targets();
// False for the objects of vector kernels that this processor does not choose: a mutant has one of them at most.
bool is_run_here(const std::string& object);
const Target* find_target(const std::string& name);

}  // namespace etb::mutation
