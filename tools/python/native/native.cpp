// SPDX-License-Identifier: Apache-2.0
// The module etbackend._native: the C API of applications for Python. The package around it has the public API;
// etbackend/_native.pyi has the types.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "etb/etbackend.h"
#include "output_array.hpp"
#include "program.hpp"
#include "registry.hpp"

namespace nb = nanobind;
using etb::python::Method;
using etb::python::Program;
using etb::python::ProgramOptions;
using nb::arg;

NB_MODULE(_native, module) {
  // A program that an uncollected object keeps alive at exit is no leak worth a message on standard error.
  nb::set_leak_warnings(false);

  module.def("version", [] { return etb_version(); });
  module.def("abi_version", &etb_abi_version);
  module.def("kernel_name", [](uint32_t index) { return etb_kernel_name(index); }, arg("index"));
  module.def("plugins", &etb::python::list_plugins, arg("paths"), arg("flags"));
  module.def("explain", &etb::python::explain_name, arg("name"), arg("paths"), arg("flags"));
  module.def("devices", &etb::python::list_devices, arg("name"), arg("paths"), arg("flags"));

  nb::class_<etb::python::ViewOwner>(module, "_ViewOwner");

  nb::class_<ProgramOptions>(module, "ProgramOptions")
      .def(nb::init<>())
      .def_rw("load_mode", &ProgramOptions::load_mode)
      .def_rw("flags", &ProgramOptions::flags)
      .def_rw("registry_flags", &ProgramOptions::registry_flags)
      .def_rw("threads", &ProgramOptions::threads)
      .def_rw("max_memory_bytes", &ProgramOptions::max_memory_bytes)
      .def_rw("random_seed", &ProgramOptions::random_seed)
      .def_rw("is_recorded", &ProgramOptions::is_recorded)
      .def_rw("record_flags", &ProgramOptions::record_flags)
      .def_rw("record_values", &ProgramOptions::record_values)
      .def_rw("max_debug_bytes", &ProgramOptions::max_debug_bytes)
      .def_rw("data_paths", &ProgramOptions::data_paths)
      .def_rw("kernel_libraries", &ProgramOptions::kernel_libraries)
      .def_rw("plugin_paths", &ProgramOptions::plugin_paths)
      .def_rw("choices", &ProgramOptions::choices)
      .def_rw("settings", &ProgramOptions::settings);

  nb::class_<Program>(module, "Program")
      .def_static("open_file", &Program::open_file, arg("path"), arg("options"))
      .def_static("open_bytes", &Program::open_bytes, arg("program"), arg("options"))
      .def_prop_ro("method_names", &Program::method_names)
      .def_prop_ro("is_closed", &Program::is_closed)
      .def("method", &Program::method, arg("index"))
      .def("decisions", &Program::decisions)
      .def("recorded", &Program::recorded)
      .def("clear_recorded", &Program::clear_recorded)
      .def("set_option", &Program::set_option, arg("backend_id"), arg("key"), arg("text"))
      .def("cancel", &Program::cancel)
      .def("close", &Program::close);

  nb::class_<Method>(module, "Method")
      .def_prop_ro("name", &Method::name)
      .def("load", &Method::load)
      .def("unload", &Method::unload)
      .def("input_specs", &Method::input_specs)
      .def("output_specs", &Method::output_specs)
      .def("run", &Method::run, arg("inputs"), arg("framework"), arg("copies"), arg("timeout_ns"),
           arg("max_instructions"), arg("priority"), arg("run_id"));
}
