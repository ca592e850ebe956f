// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/daemon_waits.hpp"
#include "bindings/daemon/release_queue.hpp"
#include "daemon/echo_sink.hpp"
#include "daemon/port_server.hpp"
#include "daemon/session_application.hpp"

namespace gpushare::daemon {
namespace {

py::tuple add_client(PortServer& server, const PortLimits& limits) {
  std::pair<std::shared_ptr<ServerPort>, ClientEnds> opened;
  {
    const py::gil_scoped_release released;
    opened = server.add(limits);
  }
  return py::make_tuple(opened.first, opened.second.memory.release(), opened.second.doorbell.release());
}

void bind_tables(py::class_<ServerPort, std::shared_ptr<ServerPort>>& port) {
  port.def(
          "add_application",
          [](ServerPort& self, std::string name, std::shared_ptr<SessionApplication> in_session,
             std::shared_ptr<ApplicationAccount> account) {
            return self.tables().applications.add(
                std::make_shared<ApplicationEntry>(std::move(name), std::move(in_session), std::move(account)));
          },
          py::arg("name"), py::arg("in_session") = py::none(), py::arg("account") = py::none(),
          "Returns a handle. `in_session`: what a SessionSink knows it as.")
      .def(
          "add_kernel",
          [](ServerPort& self, std::string name, std::optional<std::size_t> argument_bytes, const py::object& released,
             std::shared_ptr<ReleaseQueue> queue) {
            return self.tables().kernels.add(
                std::make_shared<KernelEntry>(KernelEntry{.name = std::move(name),
                                                          .argument_bytes = argument_bytes,
                                                          .owner = released_through(std::move(queue), released)}));
          },
          py::arg("name"), py::arg("argument_bytes"), py::arg("released") = py::none(), py::arg("queue") = py::none(),
          "Returns a handle. None: as many bytes as come. `released` is called as it is of arrays.")
      .def("remove_application", &ServerPort::remove_application_after, py::arg("application"), py::arg("after") = 0,
           "Once the job of that number has been taken.")
      .def("remove_kernel", &ServerPort::remove_kernel_after, py::arg("kernel"), py::arg("after") = 0,
           "Once the job of that number has been taken. Launches under way keep it.");
}

void bind_memory_tables(py::class_<ServerPort, std::shared_ptr<ServerPort>>& port) {
  port.def(
          "add_array",
          [](ServerPort& self, std::uint64_t address, std::uint64_t bytes, const py::object& released,
             std::shared_ptr<ReleaseQueue> queue) {
            return self.tables().arrays.add(
                std::make_shared<ArrayEntry>(address, bytes, released_through(std::move(queue), released)));
          },
          py::arg("address"), py::arg("bytes"), py::arg("released"), py::arg("queue"),
          "Returns a handle. `released` is called once the array is removed and no job needs it, by way of the queue "
          "where the thread that notices has not the GIL.")
      .def(
          "add_arena",
          [](ServerPort& self, int descriptor, std::size_t most_bytes) {
            SharedMemory memory = SharedMemory::map(FileDescriptor::duplicate(descriptor), most_bytes);
            return self.tables().arenas.add(std::make_shared<ArenaEntry>(std::move(memory), nullptr));
          },
          py::arg("descriptor"), py::arg("most_bytes"),
          "Maps the client's memory, if its size is sealed and at most that; the descriptor remains the caller's.")
      .def("remove_array", &ServerPort::remove_array_after, py::arg("array"), py::arg("after") = 0,
           "Once the job of that number has been taken.")
      .def(
          "remove_arrays", [](ServerPort& self) { self.tables().arrays.clear(); }, "All of them.")
      .def("remove_arena", [](ServerPort& self, Handle handle) { self.tables().arenas.remove(handle); });
}

void bind_release_queue(py::module_& module) {
  py::class_<ReleaseQueue, std::shared_ptr<ReleaseQueue>>(module, "ReleaseQueue",
                                                          "Arrays that are no longer needed, to be released.")
      .def(py::init<>())
      .def(
          "release",
          [](ReleaseQueue& self, double timeout_s) {
            std::vector<std::unique_ptr<py::object>> functions;
            {
              const py::gil_scoped_release released;
              functions = self.take(seconds(timeout_s));
            }
            for (auto& function : functions) call_released(std::move(function));
          },
          py::arg("timeout_s"), "Waits for some at most so long, and calls their functions.");
}

void bind_sinks(py::module_& module) {
  py::class_<EchoSink, CommandSink, std::shared_ptr<EchoSink>>(
      module, "EchoSink", "Launches end after a given time and do nothing; copies are made, in host memory.")
      .def(py::init([](std::int64_t after) {
             return std::shared_ptr<EchoSink>(new EchoSink(Duration(after)), WithoutGil<EchoSink>{});
           }),
           py::arg("after_ns") = 0);
}

void bind_ports(py::module_& module) {
  py::class_<JobPool, std::shared_ptr<JobPool>>(module, "JobPool", "Places for jobs that several clients share.")
      .def(py::init<std::size_t>(), py::arg("places"))
      .def_property_readonly("free", &JobPool::free);
  py::class_<PortLimits>(module, "PortLimits", "What one client may use of the worker.")
      .def(py::init<>())
      .def_readwrite("command_ring_bytes", &PortLimits::command_ring_bytes)
      .def_readwrite("completion_ring_bytes", &PortLimits::completion_ring_bytes)
      .def_readwrite("most_jobs", &PortLimits::most_jobs,
                     "Jobs that have not ended, or with ends that the client has not read.")
      .def_readwrite("own_jobs", &PortLimits::own_jobs, "Of these, those that need no place of the pool.")
      .def_readwrite("pool", &PortLimits::pool, "For the other ones; None: they need no place.")
      .def_readwrite("most_blocks", &PortLimits::most_blocks, "Of a launch.");
  py::class_<PortStatistics>(module, "PortStatistics", "Counters of a port.")
      .def_readonly("commands", &PortStatistics::commands)
      .def_readonly("completions", &PortStatistics::completions)
      .def_readonly("refused", &PortStatistics::refused)
      .def_readonly("unfinished", &PortStatistics::unfinished, "Jobs that have not ended.");
  py::class_<ServerPort, std::shared_ptr<ServerPort>> port(module, "ServerPort", "The worker's end of one client.");
  port.def_property_readonly("client", [](const ServerPort& self) { return static_cast<std::uint64_t>(self.client()); })
      .def_property_readonly("statistics", &ServerPort::statistics)
      .def(
          "wait_idle",
          [](ServerPort& self, double timeout_s) {
            return in_pieces(timeout_s, [&](Duration timeout) { return self.wait_idle(timeout); });
          },
          py::arg("timeout_s"), "Once its client is no longer served: have its jobs ended?");
  bind_tables(port);
  bind_memory_tables(port);
}

}  // namespace

void bind_daemon_server(py::module_& module) {
  bind_release_queue(module);
  bind_sinks(module);
  bind_ports(module);
  py::class_<PortServer, std::shared_ptr<PortServer>>(module, "PortServer", "Serves all clients, in one thread.")
      .def(py::init([](std::shared_ptr<CommandSink> sink, std::size_t turn_commands, std::int64_t most_spin) {
             const ServerSettings settings{.turn_commands = turn_commands, .most_spin = Duration(most_spin)};
             return std::shared_ptr<PortServer>(new PortServer(std::move(sink), settings), WithoutGil<PortServer>{});
           }),
           py::arg("sink"), py::arg("turn_commands") = ServerSettings{}.turn_commands,
           py::arg("most_spin_ns") = ServerSettings{}.most_spin.count(),
           py::keep_alive<1, 2>())  // a sink of Python's is nothing without its Python object
      .def("add", &add_client, py::arg("limits") = PortLimits{},
           "A new client: its port, and the descriptors that it gets (memory, doorbell). Close them once it has them, "
           "or "
           "its end will not be noticed.")
      .def(
          "remove", [](PortServer& self, std::uint64_t client) { self.remove(ClientId{client}); }, py::arg("client"),
          py::call_guard<py::gil_scoped_release>(), "Ends serving the client.")
      .def(
          "wait_gone",
          [](PortServer& self, double timeout_s) -> std::optional<std::tuple<std::uint64_t, std::string>> {
            const auto gone = in_pieces(timeout_s, [&](Duration timeout) { return self.wait_gone(timeout); });
            if (!gone) return std::nullopt;
            return std::tuple(static_cast<std::uint64_t>(gone->client), gone->reason);
          },
          py::arg("timeout_s"), "The next client that has ended by itself, and the reason; None: none has.");
}

}  // namespace gpushare::daemon
