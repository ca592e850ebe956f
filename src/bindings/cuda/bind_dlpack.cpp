// SPDX-License-Identifier: Apache-2.0
// Arrays in a GPU's memory for libraries that speak DLPack: the structures are those of its version 0, in a capsule.
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"

namespace gpushare::bindings {
namespace {

constexpr const char* unused_capsule = "dltensor";  // the consumer of the tensor renames it
constexpr std::int32_t cuda_device = 2;

struct PackedTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t dimensions;
  std::uint8_t kind;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // none: in C order
  std::uint64_t byte_offset;
};

struct ManagedTensor {
  PackedTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

/// The tensor's description, and the Python object that owns its memory.
struct TensorWithOwner {
  ManagedTensor managed{};
  std::vector<std::int64_t> shape;
  py::object owner;
};

/// Called by any thread of the consumer.
void delete_tensor(ManagedTensor* managed) {
  const py::gil_scoped_acquire gil;
  delete static_cast<TensorWithOwner*>(managed->context);
}

void delete_unused(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, unused_capsule) == 0) return;
  auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, unused_capsule));
  managed->deleter(managed);
}

py::object capsule_of(py::object owner, std::uint64_t address, std::vector<std::int64_t> shape, std::uint8_t kind,
                      std::uint8_t bits, std::int32_t ordinal) {
  auto made = std::make_unique<TensorWithOwner>();
  made->shape = std::move(shape);
  made->owner = std::move(owner);
  made->managed.tensor = {.data = reinterpret_cast<void*>(address),
                          .device_type = cuda_device,
                          .device_id = ordinal,
                          .dimensions = static_cast<std::int32_t>(made->shape.size()),
                          .kind = kind,
                          .bits = bits,
                          .lanes = 1,
                          .shape = made->shape.data(),
                          .strides = nullptr,
                          .byte_offset = 0};
  made->managed.context = made.get();
  made->managed.deleter = &delete_tensor;
  PyObject* capsule = PyCapsule_New(&made->managed, unused_capsule, &delete_unused);
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(made.release());
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

void bind_dlpack(py::module_& module) {
  module.def("dlpack_capsule", &capsule_of, py::arg("owner"), py::arg("address"), py::arg("shape"), py::arg("kind"),
             py::arg("bits"), py::arg("ordinal"),
             "A contiguous array on a GPU, for a library that takes it by DLPack. The owner lives as long.");
}

}  // namespace gpushare::bindings
