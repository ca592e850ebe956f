// SPDX-License-Identifier: Apache-2.0
// A parameter of a kernel, and the numbers that are packed for it without Python: those of exactly its type, which are
// nearly all. Whether others fit, and what to say where one does not, the caller has to find out (argument_packing.py).
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

namespace gpushare::bindings {

namespace py = pybind11;

struct PackedParameter {
  enum class Kind { Pointer, Integer, Float, Other };
  Kind kind{};
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::string dtype{};          ///< the required dtype of a pointer's array; empty: any
  std::int64_t least = 0;       ///< smallest value of an integer
  std::uint64_t most = 0;       ///< largest value of an integer
  bool may_be_pointer = false;  ///< an integer of 8 bytes without further information
  py::object scalar{};          ///< NumPy's type that is exactly the parameter's, None where there is none
};

/// (kind, offset, bytes, dtype, least, most, scalar); a parameter of unknown kind is not packed here.
using ParameterTuple =
    std::tuple<std::string, std::size_t, std::size_t, std::string, std::int64_t, std::uint64_t, py::object>;

/// Throws InvalidInput for a number of more than 8 bytes, or a pointer of another size.
PackedParameter parameter_of(const ParameterTuple& tuple);

/// Puts a number of the parameter's type there. False: it is none.
bool pack_number(PyObject* value, const PackedParameter& parameter, std::byte* to);

}  // namespace gpushare::bindings
