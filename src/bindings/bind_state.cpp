// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/state_views.hpp"

namespace gpushare::bindings {
namespace {

void bind_event(py::module_& module) {
  py::enum_<EventKind>(module, "EventKind", "What has happened.")
      .value("APPLICATION_ARRIVED", EventKind::ApplicationArrived)
      .value("LAUNCH_ARRIVED", EventKind::LaunchArrived)
      .value("BLOCK_STARTED", EventKind::BlockStarted)
      .value("BLOCK_ENDED", EventKind::BlockEnded)
      .value("LAUNCH_ENDED", EventKind::LaunchEnded)
      .value("COPY_STARTED", EventKind::CopyStarted)
      .value("COPY_ENDED", EventKind::CopyEnded)
      .value("APPLICATION_ENDED", EventKind::ApplicationEnded)
      .value("DEADLINE_REACHED", EventKind::DeadlineReached)
      .value("PRIORITY_CHANGED", EventKind::PriorityChanged)
      .value("BLOCKS_EXPECTED", EventKind::BlocksExpected);

  py::class_<Event>(module, "Event", "Something that happened on the device.")
      .def_readonly("kind", &Event::kind)
      .def_property_readonly("time_ns", [](const Event& event) { return count(event.time); })
      .def_property_readonly("started_ns", [](const Event& event) { return count(event.started); })
      .def_property_readonly("launch", [](const Event& event) { return static_cast<int>(event.operation); })
      .def_property_readonly("sm", [](const Event& event) { return static_cast<int>(event.sm); })
      .def_readonly("block", &Event::block)
      .def_readonly("blocks", &Event::blocks);
}

template <typename Field>
py::array_t<std::int64_t> per_sm(const LaunchView& launch, Field field) {
  py::array_t<std::int64_t> values(static_cast<py::ssize_t>(launch->per_sm.size()));
  auto out = values.mutable_unchecked<1>();
  for (std::size_t sm = 0; sm < launch->per_sm.size(); ++sm) {
    out(static_cast<py::ssize_t>(sm)) = field(launch->per_sm[sm]);
  }
  return values;
}

/// The sharing terms of a launch's application.
void bind_terms(py::class_<LaunchView>& launch) {
  const auto application = [](const LaunchView& view) -> const Application& {
    return view.snapshot->state.application(view->application);
  };
  launch.def_property_readonly("weight", [](const LaunchView& self) { return self->weight; })
      .def_property_readonly("deadline_ns",
                             [=](const LaunchView& self) {
                               const Application& of = application(self);
                               return of.deadline ? std::optional(count(of.arrival + *of.deadline)) : std::nullopt;
                             })
      .def_property_readonly("min_speed", [=](const LaunchView& self) { return application(self).min_speed; })
      .def_property_readonly("latency_ns",
                             [=](const LaunchView& self) { return optional_count(application(self).latency); });
}

void bind_launch_view(py::module_& module) {
  py::class_<LaunchView> launch(module, "RunningLaunch",
                                "A launch that has arrived and not ended, as it stood at one decision.");
  bind_terms(launch);
  launch.def_property_readonly("id", [](const LaunchView& self) { return static_cast<int>(self->id); })
      .def_property_readonly(
          "application",
          [](const LaunchView& self) { return self.snapshot->state.application(self->application).name; })
      .def_property_readonly("kernel", [](const LaunchView& self) { return self->launch->kernel.name; })
      .def_property_readonly("arrival_ns", [](const LaunchView& self) { return count(self->arrival); })
      .def_property_readonly("priority", [](const LaunchView& self) { return self->priority; })
      .def_property_readonly("max_residency", [](const LaunchView& self) { return self->max_residency; })
      .def_property_readonly("blocks", [](const LaunchView& self) { return self->blocks(); })
      .def_property_readonly("started", [](const LaunchView& self) { return self->started; })
      .def_property_readonly("done", [](const LaunchView& self) { return self->done; })
      .def_property_readonly("unstarted", [](const LaunchView& self) { return self->unstarted(); })
      .def_property_readonly("unfinished", [](const LaunchView& self) { return self->unfinished(); })
      .def_property_readonly("alone_ns", [](const LaunchView& self) { return optional_count(self->launch->alone); })
      .def("resident_per_sm",
           [](const LaunchView& self) { return per_sm(self, [](const SmProgress& sm) { return sm.resident; }); })
      .def("done_per_sm",
           [](const LaunchView& self) { return per_sm(self, [](const SmProgress& sm) { return sm.done; }); })
      .def(
          "__eq__", [](const LaunchView& self, const LaunchView& other) { return self->id == other->id; },
          py::is_operator())
      .def("__hash__", [](const LaunchView& self) { return index(self->id); })
      .def("__repr__", [](const LaunchView& self) {
        return "<RunningLaunch " + std::to_string(index(self->id)) + " " + self->launch->kernel.name + ": " +
               std::to_string(self->done) + " of " + std::to_string(self->blocks()) + " blocks done>";
      });
}

}  // namespace

void bind_state(py::module_& module) {
  bind_event(module);
  bind_launch_view(module);
  py::class_<Snapshot, std::shared_ptr<Snapshot>>(module, "State", "What a policy may know when it decides.")
      .def_property_readonly("now_ns", [](const Snapshot& self) { return count(self.state.now()); })
      .def_property_readonly("sms", [](const Snapshot& self) { return self.state.sms(); })
      .def_property_readonly("device", [](const Snapshot& self) { return self.state.device(); })
      .def_property_readonly("running",
                             [](const std::shared_ptr<Snapshot>& self) {
                               std::vector<LaunchView> running;
                               for (std::size_t position = 0; position < self->state.running().size(); ++position) {
                                 running.push_back({self, position});
                               }
                               return running;
                             })
      .def(
          "full_quota", [](const Snapshot&, const LaunchView& launch) { return launch->max_residency; },
          py::arg("launch"));
}

}  // namespace gpushare::bindings
