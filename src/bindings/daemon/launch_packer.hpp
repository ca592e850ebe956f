// SPDX-License-Identifier: Apache-2.0
// A client's launches of one kernel with one block: packs the arguments, given as Python objects, into bytes. The usual
// types are packed here, in a microsecond; for all others the caller has to check the arguments and report errors.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/packed_parameter.hpp"
#include "daemon/port/client_port.hpp"

namespace gpushare::daemon {

namespace py = pybind11;
using bindings::PackedParameter;

/// Owners of jobs with unread ends are Python objects.
struct PortDeleter {
  void operator()(ClientPort* port) const {
    for (const EndedJob& each : port->abandon()) Py_XDECREF(static_cast<PyObject*>(each.owner));
    delete port;
  }
};

/// An array of the client's on a worker: what an argument's attribute `_remote` is.
struct RemoteArray {
  std::string dtype;        ///< as NumPy writes it
  std::uint64_t place = 0;  ///< the connection that knows it; 0: none any more
  Handle handle = 0;
};

class LaunchPacker {
 public:
  /// Without parameters the arguments are not checked, but arrays among them are held as long as the job needs them.
  LaunchPacker(Handle kernel, std::uint64_t place, std::optional<std::vector<PackedParameter>> parameters);

  struct Packed {
    std::vector<std::byte> bytes;
    std::vector<wire::ArrayReference> arrays;
  };

  /// False if any argument is unusual.
  bool pack(const py::sequence& arguments, Packed& packed) const;
  Handle kernel() const { return kernel_; }

 private:
  bool pack_known(PyObject* value, const PackedParameter& parameter, Packed& packed) const;
  bool pack_unknown(PyObject* value, std::size_t place, Packed& packed) const;
  bool pack_array(PyObject* value, std::size_t offset, const std::string& dtype, Packed& packed) const;

  Handle kernel_;
  std::uint64_t place_;
  std::optional<std::vector<PackedParameter>> parameters_;
  std::size_t argument_bytes_ = 0;
  py::str attribute_{"_remote"};
};

}  // namespace gpushare::daemon
