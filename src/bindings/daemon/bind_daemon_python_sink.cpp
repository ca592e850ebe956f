// SPDX-License-Identifier: Apache-2.0
// A device for the daemon that is written in Python: slow, for what no other device can do, such as faults.
#include "bindings/daemon/daemon_waits.hpp"
#include "daemon/command_sink.hpp"

namespace gpushare::daemon {
namespace {

/// A launch that Python carries out.
class HeldLaunch {
 public:
  explicit HeldLaunch(LaunchCommand&& command) : command_(std::move(command)) {}

  const LaunchCommand& command() const { return command_; }
  void complete(JobStatus status, const std::string& message) {
    require(command_.reply.is_owed(), "this launch has ended already");
    command_.arrays.clear();  // before the client may free them
    command_.reply.complete({.status = status, .message = message});
  }

 private:
  LaunchCommand command_;
};

class PythonSink : public CommandSink {
 public:
  void launch(LaunchCommand&& command) override {
    const py::gil_scoped_acquire gil;
    call("launch", std::make_unique<HeldLaunch>(std::move(command)));
  }
  void copy(CopyCommand&& /*command*/) override { throw InvalidInput("this device makes no copies"); }
  void client_gone(ClientId client) noexcept override {
    const py::gil_scoped_acquire gil;
    call("client_gone", static_cast<std::uint64_t>(client));
  }

 private:
  /// Does nothing where the subclass has no such method: then a launch is given up.
  template <typename Argument>
  void call(const char* name, Argument argument) {
    try {
      const py::function method = py::get_override(static_cast<const CommandSink*>(this), name);
      if (method) method(std::move(argument));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable(name);
    }
  }
};

}  // namespace

void bind_daemon_python_sink(py::module_& module) {
  py::class_<HeldLaunch>(module, "HeldLaunch", "A launch that is to be carried out.")
      .def_property_readonly("client",
                             [](const HeldLaunch& self) { return static_cast<std::uint64_t>(self.command().client); })
      .def_property_readonly("application", [](const HeldLaunch& self) { return self.command().application->name; })
      .def_property_readonly("kernel", [](const HeldLaunch& self) { return self.command().kernel->name; })
      .def_property_readonly(
          "arguments",
          [](const HeldLaunch& self) {
            const auto& bytes = self.command().arguments;
            return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          },
          "With the arrays' addresses.")
      .def("complete", &HeldLaunch::complete, py::arg("status"), py::arg("message") = "", "It has ended.");
  py::class_<CommandSink, PythonSink, std::shared_ptr<CommandSink>>(
      module, "CommandSink",
      "What carries out clients' commands. A subclass in Python has launch(launch) and client_gone(client); both are "
      "called in the port server's thread and must not wait.")
      .def(py::init<>());
}

}  // namespace gpushare::daemon
