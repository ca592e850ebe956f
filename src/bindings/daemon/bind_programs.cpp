// SPDX-License-Identifier: Apache-2.0
// Unmodified programs: the server's side of them, and that of `gpushare run`.
#include <optional>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/daemon/daemon_waits.hpp"
#include "bindings/runs/policy_maker.hpp"
#include "bindings/runs/session_ordering.hpp"
#include "core/ordering/ordering_registry.hpp"
#include "daemon/session_sink.hpp"
#include "programs/page_keeper.hpp"
#include "programs/program_port.hpp"

namespace gpushare::programs {
namespace {

namespace py = pybind11;

using SinkPtr = std::shared_ptr<daemon::SessionSink>;

SinkPtr open_program_sink(const Device& device, std::shared_ptr<Programs> programs, const py::object& policy,
                          const std::string& ordering, bool run_at_once) {
  const Session::MakePolicy make_policy = bindings::maker_of(policy);
  auto ordered = bindings::session_ordering(ordering, device);
  const CopyPieces pieces = ordering_pieces(ordering, device);
  const bool is_cut = pieces.cut_in != CutIn::None;
  const Bytes whole{};
  if (ordered) programs->order_tasks({is_cut ? pieces.to_device : whole, is_cut ? pieces.to_host : whole});
  const py::gil_scoped_release released;
  const ProgramGpuSettings settings = run_at_once ? ProgramGpuSettings::under_mps() : ProgramGpuSettings{};
  return {new daemon::SessionSink(program_live_device(device, std::move(programs), settings), make_policy,
                                  {.ordering = std::move(ordered)}),
          WithoutGil<daemon::SessionSink>{}};
}

/// A board's descriptor, the number of the device among the program's GPUs, and how many these are.
using PlaceInGang = std::tuple<int, std::size_t, std::size_t>;

daemon::SharedMemory mapped(int descriptor, std::size_t bytes) {
  return daemon::SharedMemory::map(daemon::FileDescriptor::duplicate(descriptor), bytes);
}

GangMember member_of(int board, std::size_t gpu, std::size_t gpus) {
  return {mapped(board, sizeof(GangBoard)), gpu, gpus};
}

std::shared_ptr<ProgramPort> open_program_port(const SinkPtr& sink, std::shared_ptr<Programs> programs,
                                               std::shared_ptr<daemon::SessionApplication> application, int descriptor,
                                               bool run_at_once, const std::optional<PlaceInGang>& gang) {
  auto member = gang ? std::apply(member_of, *gang) : GangMember();
  auto program = std::make_shared<Program>(mapped(descriptor, sizeof(ProgramPage)), std::move(member), application);
  const py::gil_scoped_release released;
  const ProgramGpuSettings settings = run_at_once ? ProgramGpuSettings::under_mps() : ProgramGpuSettings{};
  return {new ProgramPort(sink->session(), std::move(application), std::move(programs), std::move(program), settings),
          WithoutGil<ProgramPort>{}};
}

const char* name_of(LaunchKind kind) {
  switch (kind) {
    case LaunchKind::Cooperative:
      return "cooperative";
    case LaunchKind::Cluster:
      return "cluster";
    case LaunchKind::Graph:
      return "graph";
    default:
      return "kernel";
  }
}

/// Programs write names, so that they need not be UTF-8.
py::str decoded(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

void bind_page(py::module_& module) {
  py::class_<KernelSummary>(module, "ProgramKernel", "A kernel of a program, with one shape of its launches.")
      .def_readonly("key", &KernelSummary::key, "The same in every run.")
      .def_property_readonly("kind", [](const KernelSummary& self) { return name_of(self.kind); })
      .def_property_readonly("name", [](const KernelSummary& self) { return decoded(self.name); })
      .def_property_readonly(
          "library", [](const KernelSummary& self) { return decoded(self.library); }, "The library that launches it.")
      .def_readonly("grid", &KernelSummary::grid)
      .def_readonly("block", &KernelSummary::block)
      .def_readonly("shared_bytes", &KernelSummary::shared_bytes)
      .def_readonly("launches", &KernelSummary::launches)
      .def_readonly("samples", &KernelSummary::samples, "Launches that were timed.")
      .def_readonly("sampled_ns", &KernelSummary::sampled_ns, "Of all these.")
      .def_readonly("predicted_ns", &KernelSummary::predicted_ns, "Of one launch; 0: unknown.");
  py::class_<ProgramTotals>(module, "ProgramTotals", "Of all processes of a program so far.")
      .def_readonly("launches", &ProgramTotals::launches)
      .def_readonly("held_ns", &ProgramTotals::held_ns, "Their threads have waited for the lease.")
      .def_readonly("limited_ns", &ProgramTotals::limited_ns, "Their threads have waited for what was under way.")
      .def_readonly("let_go", &ProgramTotals::let_go, "Waits that the longest hold has ended.")
      .def_readonly("worker_launches", &ProgramTotals::worker_launches, "Made as workers, of all launches.")
      .def_readonly("evictions", &ProgramTotals::evictions, "Of kernels under way.");
  py::class_<PageKeeper>(module, "ProgramPage", "The memory by which a program and the scheduler talk.")
      .def(py::init<std::uint64_t, std::uint64_t, bool>(), py::arg("memory_limit_bytes"), py::arg("longest_hold_ns"),
           py::arg("makes_workers") = false)
      .def_property_readonly("descriptor", &PageKeeper::descriptor)
      .def("free_program", &PageKeeper::free_program, "Nothing holds the program until a scheduler does.")
      .def("hold_program", &PageKeeper::hold_program, "Holds it as a scheduler does: for measurements without one.")
      .def_property_readonly("stopped_streams", &PageKeeper::stopped_streams,
                             "How many of its streams have stopped in the middle of a kernel.")
      .def("release_dead", &PageKeeper::release_dead, "Gives back the places of processes that were killed.")
      .def("processes", &PageKeeper::processes, "Process ids of those that use CUDA now.")
      .def_property_readonly("memory_bytes", &PageKeeper::memory_bytes, "Of device memory, that they have now.")
      .def("totals", &PageKeeper::totals)
      .def("kernels", &PageKeeper::kernels)
      .def(
          "whole_reasons",
          [](const PageKeeper& self) {
            py::list reasons;
            for (const WholeReason& each : self.whole_reasons()) {
              reasons.append(py::make_tuple(decoded(each.text), each.count));
            }
            return reasons;
          },
          "Why kernels run whole that were asked to be workers, and how many: pairs.")
      .def("predict", &PageKeeper::predict, py::arg("key"), py::arg("ns"));
}

}  // namespace
}  // namespace gpushare::programs

namespace gpushare::bindings {

void bind_programs(py::module_& module) {
  using namespace programs;
  bind_page(module);
  module.def(
      "gang_board", [] { return daemon::SharedMemory::create("gpushare gang", sizeof(GangBoard)); },
      "Memory by which the schedulers of a program's GPUs agree.");
  module.def("program_device", &program_device, py::arg("name"), "The device that programs are scheduled on.");
  py::class_<Programs, std::shared_ptr<Programs>>(module, "Programs", "Those that a server has.").def(py::init<>());
  module.def("open_program_sink", &open_program_sink, py::arg("device"), py::arg("programs"), py::arg("policy"),
             py::arg("ordering") = "arrival", py::arg("run_at_once") = false,
             "A session with these programs as its device. Under MPS their kernels run at once.");
  py::class_<ProgramPort, std::shared_ptr<ProgramPort>>(module, "ProgramPort", "Has a session schedule a program.")
      .def(py::init(&open_program_port), py::arg("sink"), py::arg("programs"), py::arg("application"),
           py::arg("descriptor"), py::arg("run_at_once") = false, py::arg("gang") = py::none(), py::keep_alive<1, 2>(),
           "Of the page, which remains the caller's. Where the program has several GPUs: the board's descriptor, the "
           "number of this one, and how many. Throws InvalidInput where one is no page, or no board.")
      .def("state", &ProgramPort::state, py::arg("of_session"),
           "What holds of the program on this GPU, where its application has that state in the session.")
      .def("close", &ProgramPort::close, py::call_guard<py::gil_scoped_release>(),
           "The program continues without a scheduler.");
}

}  // namespace gpushare::bindings
