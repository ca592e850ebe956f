// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon_waits.hpp"
#include "daemon/job_log.hpp"

namespace gpushare::daemon {

void bind_daemon_log(py::module_& module) {
  py::class_<PastJob>(module, "PastJob", "Times are those of CLOCK_MONOTONIC, in nanoseconds.")
      .def(py::init([](const std::string& application, const std::string& kernel, std::int64_t submitted,
                       std::int64_t ended, JobStatus status) {
             return PastJob{std::make_shared<const std::string>(application),
                            std::make_shared<const std::string>(kernel), submitted, ended, status};
           }),
           py::arg("application"), py::arg("kernel"), py::arg("submitted_ns"), py::arg("ended_ns"), py::arg("status"))
      .def_property_readonly("application", [](const PastJob& self) { return *self.application; })
      .def_property_readonly("kernel", [](const PastJob& self) { return *self.kernel; })
      .def_readonly("submitted_ns", &PastJob::submitted)
      .def_readonly("ended_ns", &PastJob::ended)
      .def_readonly("status", &PastJob::status);
  py::class_<JobLog, std::shared_ptr<JobLog>>(module, "JobLog", "The last jobs that have ended.")
      .def(py::init<std::size_t>(), py::arg("most") = JobLog::most_jobs)
      .def("add", &JobLog::add, py::arg("job"))
      .def("since", &JobLog::since, py::arg("time_ns"), "Those that have ended since then.");
  py::class_<ApplicationTotals>(module, "ApplicationTotals", "How an application fares.")
      .def_readonly("unfinished", &ApplicationTotals::unfinished)
      .def_readonly("ended", &ApplicationTotals::ended)
      .def_readonly("turnaround_ns", &ApplicationTotals::turnaround, "Of jobs that have ended, summed.")
      .def_property_readonly("ntt", &ApplicationTotals::ntt, "None where a time alone is not known.");
  py::class_<ApplicationAccount, std::shared_ptr<ApplicationAccount>>(module, "ApplicationAccount",
                                                                      "Counts the jobs of an application.")
      .def(py::init<std::string, std::shared_ptr<JobLog>>(), py::arg("name"), py::arg("log"))
      .def("totals", &ApplicationAccount::totals);
}

}  // namespace gpushare::daemon
