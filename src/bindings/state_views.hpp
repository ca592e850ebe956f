// SPDX-License-Identifier: Apache-2.0
// A Python policy's view of the state. A snapshot is a copy, so holding one beyond the decision is harmless.
#pragma once

#include <memory>

#include "core/engine/state.hpp"

namespace gpushare::bindings {

/// The state at one decision. `world` owns the objects that the state points to.
struct Snapshot {
  State state;
  std::shared_ptr<const void> world;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

/// One running launch of a snapshot.
struct LaunchView {
  SnapshotPtr snapshot;
  std::size_t position = 0;

  const RunningLaunch& operator*() const { return snapshot->state.running()[position]; }
  const RunningLaunch* operator->() const { return &**this; }
};

}  // namespace gpushare::bindings
