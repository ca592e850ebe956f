// SPDX-License-Identifier: Apache-2.0
// Python's buffers as one side of a copy. `Memory` is any kind of device memory that has an address and a context.
#pragma once

#include <pybind11/pybind11.h>

#include "cuda/memory/host_copies.hpp"

namespace gpushare::bindings {

namespace py = pybind11;

template <typename Memory>
void upload(const Memory& memory, const py::buffer& source, std::size_t offset) {
  const py::buffer_info info = source.request();
  const auto bytes = static_cast<std::size_t>(info.size * info.itemsize);
  const py::gil_scoped_release no_gil;
  cuda::copy_to_device(*memory.context(), memory.get() + offset, info.ptr, bytes);
}

template <typename Memory>
void download(const Memory& memory, const py::buffer& target, std::size_t offset) {
  const py::buffer_info info = target.request(true);
  const auto bytes = static_cast<std::size_t>(info.size * info.itemsize);
  const py::gil_scoped_release no_gil;
  cuda::copy_to_host(*memory.context(), info.ptr, memory.get() + offset, bytes);
}

}  // namespace gpushare::bindings
