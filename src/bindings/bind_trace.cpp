// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "core/engine/trace.hpp"
#include "core/engine/trace_check.hpp"
#include "core/trace/device_events.hpp"

namespace gpushare::bindings {
namespace {

std::vector<const Event*> events_of(const Trace& trace, EventKind kind) {
  std::vector<const Event*> events;
  for (const Event& event : trace.events) {
    if (event.kind == kind) events.push_back(&event);
  }
  return events;
}

/// One column of a table, one row per event.
template <typename Field>
py::array_t<std::int64_t> column(const std::vector<const Event*>& events, Field field) {
  py::array_t<std::int64_t> values(static_cast<py::ssize_t>(events.size()));
  auto out = values.mutable_unchecked<1>();
  for (std::size_t row = 0; row < events.size(); ++row) {
    out(static_cast<py::ssize_t>(row)) = static_cast<std::int64_t>(field(*events[row]));
  }
  return values;
}

py::dict ended(const Trace& trace, EventKind kind) {
  const auto events = events_of(trace, kind);
  py::dict columns;
  columns["application"] = column(events, [](const Event& event) { return index(event.application); });
  columns["operation"] = column(events, [](const Event& event) { return index(event.operation); });
  columns["start_ns"] = column(events, [](const Event& event) { return count(event.started); });
  columns["end_ns"] = column(events, [](const Event& event) { return count(event.time); });
  columns["sm"] = column(events, [](const Event& event) { return index(event.sm); });
  return columns;
}

py::dict blocks(const Trace& trace) {
  const auto events = events_of(trace, EventKind::BlockEnded);
  py::dict columns = ended(trace, EventKind::BlockEnded);
  columns["block"] = column(events, [](const Event& event) { return event.block; });
  columns["blocks"] = column(events, [](const Event& event) { return event.blocks; });
  return columns;
}

/// Starts and ends as they were reported. Start times of groups that have ended are means, which do not add up.
py::dict residency_changes(const Trace& trace) {
  std::vector<const Event*> events;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::BlockStarted || event.kind == EventKind::BlockEnded) events.push_back(&event);
  }
  py::dict columns;
  columns["operation"] = column(events, [](const Event& event) { return index(event.operation); });
  columns["sm"] = column(events, [](const Event& event) { return index(event.sm); });
  columns["time_ns"] = column(events, [](const Event& event) { return count(event.time); });
  columns["change"] = column(
      events, [](const Event& event) { return event.kind == EventKind::BlockStarted ? event.blocks : -event.blocks; });
  return columns;
}

py::dict moments(const Trace& trace, EventKind kind) {
  const auto events = events_of(trace, kind);
  py::dict columns;
  columns["application"] = column(events, [](const Event& event) { return index(event.application); });
  columns["operation"] = column(events, [](const Event& event) { return index(event.operation); });
  columns["time_ns"] = column(events, [](const Event& event) { return count(event.time); });
  columns["sm"] = column(events, [](const Event& event) { return index(event.sm); });
  return columns;
}

py::list decisions(const Trace& trace) {
  py::list rows;
  for (const Decision& decision : trace.decisions) {
    for (std::size_t rank = 0; rank < decision.plan.shares.size(); ++rank) {
      const Share& share = decision.plan.shares[rank];
      py::object quota = py::int_(share.quota.largest());
      if (!share.quota.is_uniform()) {
        py::list per_sm;
        for (std::size_t sm = 0; sm < share.quota.size(); ++sm) per_sm.append(share.quota.at(static_cast<SmId>(sm)));
        quota = per_sm;
      }
      const Event& after = trace.events[decision.after_event];
      rows.append(py::make_tuple(count(after.time), rank, index(share.launch), quota, share.leaves_rest));
    }
  }
  return rows;
}

}  // namespace

void bind_trace(py::module_& module) {
  py::class_<Trace>(module, "Trace", "A run written down: every event and every plan.")
      .def("blocks", &blocks,
           "Columns application, operation, start_ns, end_ns, sm, block, blocks; one row per ended block, or per group "
           "of blocks that ended together.")
      .def("residency_changes", &residency_changes,
           "Columns operation, sm, time_ns, change: by how much the resident blocks grew; one row per start or end.")
      .def(
          "copies", [](const Trace& self) { return ended(self, EventKind::CopyEnded); },
          "Columns application, operation, start_ns, end_ns, sm, which is the first one of the copy's device; one row "
          "per "
          "ended copy.")
      .def(
          "launch_arrivals", [](const Trace& self) { return moments(self, EventKind::LaunchArrived); },
          "Columns application, operation, time_ns, sm, which is the first one of the launch's device; one row per "
          "launch.")
      .def(
          "launch_ends", [](const Trace& self) { return moments(self, EventKind::LaunchEnded); },
          "Columns application, operation, time_ns, sm, which is the first one of the launch's device; one row per "
          "launch.")
      .def(
          "arrivals", [](const Trace& self) { return moments(self, EventKind::ApplicationArrived); },
          "Columns application, time_ns, sm, which is the first one of a device; one row per arrival of an application "
          "there.")
      .def(
          "ends", [](const Trace& self) { return moments(self, EventKind::ApplicationEnded); },
          "The same, one row per end of an application's stay on a device.")
      .def("by_device", &traces_by_device, py::arg("sms"),
           "The trace of each device by itself. ``sms``: by device, how many it has.")
      .def("decisions", &decisions,
           "Rows (time_ns, rank, launch, quota, leaves_rest); the quota is one int, or a list, one per SM.")
      .def_property_readonly("event_count", [](const Trace& self) { return self.events.size(); })
      .def_property_readonly("decision_count", [](const Trace& self) { return self.decisions.size(); })
      .def(
          "to_bytes", [](const Trace& self) { return py::bytes(to_bytes(self)); },
          "The trace as bytes; equal traces give equal bytes.")
      .def_static(
          "from_bytes", [](const std::string& bytes) { return trace_from_bytes(bytes); }, py::arg("data"))
      .def(
          "require_possible",
          [](const Trace& self, const Workload& workload, const Device& device) {
            require_possible(self, workload, device);
          },
          py::arg("workload"), py::arg("device"), py::call_guard<py::gil_scoped_release>(),
          "Raise InvalidInput where it can be no trace of this workload on this device: it is damaged, or another's.")
      .def("__eq__", [](const Trace& self, const Trace& other) { return self == other; }, py::is_operator());
}

}  // namespace gpushare::bindings
