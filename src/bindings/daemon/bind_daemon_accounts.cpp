// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/daemon_waits.hpp"
#include "daemon/application_account.hpp"

namespace gpushare::daemon {

void bind_daemon_accounts(py::module_& module) {
  py::class_<ApplicationTotals>(module, "ApplicationTotals", "How an application fares.")
      .def_readonly("unfinished", &ApplicationTotals::unfinished)
      .def_readonly("ended", &ApplicationTotals::ended)
      .def_readonly("turnaround_ns", &ApplicationTotals::turnaround, "Of jobs that have ended, summed.")
      .def_readonly(
          "turnarounds", &ApplicationTotals::turnarounds,
          "Of the same jobs, how many are within each of TURNAROUND_BOUNDS_NS and no lower one, then the rest.")
      .def_readonly("in_system_ns", &ApplicationTotals::in_system, "With a job that had not ended, until the last end.")
      .def_readonly("alone_ns", &ApplicationTotals::alone, "What the ended jobs take alone; None: unknown.")
      .def_property_readonly("ntt", &ApplicationTotals::ntt, "None where a time alone is not known.");
  py::class_<ApplicationAccount, std::shared_ptr<ApplicationAccount>>(module, "ApplicationAccount",
                                                                      "Counts the jobs of an application.")
      .def(py::init<>())
      .def("totals", &ApplicationAccount::totals);
  module.attr("TURNAROUND_BOUNDS_NS") = std::vector<std::int64_t>(turnaround_bounds.begin(), turnaround_bounds.end());
}

}  // namespace gpushare::daemon
