// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "bindings/arguments.hpp"
#include "bindings/bindings.hpp"
#include "bindings/cuda_views.hpp"
#include "bindings/run_record.hpp"
#include "cuda/session.hpp"

namespace gpushare::bindings {
namespace {

using SessionPtr = std::shared_ptr<cuda::Session>;

/// Its thread may need the GIL to make or to end a Python policy, so nobody waits for that thread with the GIL held.
struct WithoutGil {
  void operator()(cuda::Session* session) const {
    if (PyGILState_Check() == 0) return delete session;
    const py::gil_scoped_release no_gil;
    delete session;
  }
};

SessionPtr open_session(const CudaDevice& device, const py::object& policy) {
  if (py::isinstance<py::str>(policy)) static_cast<void>(to_policy(policy, nullptr));  // an unknown name is said here
  auto kept = std::shared_ptr<py::object>(new py::object(policy), [](py::object* object) {
    const py::gil_scoped_acquire gil;
    delete object;
  });
  const auto make_policy = [kept](std::shared_ptr<const void> world) {
    const py::gil_scoped_acquire gil;
    return to_policy(*kept, std::move(world));
  };
  const py::gil_scoped_release no_gil;
  return {new cuda::Session(device.resources, make_policy), WithoutGil{}};
}

/// Waits in pieces, so that Ctrl-C is heeded.
bool wait(cuda::Session& session, std::size_t job, double timeout_s) {
  constexpr Duration piece(50'000'000);
  auto left = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(timeout_s));
  while (true) {
    bool ended = false;
    {
      const py::gil_scoped_release no_gil;
      ended = session.wait(job, std::min(left, piece));
    }
    if (ended) return true;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    left -= piece;
    if (left <= Duration{}) return false;
  }
}

py::tuple finish(cuda::Session& session, const CudaDevice& device, double timeout_s) {
  cuda::SessionRecord done;
  {
    const py::gil_scoped_release no_gil;
    done = session.finish(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(timeout_s)));
  }
  UsageMeter meter(device.context->description(), done.workload);
  for (const Event& event : done.trace.events) meter.saw(event);
  RunRecord record = record_of(meter);
  record.trace = std::move(done.trace);
  return py::make_tuple(std::move(done.workload), std::move(record));
}

}  // namespace

void bind_session(py::module_& module) {
  py::class_<cuda::Session, SessionPtr>(module, "CoreSession", "An open run on a GPU, in a thread of its own.")
      .def(py::init(&open_session), py::arg("device"), py::arg("policy"))
      .def(
          "add",
          [](cuda::Session& self, std::string name, int priority, double weight, std::optional<std::int64_t> deadline) {
            Application application{.name = std::move(name), .priority = priority, .weight = weight};
            if (deadline) application.deadline = Duration(*deadline);
            const py::gil_scoped_release no_gil;
            return static_cast<int>(self.add(std::move(application)));
          },
          py::arg("name"), py::arg("priority"), py::arg("weight"), py::arg("deadline_ns"),
          "An application arrives; returns its number.")
      .def(
          "submit",
          [](cuda::Session& self, int application, const Launch& launch, const CudaProgram& program) {
            const auto& code = std::get<cuda::DeviceLaunch>(program.operations.front());
            const py::gil_scoped_release no_gil;
            return self.submit(static_cast<ApplicationId>(application), launch, code);
          },
          py::arg("application"), py::arg("launch"), py::arg("program"),
          "Submits the launch, which is the program's only operation; returns the number of the job.")
      .def("wait", &wait, py::arg("job"), py::arg("timeout_s"), "Has the job ended within this time?")
      .def("close", &cuda::Session::close, py::call_guard<py::gil_scoped_release>(),
           "Ends everything at the next block boundary; jobs that have not ended fail.")
      .def("finish", &finish, py::arg("device"), py::arg("timeout_s"),
           "Waits for everything; returns what was done as a workload, and its record.");
}

}  // namespace gpushare::bindings
