// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/model/errors.hpp"
#include "core/model/residency.hpp"

namespace gpushare::bindings {
namespace {

constexpr const char* fair = "fair";
constexpr const char* oldest_first = "oldest-first";

IssueOrder issue_order(const std::string& words) {
  require(words == fair || words == oldest_first, "no issue order '" + words + "'; known: fair, oldest-first");
  return words == fair ? IssueOrder::Fair : IssueOrder::OldestFirst;
}

void bind_sm(py::module_& module) {
  py::class_<SmCapacity>(module, "SmCapacity", "What all resident blocks of one SM share.")
      .def(py::init([](int threads, int warps, int blocks, int registers, std::int64_t shared_memory_bytes,
                       const std::string& order, const std::vector<std::int64_t>& splits) {
             SmCapacity sm{threads, warps, blocks, registers, Bytes{shared_memory_bytes}, issue_order(order)};
             for (const std::int64_t split : splits) sm.shared_memory_splits.push_back(Bytes{split});
             require(std::ranges::is_sorted(splits), "shared_memory_splits_bytes must be ascending");
             return sm;
           }),
           py::kw_only(), py::arg("threads"), py::arg("warps"), py::arg("blocks"), py::arg("registers"),
           py::arg("shared_memory_bytes"), py::arg("issue_order") = fair,
           py::arg("shared_memory_splits_bytes") = std::vector<std::int64_t>{})
      .def_readonly("threads", &SmCapacity::threads)
      .def_readonly("warps", &SmCapacity::warps)
      .def_readonly("blocks", &SmCapacity::blocks)
      .def_readonly("registers", &SmCapacity::registers)
      .def_property_readonly("shared_memory_bytes", [](const SmCapacity& sm) { return sm.shared_memory.count; })
      .def_property_readonly(
          "issue_order", [](const SmCapacity& sm) { return sm.issue_order == IssueOrder::Fair ? fair : oldest_first; },
          "The warps that the SM serves first: \"fair\", or \"oldest-first\" by how long their block has been on it.")
      .def_property_readonly(
          "shared_memory_splits_bytes",
          [](const SmCapacity& sm) {
            std::vector<std::int64_t> splits;
            for (const Bytes split : sm.shared_memory_splits) splits.push_back(split.count);
            return splits;
          },
          "What of the L1 cache can be shared memory; kernels that need different splits keep one another out of an "
          "SM. Empty: any part.");
}

void bind_granularity(py::module_& module) {
  py::class_<AllocationGranularity>(module, "AllocationGranularity", "The units in which an SM hands out resources.")
      .def(py::init([](int threads_per_warp, int registers_per_warp, int warps, std::int64_t shared_memory_bytes,
                       std::int64_t reserved_shared_memory_bytes) {
             return AllocationGranularity{threads_per_warp, registers_per_warp, warps, Bytes{shared_memory_bytes},
                                          Bytes{reserved_shared_memory_bytes}};
           }),
           py::kw_only(), py::arg("threads_per_warp") = 32, py::arg("registers_per_warp") = 256, py::arg("warps") = 4,
           py::arg("shared_memory_bytes") = 128, py::arg("reserved_shared_memory_bytes") = 0)
      .def_readonly("threads_per_warp", &AllocationGranularity::threads_per_warp)
      .def_readonly("registers_per_warp", &AllocationGranularity::registers_per_warp)
      .def_readonly("warps", &AllocationGranularity::warps)
      .def_property_readonly("shared_memory_bytes",
                             [](const AllocationGranularity& unit) { return unit.shared_memory.count; })
      .def_property_readonly("reserved_shared_memory_bytes",
                             [](const AllocationGranularity& unit) { return unit.reserved_shared_memory.count; });
}

void bind_off_sm(py::module_& module) {
  py::class_<OffSmBandwidth>(module, "OffSmBandwidth",
                             "Bandwidth beyond the SMs in bytes per second, all SMs together; 0 means no limit.")
      .def(py::init([](double noc, double llc, double dram, double linear, double saturating) {
             return OffSmBandwidth{Bandwidth{noc}, Bandwidth{llc}, Bandwidth{dram}, {linear, saturating}};
           }),
           py::kw_only(), py::arg("noc_bytes_per_s") = 0.0, py::arg("llc_bytes_per_s") = 0.0,
           py::arg("dram_bytes_per_s") = 0.0, py::arg("delay_linear") = 0.0, py::arg("delay_saturating") = 0.0)
      .def_property_readonly("delay_linear", [](const OffSmBandwidth& off_sm) { return off_sm.delay.linear; })
      .def_property_readonly("delay_saturating", [](const OffSmBandwidth& off_sm) { return off_sm.delay.saturating; })
      .def_property_readonly("noc_bytes_per_s",
                             [](const OffSmBandwidth& off_sm) { return off_sm.noc.bytes_per_second; })
      .def_property_readonly("llc_bytes_per_s",
                             [](const OffSmBandwidth& off_sm) { return off_sm.llc.bytes_per_second; })
      .def_property_readonly("dram_bytes_per_s",
                             [](const OffSmBandwidth& off_sm) { return off_sm.dram.bytes_per_second; });
}

void bind_host_side(py::module_& module) {
  py::class_<CopyEngine>(module, "CopyEngine", "One direction of the copy engines: time = latency + bytes / bandwidth.")
      .def(py::init([](double bandwidth, std::int64_t latency) {
             return CopyEngine{Duration(latency), Bandwidth{bandwidth}};
           }),
           py::kw_only(), py::arg("bandwidth_bytes_per_s"), py::arg("latency_ns") = 0)
      .def_property_readonly("latency_ns", [](const CopyEngine& engine) { return count(engine.latency); })
      .def_property_readonly("bandwidth_bytes_per_s",
                             [](const CopyEngine& engine) { return engine.bandwidth.bytes_per_second; });

  py::class_<CommandDelays>(module, "CommandDelays", "How long the host's commands take to have effect.")
      .def(py::init([](std::int64_t launch, std::int64_t signal, std::int64_t relaunch, std::int64_t block_dispatch,
                       std::int64_t completion, std::int64_t top_up, std::int64_t follow) {
             return CommandDelays{Duration(launch),     Duration(signal), Duration(relaunch), Duration(block_dispatch),
                                  Duration(completion), Duration(top_up), Duration(follow)};
           }),
           py::kw_only(), py::arg("launch_ns") = 0, py::arg("signal_ns") = 0, py::arg("relaunch_ns") = 0,
           py::arg("block_dispatch_ns") = 0, py::arg("completion_ns") = 0, py::arg("top_up_ns") = 0,
           py::arg("follow_ns") = 0)
      .def_property_readonly("launch_ns", [](const CommandDelays& delays) { return count(delays.launch); })
      .def_property_readonly("signal_ns", [](const CommandDelays& delays) { return count(delays.signal); })
      .def_property_readonly("relaunch_ns", [](const CommandDelays& delays) { return count(delays.relaunch); })
      .def_property_readonly("block_dispatch_ns",
                             [](const CommandDelays& delays) { return count(delays.block_dispatch); })
      .def_property_readonly("completion_ns", [](const CommandDelays& delays) { return count(delays.completion); })
      .def_property_readonly("top_up_ns", [](const CommandDelays& delays) { return count(delays.top_up); })
      .def_property_readonly("follow_ns", [](const CommandDelays& delays) { return count(delays.follow); });
}

}  // namespace

void bind_device(py::module_& module) {
  bind_sm(module);
  bind_granularity(module);
  bind_off_sm(module);
  bind_host_side(module);
  bind_device_tuning(module);
  py::class_<Device>(module, "Device",
                     "A GPU as data. See docs/guide/devices.md for where the figures of each come from.")
      .def(py::init([](std::string name, int sms, double clock_hz, SmCapacity per_sm, AllocationGranularity granularity,
                       OffSmBandwidth off_sm, CopyEngine to_device, CopyEngine to_host, CommandDelays delays,
                       double flops_per_s, std::int64_t memory_bytes, const CoRunTuning& tuning,
                       const RuntimeTuning& runtime, CopyEngine peer) {
             Device device{std::move(name), sms, clock_hz, per_sm, granularity, off_sm, to_device, to_host, delays};
             device.flops_per_s = flops_per_s;
             device.memory = Bytes{memory_bytes};
             device.tuning = tuning;
             device.runtime = runtime;
             device.peer = peer;
             validate(device);
             return device;
           }),
           py::kw_only(), py::arg("name"), py::arg("sms"), py::arg("clock_hz"), py::arg("per_sm"),
           py::arg("granularity"), py::arg("off_sm"), py::arg("to_device"), py::arg("to_host"), py::arg("delays"),
           py::arg("flops_per_s") = 0.0, py::arg("memory_bytes") = 0, py::arg("tuning") = CoRunTuning(),
           py::arg("runtime") = RuntimeTuning(), py::arg("peer") = CopyEngine())
      .def_readonly("name", &Device::name)
      .def_property_readonly(
          "memory_bytes", [](const Device& device) { return device.memory.count; }, "0 where it is not known.")
      .def_readonly("sms", &Device::sms)
      .def_readonly("clock_hz", &Device::clock_hz)
      .def_readonly("per_sm", &Device::per_sm)
      .def_readonly("granularity", &Device::granularity)
      .def_readonly("off_sm", &Device::off_sm)
      .def_readonly("to_device", &Device::to_device)
      .def_readonly("to_host", &Device::to_host)
      .def_readonly("peer", &Device::peer, "The link to other GPUs of its host; a bandwidth of 0: there is none.")
      .def_readonly("delays", &Device::delays)
      .def_readonly("tuning", &Device::tuning)
      .def_readonly("runtime", &Device::runtime)
      .def_readonly("flops_per_s", &Device::flops_per_s)
      .def("__repr__",
           [](const Device& device) { return "<Device " + device.name + ", " + std::to_string(device.sms) + " SMs>"; })
      .def("_repr_html_",
           [](const py::object& self) {
             return py::module_::import("gpushare.reports.display").attr("device_html")(self);
           })
      .def("__reduce__", [](const py::object& self) {
        const py::module_ format = py::module_::import("gpushare.model.device_file");
        return py::make_tuple(format.attr("device_from_dict"), py::make_tuple(format.attr("device_to_dict")(self)));
      });
}

}  // namespace gpushare::bindings
