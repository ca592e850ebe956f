// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <future>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/runs/policy_maker.hpp"
#include "bindings/runs/run_record.hpp"
#include "bindings/runs/session_ordering.hpp"
#include "bindings/runs/wait_in_pieces.hpp"
#include "bindings/without_gil.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/several_devices.hpp"
#include "core/trace/device_events.hpp"
#include "cuda/cuda_gpu.hpp"

namespace gpushare::bindings {

Session::MakePolicy maker_of(const py::object& policy) {
  if (py::isinstance<py::str>(policy)) {
    static_cast<void>(to_policy(policy, nullptr, 0));  // an unknown name is reported here
    require_open_policy(in_two_parts(policy).second.cast<std::string>());
  }
  auto kept = std::shared_ptr<py::object>(new py::object(policy), [](py::object* object) {
    const py::gil_scoped_acquire gil;
    delete object;
  });
  return [kept](std::shared_ptr<const void> world) {
    const py::gil_scoped_acquire gil;
    return to_policy(*kept, std::move(world), 0);
  };
}

namespace {

using SessionPtr = std::shared_ptr<Session>;

/// The name of a user's policy, for messages about it. Those of built-in policies need none.
std::string name_to_blame(const py::object& policy) {
  return py::isinstance<py::str>(policy) ? "" : policy.attr("name").cast<std::string>();
}

/// Its thread may need the GIL to make or to end a Python policy, so waits for that thread do not hold the GIL.
SessionPtr open_session(LiveDevice device, const py::object& policy, bool keeps_record, const std::string& ordering,
                        const std::optional<Device>& estimates) {
  const Session::MakePolicy make_policy = maker_of(policy);
  SessionOptions options{.ordering = session_ordering(ordering, estimates.value_or(*device.description)),
                         .keeps_record = keeps_record,
                         .policy_name = name_to_blame(policy)};
  const py::gil_scoped_release no_gil;
  return {new Session(std::move(device), make_policy, std::move(options)), WithoutGil<Session>{}};
}

bool wait(Session& session, JobId job, double timeout_s) {
  return wait_in_pieces(timeout_s, [&](Duration piece) { return session.wait(job, piece); });
}

/// By device.
std::vector<UsageMeter> meters_of(const SessionRecord& done, const std::vector<Device>& devices,
                                  const std::vector<int>& sms) {
  std::vector<UsageMeter> meters;
  for (const Device& device : devices) meters.emplace_back(device, done.workload);
  const auto see = [&](std::size_t device, const Trace& trace) {
    for (const Event& event : trace.events) meters[device].saw(event);
  };
  if (devices.size() == 1) {
    see(0, done.trace);
    return meters;
  }
  const std::vector<Trace> traces = traces_by_device(done.trace, sms);
  for (std::size_t device = 0; device < traces.size(); ++device) see(device, traces[device]);
  return meters;
}

/// Raises TimeoutError in the policy in Python that the session's thread is asking, if it is. Another thread can have
/// that number when it has ended, but not one that Python knows before this one lets go of the GIL.
void interrupt_policy(const Session& session) {
  const py::gil_scoped_acquire gil;
  PyThreadState_SetAsyncExc(session.thread_number(), PyExc_TimeoutError);
}

/// Has the session end, without the GIL. A policy in Python that does not return is interrupted after some time.
template <typename End>
auto ended(Session& session, End end) {
  constexpr std::chrono::seconds patience(5);
  session.require_other_thread();
  auto made = std::async(std::launch::async, [&] { return end(session); });
  while (made.wait_for(patience) != std::future_status::ready) interrupt_policy(session);
  return made.get();
}

/// `offsets`: the time of the first session when the clock of each is at 0.
py::tuple finish(const std::vector<SessionPtr>& sessions, const std::vector<Device>& devices,
                 const std::vector<std::int64_t>& offsets, double timeout_s) {
  const auto end = std::chrono::steady_clock::now() + seconds(timeout_s);
  for (int pass = 0; pass < 2; ++pass) {  // a turn on one device submits parts to others, which may have been idle
    for (const SessionPtr& each : sessions) {
      const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
      wait_in_pieces(std::max(left.count(), 0.0), [&](Duration piece) { return each->wait_for_all(piece); });
    }
  }
  std::vector<int> sms;
  for (const Device& each : devices) sms.push_back(each.sms);
  SessionRecord done;
  {
    const py::gil_scoped_release no_gil;
    std::vector<OfDevice<SessionRecord>> records;
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const auto end = [](Session& session) { return session.finish(Duration{}); };
      records.push_back({ended(*sessions[i], end), Duration(offsets[i])});
    }
    done = merged(std::move(records), sms);
  }
  RunRecord record = record_of(meters_of(done, devices, sms));
  record.turnarounds = counts(done.turnarounds);
  record.trace = std::move(done.trace);
  return py::make_tuple(std::move(done.workload), std::move(record));
}

int add(Session& session, Application application, const Launch& first) {
  const py::gil_scoped_release no_gil;
  return static_cast<int>(session.add(std::move(application), first));
}

/// The call keeps the GIL, for which no thread waits that has the session locked: releasing and retaking it would take
/// longer than the call, and another thread of Python could have it in between.
JobId submit(Session& session, int application, const Launch& launch, std::shared_ptr<cuda::SubmittedCode> code,
             bool is_held) {
  return session.submit(static_cast<ApplicationId>(application), launch, std::move(code), is_held);
}

void set_priority(Session& session, int application, int priority) {
  session.set_priority(static_cast<ApplicationId>(application), priority);
}

void set_policy(Session& session, const py::object& policy) {
  Session::MakePolicy make_policy = maker_of(policy);
  std::string name = name_to_blame(policy);
  const py::gil_scoped_release no_gil;
  session.set_policy(std::move(make_policy), std::move(name));
}

void bind_status(py::module_& module) {
  py::class_<ApplicationStatus>(module, "ApplicationStatus", "An application of a session at one moment.")
      .def_property_readonly("number", [](const ApplicationStatus& self) { return static_cast<int>(self.id); })
      .def_property_readonly(
          "device", [](const ApplicationStatus& self) { return static_cast<int>(self.device); },
          "Its number, counted from 0.")
      .def_readonly("name", &ApplicationStatus::name)
      .def_readonly("priority", &ApplicationStatus::priority)
      .def_readonly("weight", &ApplicationStatus::weight)
      .def_readonly("state", &ApplicationStatus::state,
                    "idle, copying, waiting, starting, running, leaving or cancelled")
      .def_readonly("waiting", &ApplicationStatus::waiting, "Operations behind the present one.")
      .def_readonly("kernel", &ApplicationStatus::kernel, "Of the present launch.")
      .def_readonly("blocks", &ApplicationStatus::blocks, "Of the present launch.")
      .def_readonly("started", &ApplicationStatus::started, "Blocks of the present launch.")
      .def_readonly("done", &ApplicationStatus::done, "Blocks of the present launch.")
      .def_readonly("quota", &ApplicationStatus::quota, "Blocks per SM, by ranges of SMs.")
      .def_property_readonly("sm_time_ns", [](const ApplicationStatus& self) { return self.sm_time.count(); })
      .def_readonly("operations", &ApplicationStatus::operations, "Those that have ended.")
      .def_readonly("preemptions", &ApplicationStatus::preemptions)
      .def_property_readonly("elapsed_ns", [](const ApplicationStatus& self) { return self.elapsed.count(); })
      .def_property_readonly(
          "remaining_ns", [](const ApplicationStatus& self) { return optional_count(self.remaining); },
          "Of the present launch, if it has the GPU to itself from now on; None where nothing says so.")
      .def_readonly("is_late", &ApplicationStatus::is_late,
                    "It has missed its deadline, or does with its present launch, even alone from now on.");
  py::class_<SessionStatus>(module, "SessionStatus", "A session at one moment.")
      .def_property_readonly("now_ns", [](const SessionStatus& self) { return self.now.time_since_epoch().count(); })
      .def_readonly("applications", &SessionStatus::applications);
}

void bind_opening(py::class_<Session, SessionPtr>& session) {
  session
      .def(py::init([](const CudaDevice& device, const py::object& policy, bool keeps_record,
                       const std::string& ordering, const std::optional<Device>& estimates) {
             return open_session(cuda::live_device(device.resources), policy, keeps_record, ordering, estimates);
           }),
           py::arg("device"), py::arg("policy"), py::arg("keeps_record") = true, py::arg("ordering") = "arrival",
           py::arg("estimates") = py::none(), "An ordering estimates times for the device `estimates`.")
      .def(py::init([](const Device& device, const py::object& policy, std::uint64_t seed,
                       std::shared_ptr<SimulatedClock> clock, bool keeps_record, const std::string& ordering) {
             return open_session(realtime_device(device, seed, std::move(clock)), policy, keeps_record, ordering,
                                 std::nullopt);
           }),
           py::arg("device"), py::arg("policy"), py::arg("seed"), py::arg("clock"), py::arg("keeps_record") = true,
           py::arg("ordering") = "arrival", "On a simulated device, which has the time of this clock.");
}

}  // namespace

void bind_session(py::module_& module) {
  bind_status(module);
  module.def(
      "require_runnable", [](const Device& device, const Launch& launch) { require_runnable(launch, device); },
      py::arg("device"), py::arg("launch"), "Throws InvalidInput for a launch of which no block fits an SM.");
  constexpr py::call_guard<py::gil_scoped_release> no_gil;
  py::class_<SimulatedClock, std::shared_ptr<SimulatedClock>>(module, "SimulatedClock",
                                                              "The time of simulated devices.")
      .def(py::init<double>(), py::arg("speed"), "`speed`: seconds of it in one of the wall clock's.");
  py::class_<Session, SessionPtr> session(module, "CoreSession", "An open run on a device, in a separate thread.");
  bind_opening(session);
  session
      .def("add", &add, py::arg("application"), py::arg("first"),
           "An application without operations arrives; returns its number. Throws InvalidInput where its first launch "
           "cannot run, or misses the deadline or the latency bound even alone, by its profile.")
      .def("submit", &submit, py::arg("application"), py::arg("launch"), py::arg("code") = py::none(),
           py::arg("is_held") = false,
           "Submits the launch, with its code where the device is a GPU; returns the number of the job. One that is "
           "held waits for HeldJobs.")
      .def("wait", &wait, py::arg("job"), py::arg("timeout_s"), "Has the job ended within this time?")
      .def("watch", &Session::watch, py::arg("job"), no_gil, "await_watched() returns this job once it is over.")
      .def("await_watched", &Session::await_watched, no_gil,
           "Waits until watched jobs are over, or the session is, and returns those jobs, each once; none when the "
           "session is over and all have been returned.")
      .def(
          "withdraw", [](Session& self, int application) { self.withdraw(static_cast<ApplicationId>(application)); },
          py::arg("application"), no_gil, "Withdraws the application: its jobs are cancelled.")
      .def("set_priority", &set_priority, py::arg("application"), py::arg("priority"), no_gil)
      .def("set_policy", &set_policy, py::arg("policy"), "Another policy decides from now on.")
      .def("require_other_thread", &Session::require_other_thread, "Throws InvalidInput in the session's thread.")
      .def("status", &Session::status, no_gil)
      .def(
          "close", [](Session& self) { ended(self, [](Session& session) { session.close(); }); }, no_gil,
          "Ends everything at the next block boundary; jobs that have not ended fail.");
  module.def("finish_sessions", &finish, py::arg("sessions"), py::arg("devices"), py::arg("offsets_ns"),
             py::arg("timeout_s"),
             "Waits for everything in the sessions, one for each device; returns what was done as a workload, and its "
             "record. An offset is the time of the first session when that of each is 0.");
}

}  // namespace gpushare::bindings
