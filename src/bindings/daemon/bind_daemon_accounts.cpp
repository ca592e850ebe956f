// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/daemon_waits.hpp"
#include "daemon/application_account.hpp"

namespace gpushare::daemon {

void bind_daemon_accounts(py::module_& module) {
  py::class_<ApplicationTotals>(module, "ApplicationTotals", "How an application fares.")
      .def_readonly("unfinished", &ApplicationTotals::unfinished)
      .def_readonly("ended", &ApplicationTotals::ended)
      .def_readonly("turnaround_ns", &ApplicationTotals::turnaround, "Of jobs that have ended, summed.")
      .def_property_readonly("ntt", &ApplicationTotals::ntt, "None where a time alone is not known.");
  py::class_<ApplicationAccount, std::shared_ptr<ApplicationAccount>>(module, "ApplicationAccount",
                                                                      "Counts the jobs of an application.")
      .def(py::init<>())
      .def("totals", &ApplicationAccount::totals);
}

}  // namespace gpushare::daemon
