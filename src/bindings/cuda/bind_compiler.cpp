// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/transform/ptx/kernel_parameters.hpp"
#include "cuda/code/compiler.hpp"
#include "cuda/code/linker.hpp"

namespace gpushare::bindings {
namespace {

void bind_nvrtc(py::module_& module) {
  py::class_<cuda::Compilation>(module, "Compilation", "What NVRTC made of a source.")
      .def_readonly("succeeded", &cuda::Compilation::succeeded)
      .def_readonly("log", &cuda::Compilation::log)
      .def_readonly("ptx", &cuda::Compilation::ptx)
      .def_readonly("lowered_names", &cuda::Compilation::lowered_names);

  py::class_<cuda::Compiler>(module, "Nvrtc", "CUDA C++ to PTX. Invalid source may crash the process.")
      .def(py::init<const std::string&, const std::string&>(), py::arg("path"), py::arg("builtins_path"),
           py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("version", &cuda::Compiler::version)
      .def_property_readonly("architectures", &cuda::Compiler::architectures)
      .def("compile", &cuda::Compiler::compile, py::arg("source"), py::arg("file_name"), py::arg("name_expressions"),
           py::arg("options"), py::call_guard<py::gil_scoped_release>());
}

void bind_nvjitlink(py::module_& module) {
  py::class_<cuda::Linked>(module, "Linked", "What nvJitLink made of a PTX module.")
      .def_readonly("succeeded", &cuda::Linked::succeeded)
      .def_property_readonly("cubin", [](const cuda::Linked& self) { return py::bytes(self.cubin); })
      .def_readonly("error_log", &cuda::Linked::error_log)
      .def_readonly("info_log", &cuda::Linked::info_log);

  py::class_<cuda::Linker>(module, "NvJitLink", "PTX to machine code.")
      .def(py::init<const std::string&>(), py::arg("path"), py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("version", &cuda::Linker::version)
      .def("link", &cuda::Linker::link, py::arg("ptx"), py::arg("name"), py::arg("options"),
           py::call_guard<py::gil_scoped_release>());
}

void bind_signatures(py::module_& module) {
  py::class_<ptx::KernelParameter>(module, "KernelParameter", "A parameter as PTX declares it.")
      .def_readonly("name", &ptx::KernelParameter::name)
      .def_readonly("type", &ptx::KernelParameter::type)
      .def_readonly("bytes", &ptx::KernelParameter::bytes)
      .def_readonly("alignment", &ptx::KernelParameter::alignment)
      .def_readonly("is_pointer", &ptx::KernelParameter::is_pointer, "Surely a pointer; false proves nothing.");

  py::class_<ptx::KernelSignature>(module, "KernelSignature", "A kernel of a PTX module.")
      .def_readonly("name", &ptx::KernelSignature::name)
      .def_readonly("parameters", &ptx::KernelSignature::parameters);

  module.def("kernel_signatures", &ptx::kernel_signatures, py::arg("ptx"));
}

}  // namespace

void bind_compiler(py::module_& module) {
  bind_nvrtc(module);
  bind_nvjitlink(module);
  bind_signatures(module);
  module.def("demangled", &cuda::demangled, py::arg("name"));
}

}  // namespace gpushare::bindings
