// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/daemon_waits.hpp"
#include "bindings/daemon/launch_packer.hpp"

namespace gpushare::daemon {
namespace {

constexpr double patience = 60;  // seconds

using ArgumentArray = std::tuple<std::uint32_t, Handle, std::uint64_t>;  // position, handle, offset

JobNumber launch(ClientPort& port, Handle application, Handle kernel, const std::array<std::uint32_t, 3>& grid,
                 const py::bytes& arguments, const std::vector<ArgumentArray>& arrays, double timeout_s) {
  const std::string_view view(arguments);
  std::vector<wire::ArrayReference> references;
  for (const auto& [position, array, offset] : arrays) {
    references.push_back({.array = array, .offset = offset, .position = position});
  }
  const LaunchRequest request{.application = application,
                              .kernel = kernel,
                              .grid = grid,
                              .arguments = std::as_bytes(std::span(view)),
                              .arrays = references};
  return send_in_pieces(timeout_s, [&](Duration patience) { return port.launch(request, patience); });
}

template <JobNumber (ClientPort::*command)(const CopyRequest&, Duration)>
JobNumber copy(ClientPort& port, Handle application, Handle array, std::uint64_t array_offset, Handle arena,
               std::uint64_t arena_offset, std::uint64_t bytes, double timeout_s) {
  const CopyRequest request{application, array, array_offset, arena, arena_offset, bytes};
  return send_in_pieces(timeout_s, [&](Duration patience) { return (port.*command)(request, patience); });
}

void bind_completion(py::module_& module) {
  py::enum_<JobStatus>(module, "JobStatus", "How a job has ended.")
      .value("DONE", JobStatus::Done)
      .value("REFUSED", JobStatus::Refused)
      .value("FAILED", JobStatus::Failed)
      .value("WITHDRAWN", JobStatus::Withdrawn)
      .value("RETRYABLE", JobStatus::Retryable)
      .value("SUSPECT", JobStatus::Suspect)
      .value("CULPRIT", JobStatus::Culprit);
  py::class_<JobResult>(module, "JobCompletion", "Times are those of CLOCK_MONOTONIC; 0: it never started.")
      .def_readonly("status", &JobResult::status)
      .def_readonly("accepted_ns", &JobResult::accepted, "When the worker took the command.")
      .def_readonly("started_ns", &JobResult::started)
      .def_readonly("ended_ns", &JobResult::ended)
      .def_property_readonly("message", [](const JobResult& self) {
        return py::reinterpret_steal<py::str>(
            PyUnicode_DecodeUTF8(self.message.data(), static_cast<Py_ssize_t>(self.message.size()), "replace"));
      });
}

using ClientPortClass = py::class_<ClientPort, std::unique_ptr<ClientPort, PortDeleter>>;

void bind_commands(ClientPortClass& port) {
  const auto bind_copy = [&](const char* name, auto command, const char* what) {
    port.def(name, command, py::arg("application"), py::arg("array"), py::arg("array_offset"), py::arg("arena"),
             py::arg("arena_offset"), py::arg("bytes"), py::arg("timeout_s") = patience, what);
  };
  port.def("launch", &launch, py::arg("application"), py::arg("kernel"), py::arg("grid"), py::arg("arguments"),
           py::arg("arrays"), py::arg("timeout_s") = patience,
           "Returns the job's number. `arrays`: (position in the arguments, array, offset). Raises WorkerBusy if the "
           "worker has no room for so long.");
  bind_copy("copy_in", &copy<&ClientPort::copy_in>, "From the arena to the array; returns the job's number.");
  bind_copy("copy_out", &copy<&ClientPort::copy_out>, "From the array to the arena; returns the job's number.");
  port.def(
      "fence",
      [](ClientPort& self, double timeout_s) {
        return send_in_pieces(timeout_s, [&](Duration patience) { return self.fence(patience); });
      },
      py::arg("timeout_s") = patience, "A job that ends when all before it have.");
}

void bind_waits(ClientPortClass& port) {
  port.def(
          "wait",
          [](ClientPort& self, JobNumber job, double timeout_s) {
            return in_pieces(timeout_s, [&](Duration timeout) { return self.wait(job, timeout); });
          },
          py::arg("job"), py::arg("timeout_s"), "How the job has ended; None: not yet.")
      .def("forget", &ClientPort::forget, py::arg("job"), py::call_guard<py::gil_scoped_release>(),
           "The job's end is not needed any more.")
      .def_property_readonly("kept_jobs", &ClientPort::kept_jobs, "Jobs that have not been forgotten.")
      .def("close", &ClientPort::close, py::call_guard<py::gil_scoped_release>(), "Waiting threads get WorkerGone.");
}

}  // namespace

void bind_daemon_client(py::module_& module) {
  bind_completion(module);
  ClientPortClass port(module, "ClientPort",
                       "The client's end of its rings. Threads may share it; a forked child is refused.");
  port.def(py::init([](int memory, int doorbell) {
             FileDescriptor owned_memory(memory);
             FileDescriptor owned_doorbell(doorbell);
             return new ClientPort(std::move(owned_memory), std::move(owned_doorbell));
           }),
           py::arg("memory"), py::arg("doorbell"), "Takes the descriptors over.");
  bind_commands(port);
  bind_waits(port);
}

}  // namespace gpushare::daemon
