// SPDX-License-Identifier: Apache-2.0
// Shared by the bindings of the data plane's two sides. In the daemon's namespace, apart from the names of the other
// bindings, with which these are compiled in one unit.
#pragma once

#include <pybind11/stl.h>

#include <algorithm>

#include "bindings/without_gil.hpp"
#include "core/model/units.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {

namespace py = pybind11;

inline constexpr Duration piece(50'000'000);  // of a wait, so that Ctrl-C takes effect

inline Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

inline void heed_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// Repeats until there is a result, or the time is up.
template <typename Wait>
auto in_pieces(double timeout_s, Wait wait) {
  Duration left = seconds(timeout_s);
  while (true) {
    {
      const py::gil_scoped_release released;
      auto result = wait(std::clamp(left, Duration{}, piece));
      if (result) return result;
    }
    heed_signals();
    left -= piece;
    if (left <= Duration{}) return decltype(wait(piece)){};
  }
}

/// Repeats a command while the worker has no room for it.
template <typename Send>
auto send_in_pieces(double timeout_s, Send send) {
  for (Duration left = seconds(timeout_s);; left -= piece) {
    try {
      const py::gil_scoped_release released;
      return send(std::clamp(left, Duration{}, piece));
    } catch (const PeerBusy&) {
      if (left <= piece) throw;
    }
    heed_signals();
  }
}

void bind_daemon_client(py::module_& module);
void bind_daemon_launch(py::module_& module);
void bind_daemon_accounts(py::module_& module);
void bind_daemon_python_sink(py::module_& module);
void bind_daemon_server(py::module_& module);
void bind_session_sink(py::module_& module);

}  // namespace gpushare::daemon
