// SPDX-License-Identifier: Apache-2.0
// A deleter for what Python owns and what waits for other threads when it goes.
#pragma once

#include <pybind11/pybind11.h>

namespace gpushare {

/// Threads that end with the object may need the GIL for what Python owns.
template <typename T>
struct WithoutGil {
  void operator()(T* object) const {
    if (PyGILState_Check() == 0) return delete object;
    const pybind11::gil_scoped_release released;
    delete object;
  }
};

}  // namespace gpushare
