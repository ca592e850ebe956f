// SPDX-License-Identifier: Apache-2.0
// Sessions behind the data plane: on a simulated device, and on a GPU.
#include "bindings/cuda/cuda_views.hpp"
#include "bindings/daemon/daemon_waits.hpp"
#include "bindings/daemon/release_queue.hpp"
#include "bindings/runs/policy_maker.hpp"
#include "bindings/runs/session_ordering.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "cuda/cuda_gpu.hpp"
#include "daemon/port/server_port.hpp"
#include "daemon/session_sink.hpp"

namespace gpushare::daemon {
namespace {

using SessionSinkPtr = std::shared_ptr<SessionSink>;

SessionSinkPtr open_sink(LiveDevice device, const py::object& policy, SessionSinkOptions options) {
  const Session::MakePolicy make_policy = bindings::maker_of(policy);
  const py::gil_scoped_release released;
  return {new SessionSink(std::move(device), make_policy, std::move(options)), WithoutGil<SessionSink>{}};
}

/// An arena that is not pinned is copied as well, through the driver's pinned memory, and slower.
std::shared_ptr<const DeviceCode> copy_on_gpu(const CopyCommand& command) {
  const bool is_in = command.direction == CopyDirection::In;
  return std::make_shared<cuda::SubmittedCode>(
      cuda::DeviceCopy{.direction = is_in ? Copy::Direction::ToDevice : Copy::Direction::ToHost,
                       .device = static_cast<CUdeviceptr>(command.array->address + command.array_offset),
                       .host = command.arena->memory.bytes().data() + command.arena_offset,
                       .bytes = command.bytes});
}

using Parameter = std::pair<std::size_t, std::size_t>;  // offset and size among the arguments

std::shared_ptr<const DeviceCode> launch_on_gpu(const LaunchCommand& command, const cuda::DeviceLaunch& shape,
                                                const std::vector<Parameter>& parameters) {
  cuda::DeviceLaunch launch = shape;
  launch.grid = command.grid;
  for (const auto& [offset, size] : parameters) {
    const auto first = command.arguments.begin() + static_cast<std::ptrdiff_t>(offset);
    launch.arguments.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
  }
  return std::make_shared<cuda::SubmittedCode>(std::move(launch));
}

using Alone = std::optional<std::pair<double, double>>;  // per block, of the first

Handle add_kernel(ServerPort& port, SessionKernel kernel, std::optional<std::size_t> argument_bytes,
                  std::vector<std::uint32_t> pointers, const Alone& alone, std::shared_ptr<const void> owner) {
  KernelEntry entry{.name = kernel.model.name,
                    .argument_bytes = argument_bytes,
                    .owner = std::move(owner),
                    .pointers = std::move(pointers)};
  if (alone) entry.alone = AloneTime{.per_block = alone->first, .of_first = alone->second};
  entry.code = std::make_shared<SessionKernel>(std::move(kernel));
  return port.tables().kernels.add(std::make_shared<KernelEntry>(std::move(entry)));
}

Handle add_model(ServerPort& port, const Kernel& model, const Alone& alone, const py::object& released,
                 std::shared_ptr<ReleaseQueue> queue) {
  return add_kernel(port, {.model = model}, std::nullopt, {}, alone, released_through(std::move(queue), released));
}

Handle add_cuda_kernel(ServerPort& port, const Kernel& model, std::size_t argument_bytes,
                       std::shared_ptr<cuda::KernelCode> code, cuda::Extent block, unsigned shared_bytes,
                       std::vector<Parameter> parameters, std::vector<std::uint32_t> pointers, const Alone& alone,
                       const py::object& released, std::shared_ptr<ReleaseQueue> queue) {
  for (const auto& [offset, size] : parameters) {
    require(offset <= argument_bytes && size <= argument_bytes - offset,
            "kernel '" + model.name + "': a parameter lies outside its " + std::to_string(argument_bytes) + " bytes");
  }
  for (const std::uint32_t position : pointers) {
    require(argument_bytes >= 8 && position <= argument_bytes - 8,
            "kernel '" + model.name + "': a pointer lies outside its " + std::to_string(argument_bytes) + " bytes");
  }
  cuda::DeviceLaunch shape{.kernel = std::move(code), .block = block, .shared_bytes = shared_bytes};
  auto code_of = [shape = std::move(shape), parameters = std::move(parameters)](const LaunchCommand& command) {
    return launch_on_gpu(command, shape, parameters);
  };
  return add_kernel(port, {.model = model, .code_of = std::move(code_of)}, argument_bytes, std::move(pointers), alone,
                    released_through(std::move(queue), released));
}

std::shared_ptr<SessionApplication> make_application(SessionSink& sink, Application application) {
  return std::make_shared<SessionApplication>(sink.session(), std::move(application));
}

void raise_failure(SessionSink& sink, double timeout_s) {
  std::exception_ptr failure;
  {
    const py::gil_scoped_release released;
    failure = sink.wait_failure(seconds(timeout_s));
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

void bind_session_sink(py::module_& module) {
  constexpr py::call_guard<py::gil_scoped_release> no_gil;
  py::class_<SessionApplication, std::shared_ptr<SessionApplication>>(
      module, "ServedApplication", "An application of a session, which it arrives in with its first launch.")
      .def_property_readonly("name", &SessionApplication::name)
      .def("cancel", &SessionApplication::withdraw, no_gil)
      .def("does_not_end", &SessionApplication::does_not_end, py::arg("why"), no_gil,
           "A block of it does not end: the session fails, with the application's name and the reason.")
      .def("set_priority", &SessionApplication::set_priority, py::arg("priority"), no_gil);
  py::class_<SessionSink, CommandSink, SessionSinkPtr>(module, "SessionSink", "Commands go to a session.")
      .def(py::init([](const Device& device, const py::object& policy, std::uint64_t seed, double speed,
                       const std::string& ordering) {
             return open_sink(realtime_device(device, seed, speed), policy,
                              {.ordering = bindings::session_ordering(ordering, device)});
           }),
           py::arg("device"), py::arg("policy"), py::arg("seed"), py::arg("speed"), py::arg("ordering") = "arrival")
      .def(py::init([](const bindings::CudaDevice& device, const py::object& policy, const std::string& ordering,
                       const std::optional<Device>& estimates) {
             LiveDevice live = cuda::live_device(device.resources);
             auto ordered = bindings::session_ordering(ordering, estimates.value_or(*live.description));
             return open_sink(std::move(live), policy, {.copy_code = &copy_on_gpu, .ordering = std::move(ordered)});
           }),
           py::arg("device"), py::arg("policy"), py::arg("ordering") = "arrival", py::arg("estimates") = py::none(),
           "An ordering estimates times for the device `estimates`.")
      .def_property_readonly(
          "session", [](const SessionSinkPtr& self) { return std::shared_ptr<Session>(self, &self->session()); },
          "What the commands go to.")
      .def("application", &make_application, py::arg("application"), py::keep_alive<0, 1>(),
           "For ServerPort.add_application.")
      .def("raise_failure", &raise_failure, py::arg("timeout_s"),
           "Raises what the session has failed with, once it has; returns if it has not in time.");
  py::class_<ServerPort, std::shared_ptr<ServerPort>> port(module.attr("ServerPort"));
  port.def("add_model", &add_model, py::arg("model"), py::arg("alone_ns") = py::none(),
           py::arg("released") = py::none(), py::arg("queue") = py::none(),
           "A kernel of a simulated device, with the block of its model; returns a handle. `alone_ns`: per block with "
           "the whole device at work, and of the first. `released` is called as it is of arrays.")
      .def("add_cuda_kernel", &add_cuda_kernel, py::arg("model"), py::arg("argument_bytes"), py::arg("code"),
           py::arg("block"), py::arg("shared_bytes"), py::arg("parameters"),
           py::arg("pointers") = std::vector<std::uint32_t>{}, py::arg("alone_ns") = py::none(),
           py::arg("released") = py::none(), py::arg("queue") = py::none(),
           "A kernel of a GPU with this block and dynamic shared memory; returns a handle. `parameters`: their places "
           "and sizes among the arguments. `pointers`: where only arrays, or nothing, may be.");
}

}  // namespace gpushare::daemon
