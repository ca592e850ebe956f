// SPDX-License-Identifier: Apache-2.0
#include "bindings/cuda/launch_shape.hpp"

#include <cstring>

namespace gpushare::bindings {
namespace {

py::object attribute(PyObject* of, const py::str& name) {
  auto found = py::reinterpret_steal<py::object>(PyObject_GetAttr(of, name.ptr()));
  if (!found) throw py::error_already_set();
  return found;
}

}  // namespace

std::vector<std::vector<std::byte>> as_arguments(const std::vector<py::bytes>& values) {
  std::vector<std::vector<std::byte>> arguments;
  for (const py::bytes& value : values) {
    const std::string_view view(value);
    const auto* first = reinterpret_cast<const std::byte*>(view.data());
    arguments.emplace_back(first, first + view.size());
  }
  return arguments;
}

LaunchShape::LaunchShape(cuda::DeviceLaunch launch, std::vector<PackedParameter> parameters, py::object array_type)
    : launch_(std::move(launch)), parameters_(std::move(parameters)), array_{.type = std::move(array_type)} {
  const py::object dtype = py::module_::import("numpy").attr("dtype");
  for (const PackedParameter& each : parameters_) {
    launch_.arguments.emplace_back(each.bytes);
    dtypes_.push_back(each.dtype.empty() ? py::object() : dtype(each.dtype));
  }
}

std::shared_ptr<cuda::SubmittedCode> LaunchShape::with(const py::tuple& arguments) const {
  if (arguments.size() != parameters_.size()) return nullptr;
  cuda::DeviceLaunch launch = launch_;
  for (std::size_t place = 0; place < parameters_.size(); ++place) {
    const PackedParameter& parameter = parameters_[place];
    PyObject* const value = PyTuple_GET_ITEM(arguments.ptr(), place);
    std::byte* const to = launch.arguments[place].data();
    const bool takes_array = parameter.kind == PackedParameter::Kind::Pointer || parameter.may_be_pointer;
    if (!pack_number(value, parameter, to) && !(takes_array && pack_array(value, place, to))) return nullptr;
  }
  return std::make_shared<cuda::SubmittedCode>(std::move(launch));
}

bool LaunchShape::pack_array(PyObject* value, std::size_t place, std::byte* to) const {
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != array_.type.ptr()) return false;
  // NumPy has one object for each usual type: another one that is equal is looked at by the caller.
  if (dtypes_[place] && !attribute(value, array_.dtype).is(dtypes_[place])) return false;
  const py::object memory = attribute(value, array_.memory);
  if (memory.is_none()) return false;  // it has been freed
  const py::object address = attribute(memory.ptr(), array_.address);
  const std::uint64_t number = address.is_none() ? 0 : address.cast<std::uint64_t>();
  std::memcpy(to, &number, sizeof(number));
  return true;
}

std::shared_ptr<cuda::SubmittedCode> LaunchShape::with_bytes(const std::vector<py::bytes>& arguments) const {
  cuda::DeviceLaunch launch = launch_;
  launch.arguments = as_arguments(arguments);
  return std::make_shared<cuda::SubmittedCode>(std::move(launch));
}

}  // namespace gpushare::bindings
