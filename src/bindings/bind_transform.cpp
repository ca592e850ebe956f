// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/transform/ptx/called_functions.hpp"
#include "core/transform/ptx/module_variables.hpp"
#include "core/transform/worker/preemptible.hpp"

namespace gpushare::bindings {
namespace {

template <typename Value>
auto when_preemptible(Value ptx::WorkerNeeds::* field) {
  return [field](const ptx::KernelVerdict& self) -> std::optional<Value> {
    const auto* needs = std::get_if<ptx::WorkerNeeds>(&self.outcome);
    return needs ? std::optional(needs->*field) : std::nullopt;
  };
}

std::optional<ptx::Refusal> refusal(const ptx::KernelVerdict& verdict) {
  const auto* found = std::get_if<ptx::Refusal>(&verdict.outcome);
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<std::string> worker(const ptx::KernelVerdict& verdict) {
  return verdict.preemptible() ? std::optional(ptx::worker_name(verdict.name)) : std::nullopt;
}

}  // namespace

void bind_transform(py::module_& module) {
  py::class_<ptx::Refusal>(module, "Refusal", "Why a kernel has to run as it is.")
      .def_readonly("reason", &ptx::Refusal::reason)
      .def_readonly("line", &ptx::Refusal::line, "Line of the PTX, 0 where the reason is no single line.")
      .def_readonly("needs_all_blocks", &ptx::Refusal::needs_all_blocks,
                    "Does it end only where all blocks of the grid fit the GPU at once?");

  py::enum_<ptx::BlockShapes::Kind>(module, "BlockKind", "What is known of the blocks of a kernel's launches.")
      .value("ANY", ptx::BlockShapes::Kind::Any, "They may have any shape.")
      .value("FLAT", ptx::BlockShapes::Kind::Flat, "They have one layer, or are whole warps wide.")
      .value("LINES", ptx::BlockShapes::Kind::Lines, "They have one dimension, or are whole warps wide.")
      .value("WHOLE_WARPS", ptx::BlockShapes::Kind::WholeWarps, "They are a multiple of 32 threads wide.")
      .value("ONE_WIDTH", ptx::BlockShapes::Kind::OneWidth, "They have one layer, and one width.");
  py::class_<ptx::BlockShapes>(module, "BlockShapes", "The blocks that a worker is right for.")
      .def(py::init([](ptx::BlockShapes::Kind kind, std::int64_t width) { return ptx::BlockShapes{kind, width}; }),
           py::arg("kind") = ptx::BlockShapes::Kind::Any, py::arg("width") = 0)
      .def_readonly("kind", &ptx::BlockShapes::kind)
      .def_readonly("width", &ptx::BlockShapes::width, "0 but for ONE_WIDTH.")
      .def("suit", &ptx::BlockShapes::suit, py::arg("x"), py::arg("y"), py::arg("z"))
      .def(py::pickle([](const ptx::BlockShapes& self) { return py::make_tuple(self.kind, self.width); },
                      [](const py::tuple& state) {
                        return ptx::BlockShapes{state[0].cast<ptx::BlockShapes::Kind>(), state[1].cast<std::int64_t>()};
                      }))
      .def("__eq__", [](const ptx::BlockShapes& self, const ptx::BlockShapes& other) { return self == other; })
      .def("__hash__",
           [](const ptx::BlockShapes& self) { return static_cast<std::int64_t>(self.kind) + 8 * self.width; });

  py::class_<ptx::KernelVerdict>(module, "KernelVerdict", "What became of one kernel of a module.")
      .def_readonly("name", &ptx::KernelVerdict::name)
      .def_property_readonly("preemptible", &ptx::KernelVerdict::preemptible)
      .def_property_readonly("worker", &worker, "The name of its worker in the module, None where there is none.")
      .def_property_readonly("refusal", &refusal, "None where the kernel is preemptible.")
      .def_property_readonly("single_barrier_site", when_preemptible(&ptx::WorkerNeeds::single_barrier_site),
                             "Do all barriers go through one site, because threads may return before others meet?")
      .def_property_readonly("barrier_between_tasks", when_preemptible(&ptx::WorkerNeeds::barrier_between_tasks),
                             "Do tasks share memory within the block?")
      .def_property_readonly("blocks", when_preemptible(&ptx::WorkerNeeds::blocks),
                             "Launches with other blocks run as they are.");

  py::class_<ptx::Transformed>(
      module, "Transformed",
      "A module with kernels as they were, and beside them the workers of those that are preemptible.")
      .def_readonly("ptx", &ptx::Transformed::ptx)
      .def_readonly("kernels", &ptx::Transformed::kernels,
                    "One verdict per kernel that was chosen, in the order of the module.");

  py::class_<ptx::ModuleVariable>(module, "ModuleVariable", "A variable that launches or the host may change.")
      .def_readonly("name", &ptx::ModuleVariable::name, "Its symbol.")
      .def_readonly("type", &ptx::ModuleVariable::type, "Of an element, as PTX has it.")
      .def_readonly("extents", &ptx::ModuleVariable::extents, "None where it is no array.")
      .def_readonly("bytes", &ptx::ModuleVariable::bytes)
      .def_readonly("is_constant", &ptx::ModuleVariable::is_constant, "Can only the host set it?")
      .def_readonly("is_managed", &ptx::ModuleVariable::is_managed)
      .def_readonly("is_written", &ptx::ModuleVariable::is_written, "By kernels of the module, perhaps?")
      .def_readonly("is_used", &ptx::ModuleVariable::is_used, "By the kernel that was asked about?");
  module.def("module_variables", &ptx::module_variables, py::arg("ptx"), py::arg("entry"),
             py::call_guard<py::gil_scoped_release>(), "Those of the module that its kernels mention.");
  module.def("called_functions", &ptx::called_functions, py::arg("ptx"), py::arg("entry"),
             py::call_guard<py::gil_scoped_release>(), "Names of those that a kernel may call, directly or not.");
  py::enum_<ptx::Reach>(module, "Reach", "Where the workers of one launch run.")
      .value("ONE_DEVICE", ptx::Reach::OneDevice)
      .value("SEVERAL_DEVICES", ptx::Reach::SeveralDevices, "They claim from one counter.");
  module.def("make_preemptible", &ptx::make_preemptible, py::arg("ptx"),
             py::arg("entries") = std::vector<std::string>{}, py::arg("reach") = ptx::Reach::OneDevice,
             py::call_guard<py::gil_scoped_release>());
}

}  // namespace gpushare::bindings
