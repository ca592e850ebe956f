// SPDX-License-Identifier: Apache-2.0
// Block times on an SM without blocks of other launches.
//
// A newcomer's first blocks run beside the last ones of the launch before, and so do those after every hand-over. On an
// H100 a block of Black-Scholes takes ten times as long beside blocks of an n-body simulation. Simple Slicing takes the
// first block of a slice for all others, and a launch that has to wait because of that estimate gets no better one.
// Here blocks beside others count until one has had its SM without others from beginning to end, which makes the sample
// certain; from then on only such blocks count, the latest most.
//
// If it remembers, the mean of a kernel's last launch holds for its next one, from arrival to end, and for launches
// that wait meanwhile without a certain sample.
//
// Suits: policies that let one launch at a time have an SM. Fails: where launches share SMs permanently; where the last
// blocks of a grid take longer than those before.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/state.hpp"
#include "core/model/lru_cache.hpp"
#include "core/predictors/name_and_threads.hpp"

namespace gpushare {

class OwnSmBlocks {
 public:
  explicit OwnSmBlocks(bool remembers) : remembers_(remembers) {}

  /// Feed every event, after the state includes it.
  void observe(const Event& event, const State& state);

  /// Has a launch got its first block or its first certain one, or is it time to compare the predictions again?
  bool changed() const { return changed_; }

  bool has_sample(const RunningLaunch& launch) const;
  bool has_certain_sample(const RunningLaunch& launch) const;
  /// On all SMs. Requires has_sample().
  Duration remaining(const RunningLaunch& launch) const;

 private:
  struct Blocks {
    double ended = 0;
    double busy_ns = 0;
    double latest_ns = 0;  // a mean in which older blocks count for less

    void add(double blocks, double block_ns, double fades_after);
    double mean_ns() const { return busy_ns / ended; }
  };
  struct Seen {
    std::optional<double> known_ns{};  // as an earlier launch has shown
    Blocks crowded{};
    Blocks own{};
    std::vector<Time> reported{};  // by SM: when blocks had ended there last

    const Blocks& best() const { return own.ended > 0 ? own : crowded; }
  };

  Seen& seen_of(OperationId launch);
  void arrive(const RunningLaunch& launch);
  const Seen* find(const RunningLaunch& launch) const;
  bool had_own_sm(const Event& ended, const RunningLaunch& launch, Time reported);
  void add(const Event& ended, const RunningLaunch& launch);
  void remember(const RunningLaunch& ended, const State& state);

  struct Sm {
    std::int64_t resident = 0;
    Time crowded{};  // when blocks of two launches were there last
  };

  bool remembers_;
  bool changed_ = false;
  Time looked_at_{};
  std::vector<Sm> sms_;
  std::vector<Seen> launches_;                       // by OperationId
  LruCache<NameAndThreads, double> known_ns_{4096};  // by kernel
};

}  // namespace gpushare
