// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>

#include "core/model/units.hpp"

namespace gpushare::bindings {

inline Duration seconds(double count) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(count));
}

/// Waits in pieces, so that Ctrl-C takes effect.
template <typename HasEnded>
bool wait_in_pieces(double timeout_s, HasEnded has_ended_within) {
  constexpr Duration piece(50'000'000);
  Duration left = seconds(timeout_s);
  while (true) {
    bool ended = false;
    {
      const pybind11::gil_scoped_release no_gil;
      ended = has_ended_within(std::min(left, piece));
    }
    if (ended) return true;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
    left -= piece;
    if (left <= Duration{}) return false;
  }
}

}  // namespace gpushare::bindings
