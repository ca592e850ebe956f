// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.hpp"
#include "core/kernel_rates/corun.hpp"

namespace gpushare::bindings {

void bind_corun(py::module_& module) {
  module.def(
      "rate_alone", [](const Device& device, const Kernel& kernel) { return rate_alone(device, kernel); },
      py::arg("device"), py::arg("kernel"),
      "Blocks per nanosecond of a kernel with a profile that has the GPU to itself, in the steady state.");
}

}  // namespace gpushare::bindings
