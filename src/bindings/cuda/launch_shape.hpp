// SPDX-License-Identifier: Apache-2.0
// Launches on a GPU that differ in their arguments only, which are packed here where they are of exactly the types of
// their parameters: in less than a microsecond. For all others the caller checks them and reports errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/packed_parameter.hpp"
#include "cuda/code/program.hpp"

namespace gpushare::bindings {

/// As launches take them.
std::vector<std::vector<std::byte>> as_arguments(const std::vector<py::bytes>& values);

class LaunchShape {
 public:
  /// `array_type`: that of arrays of sessions, whose memory has an address.
  LaunchShape(cuda::DeviceLaunch launch, std::vector<PackedParameter> parameters, py::object array_type);

  /// nullptr if any argument is unusual, or there are too few or too many.
  std::shared_ptr<cuda::SubmittedCode> with(const py::tuple& arguments) const;
  /// One value per parameter.
  std::shared_ptr<cuda::SubmittedCode> with_bytes(const std::vector<py::bytes>& arguments) const;

 private:
  struct Array {
    py::object type;
    py::str dtype{"dtype"};
    py::str memory{"_memory"};
    py::str address{"address"};
  };

  bool pack_array(PyObject* value, std::size_t place, std::byte* to) const;

  cuda::DeviceLaunch launch_;
  std::vector<PackedParameter> parameters_;
  std::vector<py::object> dtypes_;  // of pointers' arrays, by parameter; none: any
  Array array_;
};

}  // namespace gpushare::bindings
