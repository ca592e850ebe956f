// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/launch_packer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gpushare::daemon {
namespace {

using Packed = LaunchPacker::Packed;

template <typename T>
void put(Packed& packed, std::size_t offset, T value, std::size_t bytes = sizeof(T)) {
  std::memcpy(packed.bytes.data() + offset, &value, bytes);
}

bool pack_integer(PyObject* value, const PackedParameter& parameter, Packed& packed) {
  if (PyLong_CheckExact(value) == 0) return false;
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow != 0 || number < parameter.least) return false;
  if (number > 0 && static_cast<std::uint64_t>(number) > parameter.most) return false;
  put(packed, parameter.offset, number, parameter.bytes);  // little-endian: the lower bytes
  return true;
}

bool pack_float(PyObject* value, const PackedParameter& parameter, Packed& packed) {
  if (PyFloat_CheckExact(value) == 0) return false;
  const double number = PyFloat_AS_DOUBLE(value);
  if (parameter.bytes == sizeof(double)) {
    put(packed, parameter.offset, number);
    return true;
  }
  const auto narrow = static_cast<float>(number);
  if (parameter.bytes != sizeof(float) || (std::isinf(narrow) && !std::isinf(number))) return false;
  put(packed, parameter.offset, narrow);
  return true;
}

bool is_plain_number(PyObject* value) {
  if (PyFloat_CheckExact(value) != 0 || PyBool_Check(value) != 0) return true;
  int overflow = 0;
  if (PyLong_CheckExact(value) != 0) static_cast<void>(PyLong_AsLongLongAndOverflow(value, &overflow));
  return PyLong_CheckExact(value) != 0 && overflow == 0;
}

}  // namespace

LaunchPacker::LaunchPacker(Handle kernel, std::uint64_t place, std::optional<std::vector<PackedParameter>> parameters)
    : kernel_(kernel), place_(place), parameters_(std::move(parameters)) {
  if (!parameters_) return;
  for (const PackedParameter& each : *parameters_) {
    require(each.bytes <= wire::most_argument_bytes && each.offset <= wire::most_argument_bytes - each.bytes &&
                (each.kind == PackedParameter::Kind::Other || each.bytes <= 8) &&
                (each.kind != PackedParameter::Kind::Pointer || each.bytes == 8),
            "a parameter of " + std::to_string(each.bytes) + " bytes at " + std::to_string(each.offset));
    argument_bytes_ = std::max(argument_bytes_, each.offset + each.bytes);
  }
}

bool LaunchPacker::pack(const py::sequence& arguments, Packed& packed) const {
  const std::size_t count = arguments.size();
  if (parameters_ ? count != parameters_->size() : count > wire::most_references) return false;
  packed.bytes.assign(parameters_ ? argument_bytes_ : 8 * count, std::byte{});
  packed.arrays.clear();
  PyObject** const values = PySequence_Fast_ITEMS(arguments.ptr());  // of a list or a tuple
  for (std::size_t place = 0; place < count; ++place) {
    const bool is_packed = parameters_ ? pack_known(values[place], (*parameters_)[place], packed)
                                       : pack_unknown(values[place], place, packed);
    if (!is_packed) return false;
  }
  return true;
}

bool LaunchPacker::pack_known(PyObject* value, const PackedParameter& parameter, Packed& packed) const {
  switch (parameter.kind) {
    case PackedParameter::Kind::Pointer:
      return pack_array(value, parameter.offset, parameter.dtype, packed);
    case PackedParameter::Kind::Integer:
      return pack_integer(value, parameter, packed) ||
             (parameter.may_be_pointer && pack_array(value, parameter.offset, "", packed));
    case PackedParameter::Kind::Float:
      return pack_float(value, parameter, packed);
    case PackedParameter::Kind::Other:
      return false;
  }
  return false;
}

bool LaunchPacker::pack_unknown(PyObject* value, std::size_t place, Packed& packed) const {
  return value == Py_None || is_plain_number(value) || pack_array(value, 8 * place, "", packed);
}

bool LaunchPacker::pack_array(PyObject* value, std::size_t offset, const std::string& dtype, Packed& packed) const {
  const auto attribute = py::reinterpret_steal<py::object>(PyObject_GetAttr(value, attribute_.ptr()));
  if (!attribute) {
    PyErr_Clear();
    return false;
  }
  if (!py::isinstance<RemoteArray>(attribute)) return false;
  const auto& array = attribute.cast<const RemoteArray&>();
  if (array.place != place_ || (!dtype.empty() && dtype != array.dtype)) return false;
  packed.arrays.push_back(
      {.array = array.handle, .offset = 0, .position = static_cast<std::uint32_t>(offset), .zero = 0});
  return true;
}

}  // namespace gpushare::daemon
