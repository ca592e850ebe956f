// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/launch_packer.hpp"

#include <algorithm>

namespace gpushare::daemon {
namespace {

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
    require(each.bytes <= wire::most_argument_bytes && each.offset <= wire::most_argument_bytes - each.bytes,
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
  if (parameter.kind == PackedParameter::Kind::Pointer) {
    return pack_array(value, parameter.offset, parameter.dtype, packed);
  }
  return bindings::pack_number(value, parameter, packed.bytes.data() + parameter.offset) ||
         (parameter.may_be_pointer && pack_array(value, parameter.offset, "", packed));
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
