// SPDX-License-Identifier: Apache-2.0
// A deleter for objects that own Python objects and have destructors that wait for other threads. A forked process has
// none.
#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

namespace gpushare {

/// Threads that end with the object may need the GIL for Python objects. A forked process leaves its copy as it is: it
/// may be locked for ever, and the driver frees nothing there.
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
