// SPDX-License-Identifier: Apache-2.0
// Jobs that wait for futures, streams and events.
#include <pybind11/stl.h>

#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/without_gil.hpp"
#include "core/session/jobs/held_jobs.hpp"
#include "core/session/spread/spread_job.hpp"
#include "cuda/driver/event_waits.hpp"

namespace gpushare::bindings {
namespace {

/// The thread that waits for events ends before the rest does.
struct WaitingJobs {
  explicit WaitingJobs(Session& session) : jobs(std::make_shared<HeldJobs>(session)) {}
  WaitingJobs(Session& session, const CudaDevice& device) : WaitingJobs(session) { events.emplace(device.context); }
  WaitingJobs(const WaitingJobs&) = delete;
  WaitingJobs& operator=(const WaitingJobs&) = delete;
  ~WaitingJobs() { jobs->close(); }

  /// May be called after the session's end.
  cuda::EventWaits::Ended ending_one_of(JobId job) const {
    return [waiting = jobs, job](const std::string& failure) { waiting->happened(job, failure); };
  }

  const std::shared_ptr<HeldJobs> jobs;
  std::optional<cuda::EventWaits> events;
};

void after_stream(WaitingJobs& self, JobId job, std::uintptr_t stream) {
  self.events.value().after_stream(reinterpret_cast<CUstream>(stream), self.ending_one_of(job));
}

void after_event(WaitingJobs& self, JobId job, std::uintptr_t event) {
  self.events.value().after_event(reinterpret_cast<CUevent>(event), self.ending_one_of(job));
}

void after_spread(const WaitingJobs& self, JobId job, SpreadJob& other) { other.when_ended(self.ending_one_of(job)); }

}  // namespace

void bind_held_jobs(py::module_& module) {
  constexpr py::call_guard<py::gil_scoped_release> no_gil;
  py::class_<WaitingJobs, std::unique_ptr<WaitingJobs, WithoutGil<WaitingJobs>>>(
      module, "HeldJobs", "Jobs of a session that wait for something outside of it.")
      .def(py::init<Session&>(), py::arg("session"), py::keep_alive<1, 2>(), "None waits for streams or events.")
      .def(py::init<Session&, const CudaDevice&>(), py::arg("session"), py::arg("device"), py::keep_alive<1, 2>())
      .def(
          "hold", [](WaitingJobs& self, JobId job, int things) { self.jobs->hold(job, things); }, py::arg("job"),
          py::arg("things"), no_gil, "The job was submitted as held, and waits for so many things.")
      .def(
          "happened",
          [](WaitingJobs& self, JobId job, const std::string& failure) { self.jobs->happened(job, failure); },
          py::arg("job"), py::arg("failure") = "", no_gil, "One of them has happened, or has failed for this reason.")
      .def_property_readonly(
          "failed", [](const WaitingJobs& self) { return self.jobs->failed(); }, "Numbers of those that never begin.")
      .def("after_stream", &after_stream, py::arg("job"), py::arg("stream"), no_gil,
           "One of them is the end of the work that is in the stream now.")
      .def("after_spread", &after_spread, py::arg("job"), py::arg("other"), no_gil,
           "One of them is the end of a job on several devices.")
      .def("after_event", &after_event, py::arg("job"), py::arg("event"), no_gil,
           "One of them is the event, which must not be destroyed before it has happened.");
}

}  // namespace gpushare::bindings
