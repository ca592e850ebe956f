// SPDX-License-Identifier: Apache-2.0
// Which launches run side by side under Slate (section III.B.1): those that run stay, and the queue is searched in
// order of arrival for the first that goes with all of them.
//
// An application's place is kept for a moment when its launch ends, others run beside it and nobody who waits goes with
// them. In the paper the next launch of a stream is known when one ends; here it arrives right after, and without the
// moment its neighbours would have spread over its SMs in between.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/state.hpp"
#include "core/partitioning/slate_classes.hpp"

namespace gpushare {

class SlateQueue {
 public:
  SlateQueue(std::size_t together, Duration patience) : together_(together), patience_(patience) {}

  /// Feed every arrival and end, and when wake_at() has been reached.
  void observe(const Event& event, const State& state);

  struct Place {
    ApplicationId application{};
    OperationId operation{};
    Launch launch;
    std::optional<Time> kept_until{};  ///< the launch has ended
  };

  /// In order of application, so that nobody moves when a neighbour's next launch takes its place.
  const std::vector<Place>& places() const { return places_; }

  /// When the first of the places that are kept is given up.
  std::optional<Time> wake_at() const;

 private:
  void release(const Event& event, Time now);
  void take(const RunningLaunch& launch, const State& state);

  std::size_t together_;
  Duration patience_;
  SlateClasses classes_;
  std::vector<Place> places_;
};

}  // namespace gpushare
