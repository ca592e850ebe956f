// SPDX-License-Identifier: Apache-2.0
// How fast applications get on, from the blocks that end: what IPC is to CD-search's hardware (section 4.2).
//
// Blocks per time would do in a long window. In a short one it depends on how many waves happen to end within it, and
// the pauses between two launches count. So the rate is taken from the mean duration of the blocks that end: n places,
// all taken, end n / duration blocks per time (Little's law). Only blocks that began in the window count, as others ran
// under what was before, be it another partition or cold caches.
//
// Suits: windows of a wave of blocks and more, events in groups. Fails: where the first blocks of an SM to end are the
// short ones, a window of less than a wave takes them for all.
#pragma once

#include <map>
#include <optional>

#include "core/engine/state.hpp"

namespace gpushare {

class ProgressRate {
 public:
  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Begins a new window for every application.
  void restart(Time now);

  /// Nothing counts until resume(), nor does a block that began before.
  void pause() { is_paused_ = true; }
  void resume(Time now);
  bool is_paused() const { return is_paused_; }

  /// Blocks that have begun and ended in this window.
  std::int64_t blocks(ApplicationId application) const;

  /// Blocks per nanosecond while `places` of its blocks run at a time; nullopt before any block has ended.
  std::optional<double> rate(ApplicationId application, std::int64_t places) const;

 private:
  struct Ended {
    std::int64_t blocks = 0;
    double duration = 0;  // nanoseconds, summed over the blocks
  };

  std::map<ApplicationId, Ended> applications_;  // those that have ended blocks in this window
  Time begin_{};
  bool is_paused_ = false;
};

}  // namespace gpushare
