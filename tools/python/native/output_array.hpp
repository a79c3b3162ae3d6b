// SPDX-License-Identifier: Apache-2.0
//
// Outputs of a run as Python objects: copies, or arrays that borrow the program's memory.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "etb/etbackend.h"
#include "frameworks.hpp"
#include "program.hpp"

namespace etb::python {

// Keeps the memory of borrowed arrays: the program, and the inputs, whose memory (or its
// packed copy) an output may share.
class ViewOwner {
 public:
  ViewOwner(std::shared_ptr<OpenProgram> program, MethodSpecs& method, std::unique_ptr<InputValue[]> inputs)
      : program_(std::move(program)), method_(&method), inputs_(std::move(inputs)) {
    ++method.view_count;
  }
  ViewOwner(const ViewOwner&) = delete;
  ViewOwner& operator=(const ViewOwner&) = delete;
  ~ViewOwner() { --method_->view_count; }

 private:
  std::shared_ptr<OpenProgram> program_;
  MethodSpecs* method_;
  std::unique_ptr<InputValue[]> inputs_;
};

class OutputWriter {
 public:
  OutputWriter(Framework framework, bool copies) : framework_(framework), copies_(copies) {}

  // Sets the owner of borrowed arrays; needed unless outputs are copied.
  void set_owner(std::shared_ptr<OpenProgram> program, MethodSpecs& method,
                 std::unique_ptr<InputValue[]> inputs);

  nanobind::object write(const etb_value& output, uint32_t index) const;

 private:
  nanobind::object write_tensor(const etb_tensor& tensor, uint32_t index) const;
  nanobind::object copy(const etb_tensor& tensor, uint32_t index) const;
  nanobind::object borrow(const etb_tensor& tensor, uint32_t index) const;

  Framework framework_;
  bool copies_;
  nanobind::object owner_;
};

}  // namespace etb::python
