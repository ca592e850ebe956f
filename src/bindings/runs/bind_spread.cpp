// SPDX-License-Identifier: Apache-2.0
// Launches on several devices of a session.
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/runs/wait_in_pieces.hpp"
#include "core/session/spread/spread_job.hpp"
#include "cuda/memory/peer_access.hpp"

namespace gpushare::bindings {
namespace {

SpreadPlace place_of(const std::shared_ptr<Session>& session, int application, const Launch& launch,
                     const cuda::SubmittedCode& submitted) {
  const auto& code = std::get<cuda::DeviceLaunch>(submitted.operation());
  return {.session = session,
          .application = static_cast<ApplicationId>(application),
          .launch = launch,
          .code = [code](std::shared_ptr<GridPart> part) {
            cuda::DeviceLaunch of_part = code;
            of_part.part = std::move(part);
            return std::make_shared<cuda::SubmittedCode>(std::move(of_part));
          }};
}

std::shared_ptr<SpreadJob> make_job(const CudaDevice& home, std::int64_t blocks) {
  const py::gil_scoped_release no_gil;
  auto counter = std::make_shared<cuda::DeviceMemory>(cuda::make_device_memory(home.context, sizeof(std::uint32_t)));
  const CUdeviceptr address = counter->get();
  return std::make_shared<SpreadJob>(blocks, address, std::move(counter));
}

JobId submit_spread(SpreadJob& job, std::size_t home, const std::shared_ptr<Session>& session, int application,
                    const Launch& launch, const cuda::SubmittedCode& submitted, std::vector<std::size_t> devices,
                    bool is_held, bool only_idle) {
  const SpreadPlace first = place_of(session, application, launch, submitted);
  const py::gil_scoped_release no_gil;
  return job.submit(home, first, std::move(devices), is_held, only_idle);
}

void add_place(SpreadJob& job, std::size_t device, const std::shared_ptr<Session>& session, int application,
               const Launch& launch, const cuda::SubmittedCode& submitted) {
  SpreadPlace place = place_of(session, application, launch, submitted);
  const py::gil_scoped_release released;  // a session's thread that has the job may wait for the GIL
  job.add_place(device, std::move(place));
}

bool wait_for_leave(const SpreadJob& job, std::size_t device, double timeout_s) {
  return wait_in_pieces(timeout_s, [&](Duration piece) { return job.wait_for_leave(device, piece); });
}

bool wait_for_spread(const SpreadJob& job, double timeout_s) {
  return wait_in_pieces(timeout_s, [&](Duration piece) { return job.wait(piece); });
}

}  // namespace

void bind_spread(py::module_& module) {
  module.def(
      "let_access",
      [](const CudaDevice& home, const CudaDevice& peer) {
        const py::gil_scoped_release no_gil;
        cuda::let_access(*home.context, *peer.context);
      },
      py::arg("home"), py::arg("peer"),
      "Kernels on `peer` may use the memory of `home`. Throws InvalidInput where the two have no link with atomics.");
  py::class_<SpreadJob, std::shared_ptr<SpreadJob>>(module, "SpreadJob",
                                                    "A launch whose blocks run on several devices of a session.")
      .def(py::init(&make_job), py::arg("home"), py::arg("blocks"), "The counter of its blocks is in memory of `home`.")
      .def("add_place", &add_place, py::arg("device"), py::arg("session"), py::arg("application"), py::arg("launch"),
           py::arg("submitted"), "What it is on a device: a launch of this application there.")
      .def("has_place", &SpreadJob::has_place, py::arg("device"), py::call_guard<py::gil_scoped_release>())
      .def(
          "submit", &submit_spread, py::arg("home"), py::arg("session"), py::arg("application"), py::arg("launch"),
          py::arg("submitted"), py::arg("devices"), py::arg("is_held"), py::arg("only_idle"),
          "Submits its first part to the application on `home`, with whose turn it runs on these devices, or on `home` "
          "and those of them that are idle then, unless it is moved before; returns the number of the job there.")
      .def("move", &SpreadJob::move, py::arg("devices"), py::call_guard<py::gil_scoped_release>(),
           "It runs on these devices from now on; False: it has ended.")
      .def("devices", &SpreadJob::devices, py::call_guard<py::gil_scoped_release>(),
           "Those on which its blocks run, or will with its turn.")
      .def("has_ended", &SpreadJob::has_ended, py::call_guard<py::gil_scoped_release>(), "Successfully or not.")
      .def(
          "took_ns",
          [](const SpreadJob& job) -> std::optional<std::int64_t> {
            const std::optional<Duration> took = job.took();
            return took ? std::optional(took->count()) : std::nullopt;
          },
          py::call_guard<py::gil_scoped_release>(), "From its turn to its end; None: it has not ended, or has failed.")
      .def("wait_for_leave", &wait_for_leave, py::arg("device"), py::arg("timeout_s"),
           "Has what was submitted of it to the device ended within this time?")
      .def("wait", &wait_for_spread, py::arg("timeout_s"), "Has it ended within this time?");
}

}  // namespace gpushare::bindings
