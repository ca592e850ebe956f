// SPDX-License-Identifier: Apache-2.0
// What a policy written in Python sees. A snapshot is a copy, so keeping one beyond the decision is harmless.
#pragma once

#include <memory>

#include "core/engine/state.hpp"

namespace gpushare::bindings {

/// The state at one decision. `world` keeps alive what the state points into.
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
