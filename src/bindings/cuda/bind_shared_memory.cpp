// SPDX-License-Identifier: Apache-2.0
// Memory that processes share: host memory, pinned in place, and device memory, mapped by each of them.
#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/cuda/host_bytes.hpp"
#include "bindings/without_gil.hpp"
#include "cuda/memory/registered_memory.hpp"
#include "cuda/memory/shared_device_memory.hpp"

namespace gpushare::bindings {
namespace {

using cuda::SharedDeviceMemory;

/// Holds the buffer, which its exporter cannot unmap meanwhile.
struct PinnedBuffer {
  PinnedBuffer(const CudaDevice& device, const py::buffer& exporter) : buffer(exporter.request(true)) {
    const auto bytes = static_cast<std::size_t>(buffer.size * buffer.itemsize);
    const py::gil_scoped_release no_gil;
    memory = cuda::register_memory(device.context, {static_cast<std::byte*>(buffer.ptr), bytes});
  }

  ~PinnedBuffer() { close(); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;

  /// Unpins it without the GIL: the driver may wait for kernels.
  void close() {
    const py::gil_scoped_release no_gil;
    memory = {};
  }

  py::buffer_info buffer;
  cuda::RegisteredMemory memory;
};

SharedDeviceMemory* imported_memory(const py::bytes& uuid, int descriptor, std::size_t bytes) {
  const std::string_view text(uuid);
  cuda::DeviceUuid wanted{};
  require(text.size() == wanted.size(), "a GPU's UUID has 16 bytes, got " + std::to_string(text.size()));
  std::copy(text.begin(), text.end(), wanted.begin());
  const py::gil_scoped_release no_gil;
  return SharedDeviceMemory::imported(cuda::visit(wanted), descriptor, bytes).release();
}

void bind_shared_device_memory(py::module_& module) {
  using Holder = std::unique_ptr<SharedDeviceMemory, WithoutGil<SharedDeviceMemory>>;
  py::class_<SharedDeviceMemory, Holder>(module, "SharedDeviceMemory",
                                         "Device memory that other processes can map, too.")
      .def(py::init([](const CudaDevice& device, std::size_t bytes) {
             const py::gil_scoped_release no_gil;
             return SharedDeviceMemory::create(device.context, bytes).release();
           }),
           py::arg("device"), py::arg("bytes"), "New memory, zeroed, of at least so many bytes.")
      .def_static("imported", &imported_memory, py::arg("uuid"), py::arg("descriptor"), py::arg("bytes"),
                  "What another process has exported, in this process's primary context on that GPU. The descriptor "
                  "stays the caller's.")
      .def_static(
          "rounded_up",
          [](const CudaDevice& device, std::size_t bytes) {
            return SharedDeviceMemory::rounded_up(*device.context, bytes);
          },
          py::arg("device"), py::arg("bytes"), "So much is taken for so many bytes.")
      .def_property_readonly("address", &SharedDeviceMemory::get)
      .def_property_readonly("bytes", &SharedDeviceMemory::bytes)
      .def_property_readonly(
          "ordinal", [](const SharedDeviceMemory& self) { return self.context()->device(); },
          "Of the GPU in this process.")
      .def_property_readonly(
          "uuid",
          [](const SharedDeviceMemory& self) {
            const cuda::DeviceUuid uuid = cuda::uuid_of(*self.context());
            return py::bytes(uuid.data(), uuid.size());
          },
          "Of the GPU.")
      .def("descriptor", &SharedDeviceMemory::descriptor, "For another process to import; to be closed.")
      .def("upload", &upload<SharedDeviceMemory>, py::arg("source"), py::arg("offset") = 0)
      .def("download", &download<SharedDeviceMemory>, py::arg("target"), py::arg("offset") = 0);
}

}  // namespace

void bind_shared_memory(py::module_& module) {
  py::class_<PinnedBuffer>(module, "PinnedBuffer", "Host memory that stays pinned as long as this object is there.")
      .def(py::init<const CudaDevice&, const py::buffer&>(), py::arg("device"), py::arg("buffer"))
      .def("close", &PinnedBuffer::close, "Unpins it.");
  bind_shared_device_memory(module);
}

}  // namespace gpushare::bindings
