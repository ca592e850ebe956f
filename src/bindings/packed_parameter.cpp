// SPDX-License-Identifier: Apache-2.0
#include "bindings/packed_parameter.hpp"

#include <cmath>
#include <cstring>

#include "core/model/errors.hpp"

namespace gpushare::bindings {
namespace {

bool pack_integer(PyObject* value, const PackedParameter& parameter, std::byte* to) {
  if (PyLong_CheckExact(value) == 0) return false;
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || number < parameter.least) return false;
  if (number > 0 && static_cast<std::uint64_t>(number) > parameter.most) return false;
  std::memcpy(to, &number, parameter.bytes);  // little-endian: the lower bytes
  return true;
}

bool pack_float(PyObject* value, const PackedParameter& parameter, std::byte* to) {
  if (PyFloat_CheckExact(value) == 0) return false;
  const double number = PyFloat_AS_DOUBLE(value);
  if (parameter.bytes == sizeof(double)) {
    std::memcpy(to, &number, sizeof(number));
    return true;
  }
  const auto narrow = static_cast<float>(number);
  if (parameter.bytes != sizeof(float) || (std::isinf(narrow) && !std::isinf(number))) return false;
  std::memcpy(to, &narrow, sizeof(narrow));
  return true;
}

/// NumPy's scalars show their bytes as a buffer.
bool pack_scalar(PyObject* value, const PackedParameter& parameter, std::byte* to) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != parameter.scalar.ptr()) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const bool fits = view.len == static_cast<Py_ssize_t>(parameter.bytes);
  if (fits) std::memcpy(to, view.buf, parameter.bytes);
  PyBuffer_Release(&view);
  return fits;
}

}  // namespace

PackedParameter parameter_of(const ParameterTuple& tuple) {
  const auto& [kind, offset, bytes, dtype, least, most, scalar] = tuple;
  using Kind = PackedParameter::Kind;
  const Kind known = kind == "pointer"   ? Kind::Pointer
                     : kind == "integer" ? Kind::Integer
                     : kind == "float"   ? Kind::Float
                                         : Kind::Other;
  const bool is_either = kind == "integer or pointer" && bytes == 8;
  require((known == Kind::Other && !is_either) || (known == Kind::Pointer ? bytes == 8 : bytes <= 8),
          "a parameter of " + std::to_string(bytes) + " bytes that is " + kind);
  return {.kind = is_either ? Kind::Integer : known,
          .offset = offset,
          .bytes = bytes,
          .dtype = dtype,
          .least = least,
          .most = most,
          .may_be_pointer = is_either,
          .scalar = scalar};
}

bool pack_number(PyObject* value, const PackedParameter& parameter, std::byte* to) {
  switch (parameter.kind) {
    case PackedParameter::Kind::Integer:
      return pack_integer(value, parameter, to) || pack_scalar(value, parameter, to);
    case PackedParameter::Kind::Float:
      return pack_float(value, parameter, to) || pack_scalar(value, parameter, to);
    default:
      return false;
  }
}

}  // namespace gpushare::bindings
