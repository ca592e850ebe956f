// SPDX-License-Identifier: Apache-2.0
// A deleter for what Python owns and what waits for other threads when it goes. In a forked process there are none.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

namespace gpushare {

/// Threads that end with the object may need the GIL for what Python owns. The copy that a forked process has of it
/// stays as it is: it may be locked for ever, and the driver takes nothing back there.
template <typename T>
struct WithoutGil {
  pid_t process = getpid();

  void operator()(T* object) const {
    if (process != getpid()) return;
    if (PyGILState_Check() == 0) return delete object;
    const pybind11::gil_scoped_release released;
    delete object;
  }
};

}  // namespace gpushare
