// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/cuda/host_bytes.hpp"
#include "bindings/without_gil.hpp"
#include "cuda/driver/driver.hpp"

namespace gpushare::bindings {
namespace {

using KernelCodePtr = std::shared_ptr<cuda::KernelCode>;
using KernelModulePtr = std::shared_ptr<cuda::KernelModule>;
using VariablePtr = std::shared_ptr<cuda::VariableMemory>;

std::span<const char> view_of(const py::bytes& bytes) {
  const std::string_view view(bytes);
  return {view.data(), view.size()};
}

KernelModulePtr load(const CudaDevice& device, const py::bytes& cubin, bool has_variables, bool has_constants) {
  const std::span<const char> code = view_of(cubin);
  const cuda::ModuleState state = has_variables   ? cuda::ModuleState::Variables
                                  : has_constants ? cuda::ModuleState::Constants
                                                  : cuda::ModuleState::None;
  const py::gil_scoped_release no_gil;
  return {new cuda::KernelModule(device.context, code, state), WithoutGil<cuda::KernelModule>{}};
}

KernelCodePtr find_kernel(const KernelModulePtr& module, std::string symbol, const std::optional<std::string>& worker,
                          const ptx::BlockShapes& blocks) {
  const py::gil_scoped_release no_gil;
  return {new cuda::KernelCode(module, std::move(symbol), worker.value_or(""), blocks), WithoutGil<cuda::KernelCode>{}};
}

VariablePtr find_variable(const KernelModulePtr& module, const std::string& symbol) {
  const py::gil_scoped_release no_gil;
  return {new cuda::VariableMemory(module, symbol), WithoutGil<cuda::VariableMemory>{}};
}

void copy_on_device(const CudaDevice& device, CUdeviceptr target, CUdeviceptr source, std::size_t bytes) {
  const py::gil_scoped_release no_gil;
  const cuda::CurrentContext current(*device.context);
  GPUSHARE_CU(cuMemcpyDtoDAsync(target, source, bytes, CU_STREAM_PER_THREAD));
  GPUSHARE_CU(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

bool is_healthy(const CudaDevice& device) {
  if (device.context->is_lost()) return false;
  try {
    const cuda::CurrentContext current(*device.context);
    device.resources->completions.require_healthy();
    return true;
  } catch (const cuda::CudaError&) {
    return false;
  }
}

/// The last one registered is called first.
void skip_exit_handlers() {
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

void bind_device_class(py::module_& module) {
  py::class_<CudaDevice>(module, "CudaDevice", "One GPU, through its primary context.")
      .def(py::init<int>(), py::arg("ordinal"))
      .def_property_readonly("description", [](const CudaDevice& self) { return self.context->description(); })
      .def(
          "know_as", [](const CudaDevice& self, const Device& model) { self.resources->know_as(model); },
          py::arg("model"),
          "Adds bandwidths and costs, which the driver does not report, from the model of such a GPU.")
      .def_property_readonly("architecture", [](const CudaDevice& self) { return self.context->architecture(); })
      .def_property_readonly("memory_bytes", [](const CudaDevice& self) { return self.context->memory_bytes(); })
      .def_property_readonly("stream_levels",
                             [](const CudaDevice& self) { return self.context->stream_priorities().size(); })
      .def("load", &load, py::arg("cubin"), py::arg("has_variables") = false, py::arg("has_constants") = false,
           "Machine code: has it variables that kernels write, or constants that the host can set?")
      .def(
          "allocate",
          [](const CudaDevice& self, std::size_t bytes, bool cleared) {
            const py::gil_scoped_release no_gil;
            return std::make_shared<cuda::DeviceMemory>(cleared ? cuda::make_device_memory(self.context, bytes)
                                                                : cuda::make_uncleared_memory(self.context, bytes));
          },
          py::arg("bytes"), py::arg("cleared") = true,
          "Device memory; memory that is overwritten completely need not be cleared. Waits for no kernel.")
      .def("copy", &copy_on_device, py::arg("target"), py::arg("source"), py::arg("bytes"),
           "Copies from one address of the device to another, and waits for that.")
      .def_property_readonly("is_healthy", &is_healthy, "False after a kernel has faulted or did not end.")
      .def(
          "abandon", [](const CudaDevice& self) { self.context->abandon(); },
          "Touches the GPU no more: this object is good for nothing then.");
  module.def("cuda_device_count", &cuda::device_count, "How many GPUs there are; 0 where there is no driver.");
  module.def("cuda_device_uuids", &cuda::device_uuids, "Their names in CUDA_VISIBLE_DEVICES.");
  module.def("cuda_driver_version", &cuda::driver_version,
             "What CUDA the driver supports, as 13000 for 13.0; 0 where there is no driver.");
  module.def("skip_exit_handlers", &skip_exit_handlers,
             "This process will end with its status, but without the exit handlers that it has so far. In a forked one "
             "the driver's would fault, which belongs to the process that it was forked from.");
}

void bind_memory(py::module_& module) {
  py::class_<cuda::DeviceMemory, std::shared_ptr<cuda::DeviceMemory>>(module, "DeviceMemory")
      .def_property_readonly("address", &cuda::DeviceMemory::get)
      .def("upload", &upload<cuda::DeviceMemory>, py::arg("source"), py::arg("offset") = 0)
      .def("download", &download<cuda::DeviceMemory>, py::arg("target"), py::arg("offset") = 0);
}

void bind_kernel_module(py::module_& module) {
  py::class_<cuda::VariableMemory, VariablePtr>(module, "VariableMemory", "A variable of loaded machine code.")
      .def_property_readonly("address", &cuda::VariableMemory::get)
      .def_property_readonly("bytes", &cuda::VariableMemory::bytes)
      .def("upload", &upload<cuda::VariableMemory>, py::arg("source"), py::arg("offset") = 0)
      .def("download", &download<cuda::VariableMemory>, py::arg("target"), py::arg("offset") = 0);
  py::class_<cuda::KernelModule, KernelModulePtr>(module, "KernelModule", "Machine code on a GPU, with its variables.")
      .def(
          "kernel", &find_kernel, py::arg("symbol"), py::arg("worker") = py::none(),
          py::arg("blocks") = ptx::BlockShapes{},
          "The kernel, and its worker where it can be preempted, both by their symbols; and the blocks that the worker "
          "is right for.")
      .def("variable", &find_variable, py::arg("symbol"));
}

void bind_kernel_code(py::module_& module) {
  py::class_<cuda::KernelCode, KernelCodePtr>(module, "KernelCode", "A kernel's machine code on a GPU.")
      .def_property_readonly("symbol", &cuda::KernelCode::symbol)
      .def("can_be_worker", &cuda::KernelCode::can_be_worker, py::arg("block"), py::arg("shared_bytes"),
           "Is there a worker that is right for such a block, and room there for its registers and shared memory?")
      .def(
          "needs",
          [](cuda::KernelCode& self, const cuda::Extent& block, unsigned shared_bytes) {
            const BlockNeeds needs = self.needs(block, shared_bytes);
            return py::make_tuple(needs.threads, needs.registers_per_thread, needs.shared_memory.count);
          },
          py::arg("block"), py::arg("shared_bytes"), "Threads, registers per thread and shared bytes of a block.")
      .def(
          "occupancy",
          [](const cuda::KernelCode& self, const CudaDevice& device, const cuda::Extent& block, unsigned shared_bytes) {
            CUfunction runs = self.can_be_worker(block, shared_bytes) ? self.worker() : self.original();
            return cuda::driver_occupancy(*device.context, runs, static_cast<int>(cuda::count(block)), shared_bytes);
          },
          py::arg("device"), py::arg("block"), py::arg("shared_bytes"), "Blocks per SM, as the driver sees it.");
}

}  // namespace

void bind_cuda_device(py::module_& module) {
  bind_memory(module);
  bind_kernel_code(module);
  bind_kernel_module(module);
  bind_device_class(module);
}

}  // namespace gpushare::bindings
