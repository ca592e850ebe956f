// SPDX-License-Identifier: Apache-2.0
// The recent history of a session without an end, as columns. Times are nanoseconds of the session's clock.
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "core/session/session.hpp"

namespace gpushare::bindings {
namespace {

std::int64_t nanoseconds_at(Time time) { return time.time_since_epoch().count(); }

const char* how_it_is(const PastOperation& operation) {
  if (operation.is_under_way) return "under way";
  return operation.is_cancelled ? "cancelled" : "ended";
}

py::dict operation_columns(const SessionPast& past) {
  py::list application, kernel, submitted, began, end, state;
  for (const PastOperation& each : past.operations) {
    application.append(each.application->name);
    kernel.append(each.kernel);
    submitted.append(nanoseconds_at(each.submitted));
    began.append(each.began ? py::object(py::int_(nanoseconds_at(*each.began))) : py::none());
    end.append(nanoseconds_at(each.end));
    state.append(how_it_is(each));
  }
  return py::dict(py::arg("application") = application, py::arg("kernel") = kernel, py::arg("submitted_ns") = submitted,
                  py::arg("began_ns") = began, py::arg("end_ns") = end, py::arg("state") = state);
}

py::dict quota_columns(const SessionPast& past) {
  py::list application, quota, blocks, begin, end;
  for (const PastQuota& each : past.quotas) {
    application.append(each.application->name);
    quota.append(each.quota);
    blocks.append(each.blocks);
    begin.append(nanoseconds_at(each.begin));
    end.append(nanoseconds_at(each.end));
  }
  return py::dict(py::arg("application") = application, py::arg("quota") = quota, py::arg("blocks") = blocks,
                  py::arg("begin_ns") = begin, py::arg("end_ns") = end);
}

py::dict hold_columns(const SessionPast& past) {
  py::list application, sms, time;
  for (const PastHold& each : past.holds) {
    application.append(each.application->name);
    sms.append(each.sms);
    time.append(nanoseconds_at(each.time));
  }
  return py::dict(py::arg("application") = application, py::arg("sms") = sms, py::arg("time_ns") = time);
}

SessionPast history(Session& session, std::int64_t last_ns) { return session.history(Duration(last_ns)); }

}  // namespace

void bind_session_history(py::module_& module) {
  py::class_<SessionPast>(module, "SessionPast",
                          "What a session did in the last while; its times count from its start.")
      .def_property_readonly("now_ns", [](const SessionPast& self) { return nanoseconds_at(self.now); })
      .def(
          "operations", &operation_columns,
          "Launches, and copies, which have an empty kernel. A state is ended, cancelled or under way; of the last one "
          "end_ns is now. began_ns is that of its first block, or None.")
      .def("quotas", &quota_columns, "What plans gave applications, in blocks per SM by ranges of SMs and in all.")
      .def("holds", &hold_columns, "On how many SMs applications had blocks, from a time on.");
  py::class_<Session, std::shared_ptr<Session>>(module.attr("CoreSession"))
      .def("history", &history, py::arg("last_ns"), py::call_guard<py::gil_scoped_release>(),
           "The last so much time, of a session that keeps no record.");
}

}  // namespace gpushare::bindings
