// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.hpp"
#include "cuda/driver/shared_library.hpp"

namespace gpushare::bindings {

void bind_cuda_errors(py::module_& module) {
  py::register_exception<cuda::CudaError>(module, "CudaError", module.attr("DeviceError")).doc() =
      "CUDA, or a part of it, is missing or too old, or said no; the message names the call and what to do.";
}

}  // namespace gpushare::bindings
