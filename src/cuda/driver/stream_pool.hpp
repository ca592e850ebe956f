// SPDX-License-Identifier: Apache-2.0
// Streams to launch on, all less urgent than those for polling and orders. Launches that run at the same time never
// share one: the second would wait for the first.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "cuda/driver/handles.hpp"

namespace gpushare::cuda {

/// A stream, and an event for its user to record in it.
struct MarkedStream {
  Stream stream;
  Event mark;
};

class StreamPool {
 public:
  /// Makes a stream of a priority.
  using MakeStream = std::function<Stream(int priority)>;

  /// Makes some streams beforehand: making one takes tens of microseconds.
  explicit StreamPool(SharedContext context)
      : StreamPool(context, 3, [context](int priority) { return cuda::make_stream(context, priority); }) {}
  StreamPool(SharedContext context, int streams_per_level, MakeStream make)
      : context_(std::move(context)),
        make_(std::move(make)),
        free_(std::max<std::size_t>(context_->stream_priorities().size(), 2) - 1) {
    for (int level = 0; level < levels(); ++level) {
      for (int count = 0; count < streams_per_level; ++count) give_back(make_stream(level), level);
    }
  }

  /// The range of levels: 0 (most urgent) to levels() - 1.
  int levels() const { return static_cast<int>(free_.size()); }

  MarkedStream take(int level) {
    auto& streams = free_[static_cast<std::size_t>(level)];
    if (streams.empty()) return make_stream(level);
    MarkedStream stream = std::move(streams.back());
    streams.pop_back();
    return stream;
  }

  /// Everything in it must have ended.
  void give_back(MarkedStream stream, int level) {
    free_[static_cast<std::size_t>(level)].push_back(std::move(stream));
  }

 private:
  MarkedStream make_stream(int level) const {
    const std::vector<int>& priorities = context_->stream_priorities();
    const int priority = priorities[std::min(static_cast<std::size_t>(level) + 1, priorities.size() - 1)];
    return {make_(priority), make_event(context_)};
  }

  SharedContext context_;
  MakeStream make_;
  std::vector<std::vector<MarkedStream>> free_;  // by level
};

}  // namespace gpushare::cuda
