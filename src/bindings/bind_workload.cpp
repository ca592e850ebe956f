// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <cmath>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/model/errors.hpp"
#include "core/model/residency.hpp"
#include "core/model/workload.hpp"

namespace gpushare::bindings {
namespace {

py::class_<Kernel> bind_kernel(py::module_& module) {
  return py::class_<Kernel>(module, "KernelModel")
      .def(py::init([](std::string name, int threads, int registers_per_thread, std::int64_t shared_memory_bytes,
                       std::int64_t latency, std::int64_t issue, std::int64_t off_sm_bytes, double llc_hit_ratio,
                       double dram_cost_ratio, std::int64_t memory, double variation_ratio, double startup_ratio,
                       double stagger_ratio, double trend_ratio, double flops, bool is_profiled,
                       double rate_as_written) {
             return Kernel{.name = std::move(name),
                           .needs = {threads, registers_per_thread, Bytes{shared_memory_bytes}},
                           .cost = {.latency = Duration(latency),
                                    .issue = Duration(issue),
                                    .off_sm = Bytes{off_sm_bytes},
                                    .llc_hit_ratio = llc_hit_ratio,
                                    .dram_cost_ratio = dram_cost_ratio,
                                    .memory = Duration(memory),
                                    .variation_ratio = variation_ratio,
                                    .startup_ratio = startup_ratio,
                                    .stagger_ratio = stagger_ratio,
                                    .flops = flops,
                                    .trend_ratio = trend_ratio},
                           .is_profiled = is_profiled,
                           .rate_as_written = rate_as_written};
           }),
           py::arg("name"), py::kw_only(), py::arg("threads"), py::arg("registers_per_thread") = 0,
           py::arg("shared_memory_bytes") = 0, py::arg("latency_ns"), py::arg("issue_ns") = 0,
           py::arg("off_sm_bytes") = 0, py::arg("llc_hit_ratio") = 0.0, py::arg("dram_cost_ratio") = 1.0,
           py::arg("memory_ns") = 0, py::arg("variation_ratio") = 0.0, py::arg("startup_ratio") = 0.0,
           py::arg("stagger_ratio") = 0.0, py::arg("trend_ratio") = 0.0, py::arg("flops") = 0.0,
           py::arg("is_profiled") = true, py::arg("rate_as_written") = 0.0);
}

void bind_kernel_properties(py::class_<Kernel> kernel) {
  kernel.def_readonly("name", &Kernel::name)
      .def_property_readonly("threads", [](const Kernel& kernel) { return kernel.needs.threads; })
      .def_property_readonly("registers_per_thread",
                             [](const Kernel& kernel) { return kernel.needs.registers_per_thread; })
      .def_property_readonly("shared_memory_bytes",
                             [](const Kernel& kernel) { return kernel.needs.shared_memory.count; })
      .def_property_readonly("latency_ns", [](const Kernel& kernel) { return count(kernel.cost.latency); })
      .def_property_readonly("issue_ns", [](const Kernel& kernel) { return count(kernel.cost.issue); })
      .def_property_readonly("off_sm_bytes", [](const Kernel& kernel) { return kernel.cost.off_sm.count; })
      .def_property_readonly("llc_hit_ratio", [](const Kernel& kernel) { return kernel.cost.llc_hit_ratio; })
      .def_property_readonly("dram_cost_ratio", [](const Kernel& kernel) { return kernel.cost.dram_cost_ratio; })
      .def_property_readonly("memory_ns", [](const Kernel& kernel) { return count(kernel.cost.memory); })
      .def_property_readonly("variation_ratio", [](const Kernel& kernel) { return kernel.cost.variation_ratio; })
      .def_property_readonly("startup_ratio", [](const Kernel& kernel) { return kernel.cost.startup_ratio; })
      .def_property_readonly("stagger_ratio", [](const Kernel& kernel) { return kernel.cost.stagger_ratio; })
      .def_property_readonly("flops", [](const Kernel& kernel) { return kernel.cost.flops; })
      .def_readonly("is_profiled", &Kernel::is_profiled)
      .def_readonly("rate_as_written", &Kernel::rate_as_written)
      .def_property_readonly("trend_ratio", [](const Kernel& kernel) { return kernel.cost.trend_ratio; });
}

void bind_residency(py::module_& module) {
  module.def(
      "max_residency", [](const Device& device, const Kernel& kernel) { return max_residency(device, kernel.needs); },
      py::arg("device"), py::arg("kernel"));
  module.def(
      "residency_limits",
      [](const Device& device, const Kernel& kernel) {
        const ResidencyLimits limits = residency_limits(device, kernel.needs);
        return py::dict(py::arg("blocks") = limits.by_blocks, py::arg("threads") = limits.by_threads,
                        py::arg("registers") = limits.by_registers, py::arg("shared_memory") = limits.by_shared_memory);
      },
      py::arg("device"), py::arg("kernel"));
  module.def(
      "split_block_time",
      [](std::int64_t mean_block_time_ns, int max_residency, double issue_utilisation_ratio) {
        const BlockCost cost =
            cost_from_full_residency(Duration(mean_block_time_ns), max_residency, issue_utilisation_ratio);
        return py::make_tuple(count(cost.latency), count(cost.issue));
      },
      py::arg("mean_block_time_ns"), py::arg("max_residency"), py::arg("issue_utilisation_ratio"));
}

std::optional<Duration> optional_duration(const std::optional<std::int64_t>& count) {
  return count ? std::optional(Duration(*count)) : std::nullopt;
}

void bind_pace(py::module_& module) {
  py::class_<HostPace>(module, "HostPace")
      .def(py::init([](std::int64_t host, std::optional<std::int64_t> after, std::int64_t gap) {
             return HostPace{.host = Duration(host), .after = optional_duration(after), .gap = Duration(gap)};
           }),
           py::kw_only(), py::arg("host_ns") = 0, py::arg("after_ns") = py::none(), py::arg("gap_ns") = 0)
      .def_property_readonly("host_ns", [](const HostPace& pace) { return count(pace.host); })
      .def_property_readonly("after_ns", [](const HostPace& pace) { return optional_count(pace.after); })
      .def_property_readonly("gap_ns", [](const HostPace& pace) { return count(pace.gap); });
}

void bind_operations(py::module_& module) {
  py::class_<Launch>(module, "Launch")
      .def(py::init([](Kernel kernel, std::int64_t blocks, std::optional<std::int64_t> alone, const HostPace& pace) {
             Launch launch{.kernel = std::move(kernel), .blocks = blocks, .pace = pace};
             if (alone) launch.alone = Duration(*alone);
             return launch;
           }),
           py::arg("kernel"), py::arg("blocks"), py::kw_only(), py::arg("alone_ns") = py::none(),
           py::arg_v("pace", HostPace{}, "HostPace()"))
      .def_readonly("kernel", &Launch::kernel)
      .def_readonly("pace", &Launch::pace)
      .def_readonly("blocks", &Launch::blocks)
      .def_property_readonly("alone_ns", [](const Launch& launch) { return optional_count(launch.alone); });

  py::class_<Copy> copy(module, "Copy");
  py::enum_<Copy::Direction>(copy, "Direction")
      .value("TO_DEVICE", Copy::Direction::ToDevice)
      .value("TO_HOST", Copy::Direction::ToHost);
  copy.def(py::init([](Copy::Direction direction, std::int64_t bytes, std::optional<std::int64_t> alone,
                       const HostPace& pace) {
             Copy made{.direction = direction, .size = Bytes{bytes}, .pace = pace};
             if (alone) made.alone = Duration(*alone);
             return made;
           }),
           py::arg("direction"), py::arg("bytes"), py::kw_only(), py::arg("alone_ns") = py::none(),
           py::arg_v("pace", HostPace{}, "HostPace()"))
      .def_property_readonly("alone_ns", [](const Copy& self) { return optional_count(self.alone); })
      .def_readonly("pace", &Copy::pace)
      .def_readonly("direction", &Copy::direction)
      .def_property_readonly("bytes", [](const Copy& self) { return self.size.count; });
}

void bind_application(py::module_& module) {
  py::class_<Application>(module, "Application")
      .def(py::init([](std::string name, std::vector<Operation> operations, std::int64_t arrival, int priority,
                       double weight, std::int64_t memory_bytes, std::optional<std::int64_t> deadline,
                       std::optional<double> min_speed, std::optional<std::int64_t> latency, std::string owner,
                       double owner_weight) {
             return Application{.name = std::move(name),
                                .arrival = Duration(arrival),
                                .priority = priority,
                                .weight = weight,
                                .owner = std::move(owner),
                                .owner_weight = owner_weight,
                                .deadline = optional_duration(deadline),
                                .min_speed = min_speed,
                                .latency = optional_duration(latency),
                                .operations = std::move(operations),
                                .memory = Bytes{memory_bytes}};
           }),
           py::arg("name"), py::arg("operations"), py::kw_only(), py::arg("arrival_ns") = 0, py::arg("priority") = 0,
           py::arg("weight") = 1.0, py::arg("memory_bytes") = 0, py::arg("deadline_ns") = py::none(),
           py::arg("min_speed") = py::none(), py::arg("latency_ns") = py::none(), py::arg("owner") = "",
           py::arg("owner_weight") = 1.0)
      .def_readonly("name", &Application::name)
      .def_readonly("operations", &Application::operations)
      .def_property_readonly("arrival_ns", [](const Application& self) { return count(self.arrival); })
      .def_readonly("priority", &Application::priority)
      .def_readonly("weight", &Application::weight)
      .def_readonly("owner", &Application::owner)
      .def_readonly("owner_weight", &Application::owner_weight)
      .def_property_readonly("memory_bytes", [](const Application& self) { return self.memory.count; })
      .def_property_readonly("deadline_ns", [](const Application& self) { return optional_count(self.deadline); })
      .def_readonly("min_speed", &Application::min_speed)
      .def_property_readonly("latency_ns", [](const Application& self) { return optional_count(self.latency); });
}

}  // namespace

void bind_workload(py::module_& module) {
  bind_kernel_properties(bind_kernel(module));
  bind_residency(module);
  bind_pace(module);
  bind_operations(module);
  bind_application(module);
  py::class_<Workload>(module, "CoreWorkload")
      .def(py::init([](std::string name, std::vector<Application> applications) {
             return Workload{std::move(name), std::move(applications)};
           }),
           py::arg("name"), py::arg("applications"))
      .def_readonly("name", &Workload::name)
      .def_readonly("applications", &Workload::applications)
      .def(
          "validate", [](const Workload& self, const Device& device) { validate(self, device); }, py::arg("device"))
      .def(
          "alone",
          [](const Workload& self, int application) { return alone(self, static_cast<ApplicationId>(application)); },
          py::arg("application"));
}

}  // namespace gpushare::bindings
