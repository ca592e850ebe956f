// SPDX-License-Identifier: Apache-2.0
#include "bindings/bindings.hpp"
#include "core/model/errors.hpp"

namespace gpushare::bindings {

void bind_errors(py::module_& module) {
  py::register_exception<InvalidInput>(module, "InvalidInput", PyExc_ValueError).doc() =
      "What was handed over cannot be used; the message names the value, what was expected and what to do.";
  py::register_exception<PolicyError>(module, "PolicyError", PyExc_RuntimeError).doc() =
      "A policy returned an impossible plan, starved the work, or raised.";
  py::register_exception<DeviceError>(module, "DeviceError", PyExc_RuntimeError).doc() =
      "A device failed, or what runs on it did not end.";
  py::register_exception<Cancelled>(module, "Cancelled", PyExc_RuntimeError).doc() =
      "A job will never end, because its application was cancelled.";
}

}  // namespace gpushare::bindings
