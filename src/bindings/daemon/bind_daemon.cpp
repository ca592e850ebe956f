// SPDX-License-Identifier: Apache-2.0
// Both sides of the daemon's data plane. Descriptors are plain numbers here: the receiver of one closes it, or passes
// it to an object that takes ownership.
#include "bindings/bindings.hpp"
#include "bindings/daemon/daemon_waits.hpp"
#include "daemon/channel/shared_memory.hpp"

namespace gpushare::bindings {

void bind_daemon(py::module_& module) {
  py::register_exception<daemon::PeerGone>(module, "WorkerGone", PyExc_ConnectionError).doc() =
      "The worker at the other end has ended, or the connection was closed, or belongs to another process.";
  py::register_exception<daemon::PeerViolation>(module, "ProtocolViolation", PyExc_ConnectionError).doc() =
      "The other side broke the protocol.";
  py::register_exception<daemon::PeerBusy>(module, "WorkerBusy", PyExc_TimeoutError).doc() =
      "The worker took no commands for so long that waiting was given up.";
  py::class_<daemon::SharedMemory>(module, "SharedMemory", py::buffer_protocol(), "Memory of a sealed size.")
      .def(py::init([](std::size_t bytes) { return daemon::SharedMemory::create("gpushare-arena", bytes); }),
           py::arg("bytes"))
      .def_property_readonly("descriptor", &daemon::SharedMemory::descriptor,
                             "To hand to another process; not to be closed.")
      .def_buffer([](daemon::SharedMemory& self) {
        const std::span<std::byte> bytes = self.bytes();
        return py::buffer_info(reinterpret_cast<std::uint8_t*>(bytes.data()), static_cast<py::ssize_t>(bytes.size()));
      });
  daemon::bind_daemon_client(module);
  daemon::bind_daemon_launch(module);
  daemon::bind_daemon_accounts(module);
  daemon::bind_daemon_python_sink(module);
  daemon::bind_daemon_server(module);
  daemon::bind_session_sink(module);
}

}  // namespace gpushare::bindings
