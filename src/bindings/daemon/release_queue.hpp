// SPDX-License-Identifier: Apache-2.0
// Functions that Python calls when an array has no more users. The thread that drops the last use may be the session's,
// which must not wait for the GIL; then a Python thread makes the call a little later.
#pragma once

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/model/units.hpp"

namespace gpushare::daemon {

namespace py = pybind11;

class ReleaseQueue {
 public:
  /// Returns the functions to call, as soon as there are any; empty: none in time. Call it without the GIL.
  std::vector<std::unique_ptr<py::object>> take(Duration timeout) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return !waiting_.empty(); });
    return std::exchange(waiting_, {});
  }

  void add(std::unique_ptr<py::object> function) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(function));
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<py::object>> waiting_;
};

/// Calls the function with the GIL held.
inline void call_released(std::unique_ptr<py::object> function) {
  try {
    (*function)();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("releasing an array");
  }
}

/// When the last copy goes, the function is called: at once in a thread that holds the GIL, else by way of the queue.
inline std::shared_ptr<const void> released_through(std::shared_ptr<ReleaseQueue> queue, const py::object& function) {
  if (function.is_none()) return nullptr;
  return std::shared_ptr<py::object>(new py::object(function), [queue = std::move(queue)](py::object* kept) {
    std::unique_ptr<py::object> owned(kept);
    if (PyGILState_Check() != 0) return call_released(std::move(owned));
    queue->add(std::move(owned));
  });
}

}  // namespace gpushare::daemon
