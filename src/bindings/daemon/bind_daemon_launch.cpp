// SPDX-License-Identifier: Apache-2.0
#include "bindings/daemon/daemon_waits.hpp"
#include "bindings/daemon/launch_packer.hpp"

namespace gpushare::daemon {
namespace {

std::unique_ptr<LaunchPacker> make_packer(Handle kernel, std::uint64_t place,
                                          const std::optional<std::vector<bindings::ParameterTuple>>& parameters) {
  std::optional<std::vector<PackedParameter>> known;
  if (parameters) {
    known.emplace();
    for (const bindings::ParameterTuple& each : *parameters) known->push_back(bindings::parameter_of(each));
  }
  return std::make_unique<LaunchPacker>(kernel, place, std::move(known));
}

/// Usually the ring has room, and the call keeps the GIL: releasing and retaking it would take longer than the call,
/// and a thread that reports ends of jobs would hold it in between.
JobNumber send_owned(ClientPort& port, LaunchRequest request, const py::object& owner, double timeout_s) {
  request.owner = owner.is_none() ? nullptr : owner.inc_ref().ptr();
  try {
    try {
      return port.launch(request, Duration{});
    } catch (const PeerBusy&) {
      return send_in_pieces(timeout_s, [&](Duration patience) { return port.launch(request, patience); });
    }
  } catch (...) {
    if (request.owner != nullptr) owner.dec_ref();
    throw;
  }
}

std::optional<JobNumber> launch_packed(ClientPort& port, const LaunchPacker& packer, Handle application,
                                       const std::array<std::uint32_t, 3>& grid, const py::sequence& arguments,
                                       const py::object& owner, double timeout_s) {
  LaunchPacker::Packed packed;
  if (!packer.pack(arguments, packed)) return std::nullopt;
  const LaunchRequest request{.application = application,
                              .kernel = packer.kernel(),
                              .grid = grid,
                              .arguments = packed.bytes,
                              .arrays = packed.arrays};
  return send_owned(port, request, owner, timeout_s);
}

using PackedArray = std::pair<std::uint32_t, Handle>;  // position, handle

JobNumber launch_bytes(ClientPort& port, const LaunchPacker& packer, Handle application,
                       const std::array<std::uint32_t, 3>& grid, const py::bytes& arguments,
                       const std::vector<PackedArray>& arrays, const py::object& owner, double timeout_s) {
  const std::string_view view(arguments);
  std::vector<wire::ArrayReference> references;
  for (const auto& [position, array] : arrays) references.push_back({.array = array, .position = position});
  const LaunchRequest request{.application = application,
                              .kernel = packer.kernel(),
                              .grid = grid,
                              .arguments = std::as_bytes(std::span(view)),
                              .arrays = references};
  return send_owned(port, request, owner, timeout_s);
}

/// (owner, status or None where the connection was lost before the end, message)
py::list told(std::vector<EndedJob> ended) {
  py::list list;
  for (EndedJob& each : ended) {
    if (each.owner == nullptr) continue;
    auto owner = py::reinterpret_steal<py::object>(static_cast<PyObject*>(each.owner));
    const JobResult& end = each.result;
    list.append(py::make_tuple(std::move(owner), end.is_lost ? py::object(py::none()) : py::cast(end.status),
                               py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                                   end.message.data(), static_cast<Py_ssize_t>(end.message.size()), "replace"))));
  }
  return list;
}

/// Settles a job that has no state of a future, without running Python code: that could be interrupted (Ctrl-C), and
/// the end would be lost. False: Python has to report it.
bool settle(const EndedJob& ended) {
  static PyObject* const is_future = PyUnicode_InternFromString("_is_future");
  static PyObject* const has_ended = PyUnicode_InternFromString("has_ended");
  if (ended.result.is_lost || ended.result.status != JobStatus::Done) return false;
  auto* owner = static_cast<PyObject*>(ended.owner);
  const auto of_future = py::reinterpret_steal<py::object>(PyObject_GetAttr(owner, is_future));
  if (of_future.ptr() == Py_False && PyObject_SetAttr(owner, has_ended, Py_True) == 0) return true;
  PyErr_Clear();
  return false;
}

/// Settles all jobs that it can; returns those that Python has to report.
std::vector<EndedJob> settle_all(std::vector<EndedJob> ended) {
  std::vector<EndedJob> left;
  std::vector<py::object> settled;  // these may be the last references to arrays, and dropping them may run any code
  for (EndedJob& each : ended) {
    if (each.owner == nullptr) continue;
    if (settle(each)) {
      settled.push_back(py::reinterpret_steal<py::object>(static_cast<PyObject*>(each.owner)));
    } else {
      left.push_back(std::move(each));
    }
  }
  return left;
}

/// False: not in time.
bool await(ClientPort& port, JobNumber job, double timeout_s, const py::function& rouse) {
  for (Duration left = seconds(timeout_s);; left -= piece) {
    Awaited awaited;
    {
      const py::gil_scoped_release released;
      awaited = port.await(job, std::clamp(left, Duration{}, piece));
    }
    if (auto left_over = settle_all(std::move(awaited.ended)); !left_over.empty()) {
      port.leave(std::move(left_over));
      rouse();
    }
    if (awaited.job != Awaited::Job::Unfinished) return true;
    heed_signals();
    if (left <= piece) return false;
  }
}

void bind_launch_types(py::module_& module) {
  py::class_<RemoteArray>(module, "RemoteArray", "A client's array on a worker.")
      .def(py::init([](std::string dtype) { return RemoteArray{.dtype = std::move(dtype)}; }), py::arg("dtype"))
      .def_readwrite("place", &RemoteArray::place, "Which connection knows it; 0: none.")
      .def_readwrite("handle", &RemoteArray::handle);
  py::class_<LaunchPacker>(module, "LaunchPacker", "Launches of one kernel with one block.")
      .def(
          py::init(&make_packer), py::arg("kernel"), py::arg("place"), py::arg("parameters"),
          "`parameters`: (kind, offset, bytes, dtype, least, most, scalar) each; None: the arguments are not checked.");
}

}  // namespace

void bind_daemon_launch(py::module_& module) {
  bind_launch_types(module);
  py::class_<ClientPort, std::unique_ptr<ClientPort, PortDeleter>> port(module.attr("ClientPort"));
  constexpr double patience = 60;  // seconds
  port.def("launch_packed", &launch_packed, py::arg("packer"), py::arg("application"), py::arg("grid"),
           py::arg("arguments"), py::arg("owner"), py::arg("timeout_s") = patience,
           "Returns the job's number, or None if an argument is unusual or wrong. `arguments`: a list or a tuple. "
           "take_owners() returns `owner`.")
      .def("launch_bytes", &launch_bytes, py::arg("packer"), py::arg("application"), py::arg("grid"),
           py::arg("arguments"), py::arg("arrays"), py::arg("owner"), py::arg("timeout_s") = patience,
           "The same with arguments that have been packed. `arrays`: (position, handle).")
      .def(
          "take_owners",
          [](ClientPort& self) {
            std::vector<EndedJob> ended;
            const bool more = self.take_all_ended(ended);
            return std::pair(told(settle_all(std::move(ended))), more);
          },
          "Sets `has_ended` of the owners of ended jobs, and returns (owner, status, message) of those that need more; "
          "and whether to call again a little later. If not, the bell rings at the next end of a job without a "
          "waiting thread.")
      .def("await_end", &await, py::arg("job"), py::arg("timeout_s"), py::arg("rouse"),
           "Waits for the job, and sets `has_ended` of its owner, and of others that end meanwhile. One with the state "
           "of a future, whose `_is_future` is true, and one that failed are left to take_owners(), and `rouse` is "
           "called. False: not in time.")
      .def("hear", &ClientPort::hear, "To be called when the bell rings. False: the worker is gone.")
      .def_property_readonly("bell", &ClientPort::bell, "A descriptor, not to be closed, to wait at.")
      .def(
          "abandon",
          [](ClientPort& self) {
            std::vector<EndedJob> ended;
            {
              const py::gil_scoped_release released;
              ended = self.abandon();
            }
            return told(std::move(ended));
          },
          "Closes it, and returns the same for all jobs that were not reported, with the status None where they had "
          "not ended.")
      .def_property_readonly("last_job", &ClientPort::last_job, "The number of the job that was submitted last.");
}

}  // namespace gpushare::daemon
