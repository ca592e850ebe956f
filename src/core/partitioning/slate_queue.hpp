// SPDX-License-Identifier: Apache-2.0
// The launches that run side by side under Slate (section III.B.1): those that run stay, and the queue is searched in
// order of arrival for the first that goes with all of them.
//
// When a launch ends beside others with which no waiting launch goes, its application's place is kept for a moment. In
// the paper the next launch of a stream is known when one ends; here it arrives right after, and without that moment
// its neighbours would have spread over its SMs in between.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/state.hpp"
#include "core/model/lru_cache.hpp"
#include "core/partitioning/launch_key.hpp"
#include "core/partitioning/slate_table.hpp"

namespace gpushare {

/// Which launches go together by Table I; their classes are cached.
class SlateClasses {
 public:
  /// An unprofiled kernel goes with none, because its class is unknown.
  bool go_together(const Device& device, const Launch& running, const Launch& candidate) {
    return running.kernel.is_profiled && candidate.kernel.is_profiled &&
           is_complementary(of(device, running), of(device, candidate));
  }

 private:
  SlateClass of(const Device& device, const Launch& launch) {
    return known_.find_or(key_of(launch), [&] { return slate_class(device, launch); });
  }

  LruCache<LaunchKey, SlateClass> known_{1024};
};

class SlateQueue {
 public:
  SlateQueue(std::size_t together, Duration patience) : together_(together), patience_(patience) {}

  /// Feed every arrival and end, and when wake_at() has been reached.
  void observe(const Event& event, const State& state);

  struct SlatePlace {
    ApplicationId application{};
    OperationId operation{};
    Launch launch;
    std::optional<Time> kept_until{};  ///< the launch has ended
  };

  /// In order of application, so that no launch moves when the next launch of its neighbour arrives.
  const std::vector<SlatePlace>& places() const { return places_; }

  /// When the first of the places that are kept is given up.
  std::optional<Time> wake_at() const;

 private:
  void release(const Event& event, Time now);
  void take(const RunningLaunch& launch, const State& state);

  std::size_t together_;
  Duration patience_;
  SlateClasses classes_;
  std::vector<SlatePlace> places_;
};

}  // namespace gpushare
