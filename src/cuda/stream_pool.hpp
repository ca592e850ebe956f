// SPDX-License-Identifier: Apache-2.0
// Streams to launch on, all less urgent than those by which the host looks and commands. Launches that are under way at
// the same time share one only where a pool has no more: the second waits for the first.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "cuda/handles.hpp"

namespace gpushare::cuda {

/// With an event that whoever has the stream may record in it.
struct MarkedStream {
  Stream stream;
  Event mark;
};

struct StreamCounts {
  int levels = 0;  ///< 0: one for each priority but the first
  int made = 0;    ///< of each level beforehand, for making one takes tens of microseconds
  std::size_t most = std::numeric_limits<std::size_t>::max();  ///< of each level
};

class StreamPool {
 public:
  /// Of some priority.
  using MakeStream = std::function<Stream(int priority)>;

  StreamPool(const SharedContext& context, const StreamCounts& counts)
      : StreamPool(context, counts, [context](int priority) { return cuda::make_stream(context, priority); }) {}
  StreamPool(SharedContext context, const StreamCounts& counts, MakeStream make)
      : context_(std::move(context)),
        most_(counts.most),
        make_(std::move(make)),
        levels_(counts.levels > 0 ? static_cast<std::size_t>(counts.levels)
                                  : std::max<std::size_t>(context_->stream_priorities().size(), 2) - 1) {
    for (int level = 0; level < levels(); ++level) {
      for (int count = 0; count < counts.made; ++count) levels_[level].streams.push_back(make_stream(level));
    }
  }

  /// How urgent streams can be: levels 0 (most urgent) to levels() - 1.
  int levels() const { return static_cast<int>(levels_.size()); }

  /// To be kept until everything that was put into it has ended. Those that all have taken are taken in turn.
  std::shared_ptr<MarkedStream> take(int level) {
    Level& wanted = levels_[static_cast<std::size_t>(std::min(level, levels() - 1))];
    std::vector<std::shared_ptr<MarkedStream>>& streams = wanted.streams;
    const auto is_free = [](const auto& stream) { return stream.use_count() == 1; };
    const auto free = std::ranges::find_if(streams, is_free);
    if (free != streams.end()) return *free;
    if (streams.size() < most_) return streams.emplace_back(make_stream(level));
    return streams[wanted.next_shared++ % most_];
  }

 private:
  struct Level {
    std::vector<std::shared_ptr<MarkedStream>> streams;
    std::size_t next_shared = 0;
  };

  std::shared_ptr<MarkedStream> make_stream(int level) const {
    const std::vector<int>& priorities = context_->stream_priorities();
    const int priority = priorities[std::min(static_cast<std::size_t>(level) + 1, priorities.size() - 1)];
    return std::make_shared<MarkedStream>(MarkedStream{make_(priority), make_event(context_)});
  }

  SharedContext context_;
  std::size_t most_;
  MakeStream make_;
  std::vector<Level> levels_;
};

}  // namespace gpushare::cuda
