// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdio>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "core/model/errors.hpp"
#include "cuda/driver/driver.hpp"
#include "cuda/measure/copy_timing.hpp"
#include "cuda/measure/launch_timing.hpp"
#include "cuda/measure/profiler.hpp"
#include "cuda/measure/worker_trial.hpp"

namespace gpushare::bindings {
namespace {

const cuda::DeviceLaunch& only_launch(const CudaProgram& program) {
  const bool is_launch =
      program.operations.size() == 1 && std::holds_alternative<cuda::DeviceLaunch>(program.operations.front());
  require(is_launch, "a profile is of a program with one operation, a launch");
  return std::get<cuda::DeviceLaunch>(program.operations.front());
}

std::int64_t time_of_launch(const CudaDevice& device, const CudaProgram& program) {
  const cuda::DeviceLaunch& launch = only_launch(program);
  const py::gil_scoped_release no_gil;
  return count(cuda::time_of_original(*device.resources, launch));
}

cuda::Trial trial(const CudaDevice& device, const CudaProgram& program, std::vector<std::uint16_t> quotas,
                  std::uint16_t chunk, std::int64_t blocks, std::int64_t limit_ns, std::int64_t interval_ns) {
  const cuda::DeviceLaunch& launch = only_launch(program);
  const py::gil_scoped_release no_gil;
  return cuda::run_trial(*device.resources, launch,
                         {.quotas = std::move(quotas),
                          .chunk = chunk,
                          .blocks = blocks,
                          .limit = Duration(limit_ns),
                          .interval = Duration(interval_ns)});
}

/// The identifier by which NVML finds this GPU, independent of the process's numbering.
std::string pci_bus_id(const CudaDevice& device) {
  const auto ask = [&](CUdevice_attribute which) {
    int value = 0;
    GPUSHARE_CU(cuDeviceGetAttribute(&value, which, device.context->device()));
    return static_cast<unsigned>(value);
  };
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%08X:%02X:%02X.0", ask(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
                ask(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), ask(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
  return text.data();
}

/// One number per sample.
template <typename Field>
py::array_t<std::int64_t> per_sample(const cuda::Trial& trial, Field field) {
  py::array_t<std::int64_t> values(static_cast<py::ssize_t>(trial.samples.size()));
  auto out = values.mutable_unchecked<1>();
  for (std::size_t row = 0; row < trial.samples.size(); ++row) {
    out(static_cast<py::ssize_t>(row)) = static_cast<std::int64_t>(field(trial.samples[row]));
  }
  return values;
}

/// One number per sample and SM.
template <typename Field>
py::array_t<std::int64_t> per_sm(const cuda::Trial& trial, Field field) {
  const std::size_t sms = trial.samples.empty() ? 0 : trial.samples.front().sms.size();
  py::array_t<std::int64_t> values({trial.samples.size(), sms});
  auto out = values.mutable_unchecked<2>();
  for (std::size_t row = 0; row < trial.samples.size(); ++row) {
    for (std::size_t sm = 0; sm < sms; ++sm) {
      out(static_cast<py::ssize_t>(row), static_cast<py::ssize_t>(sm)) =
          static_cast<std::int64_t>(field(trial.samples[row].sms[sm]));
    }
  }
  return values;
}

void bind_trial(py::module_& module) {
  py::class_<cuda::Trial>(module, "WorkerTrial", "Counters of a launch under fixed quotas, sample by sample.")
      .def_readonly("finished", &cuda::Trial::finished, "Have all its blocks ended?")
      .def_property_readonly(
          "told_ns",
          [](const cuda::Trial& self) { return self.told ? std::optional(count(*self.told)) : std::nullopt; },
          "When the order to leave was written, from the launch on; None where the launch ended within its limit.")
      .def_property_readonly(
          "end_ns", [](const cuda::Trial& self) { return count(self.end); },
          "When no worker was left, from the launch on.")
      .def_property_readonly(
          "time_ns",
          [](const cuda::Trial& self) { return per_sample(self, [](const auto& each) { return count(each.time); }); },
          "Per sample, from the launch on.")
      .def_property_readonly(
          "claimed", [](const cuda::Trial& self) { return per_sample(self, [](const auto& s) { return s.claimed; }); },
          "Blocks claimed, per sample.")
      .def_property_readonly(
          "workers", [](const cuda::Trial& self) { return per_sm(self, [](const auto& sm) { return sm.workers; }); },
          "Workers present, per sample and SM.")
      .def_property_readonly(
          "done", [](const cuda::Trial& self) { return per_sm(self, [](const auto& sm) { return sm.tasks_done; }); },
          "Blocks done, per sample and SM.")
      .def_property_readonly(
          "busy_ns", [](const cuda::Trial& self) { return per_sm(self, [](const auto& sm) { return sm.busy_ns; }); },
          "Time that workers have spent on the blocks done, per sample and SM.");
  module.def("run_worker_trial", &trial, py::arg("device"), py::arg("program"), py::arg("quotas"), py::arg("chunk"),
             py::arg("blocks"), py::arg("limit_ns"), py::arg("interval_ns"),
             "Runs the launch as workers under these quotas, one per SM, alone and without a scheduler. Releases the "
             "GIL. `blocks`: only the first so many of the grid, 0 for all.");
  module.def("time_of_launch", &time_of_launch, py::arg("device"), py::arg("program"),
             "Nanoseconds that the original kernel takes alone, by events around it. Releases the GIL.");
  module.def(
      "original_occupancy",
      [](const cuda::KernelCode& code, const CudaDevice& device, int threads, unsigned shared_bytes) {
        return cuda::driver_occupancy(*device.context, code.original(), threads, shared_bytes);
      },
      py::arg("code"), py::arg("device"), py::arg("threads"), py::arg("shared_bytes"),
      "Blocks of the original kernel per SM, as the driver sees it.");
  module.def("pci_bus_id", &pci_bus_id, py::arg("device"), "Domain, bus and device, as NVML takes them.");
}

void bind_copy_timer(py::module_& module) {
  py::enum_<cuda::HostMemory>(module, "HostMemory", "The host's side of a copy.")
      .value("PINNED", cuda::HostMemory::Pinned)
      .value("PAGEABLE", cuda::HostMemory::Pageable);
  py::class_<cuda::CopyTimer>(module, "CopyTimer", "Measures copies between host and device.")
      .def(py::init([](const CudaDevice& device, std::size_t most_bytes) {
             const py::gil_scoped_release no_gil;
             return std::make_unique<cuda::CopyTimer>(*device.resources, most_bytes);
           }),
           py::arg("device"), py::arg("most_bytes"), py::keep_alive<1, 2>())
      .def(
          "measure",
          [](cuda::CopyTimer& self, Copy::Direction direction, cuda::HostMemory memory, std::size_t bytes,
             int repeats) {
            std::vector<cuda::CopyTime> times;
            {
              const py::gil_scoped_release no_gil;
              times = self.measure(direction, memory, bytes, repeats);
            }
            std::vector<std::pair<std::int64_t, std::int64_t>> rows;
            for (const cuda::CopyTime& time : times) rows.emplace_back(count(time.host), count(time.device));
            return rows;
          },
          py::arg("direction"), py::arg("memory"), py::arg("bytes"), py::arg("repeats"),
          "Per repeat, nanoseconds by the host's clock and by events around the copy.");
}

void bind_counters(py::module_& module) {
  py::class_<cuda::Profiler>(module, "CounterProfiler",
                             "Hardware counters of a launch. Slows the GPU down as long as it lives.")
      .def(py::init([](const CudaDevice& device, const std::string& library, std::vector<std::string> metrics) {
             const py::gil_scoped_release no_gil;
             return std::make_unique<cuda::Profiler>(*device.resources, library, std::move(metrics));
           }),
           py::arg("device"), py::arg("library"), py::arg("metrics"), py::keep_alive<1, 2>())
      .def_property_readonly("passes", &cuda::Profiler::passes, "How often the launch has to run.")
      .def(
          "run",
          [](cuda::Profiler& self, const CudaProgram& program) {
            const cuda::DeviceLaunch& launch = only_launch(program);
            const py::gil_scoped_release no_gil;
            return self.run(launch);
          },
          py::arg("program"), "Runs the original kernel for one pass; True after the last one.")
      .def("values", &cuda::Profiler::values, "By metric, after the last pass.");
}

}  // namespace

void bind_profile(py::module_& module) {
  bind_trial(module);
  bind_copy_timer(module);
  bind_counters(module);
}

}  // namespace gpushare::bindings
