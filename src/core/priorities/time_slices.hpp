// SPDX-License-Identifier: Apache-2.0
// Time slices (EffiSha section 7): one request has the GPU, the others wait in an active or in an inactive queue.
// Active requests are served first, by their priorities, which grow meanwhile; when none is left, the queues are
// swapped. A request that arrives at the very time of a swap counts as earlier: it is active, the others are not yet.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/priorities/ageing.hpp"
#include "core/priorities/requests.hpp"

namespace gpushare {

/// The latest slice of a request, or its place in a queue.
struct TimeSlice {
  enum class Queue { Active, Inactive };
  Queue queue = Queue::Active;
  AgeingPriority ageing{};
  Time arrival{};    ///< of the request
  Time began{};      ///< of its latest slice
  int priority = 0;  ///< at that time
};

class TimeSlices {
 public:
  /// Call it for every event. New requests are active. A request that ends gives up its slice, but has it back where
  /// its next launch arrives at the same time.
  void observe(const Event& event, const State& state);

  /// Ends the current slice. Its request waits in this queue; in the inactive one its waiting time is forgotten. A
  /// slice that began just now has not been used, and is ignored.
  void stop(TimeSlice::Queue queue, Time now);
  /// Begins the slice of the first active request, if there is any.
  void begin_next(Time now);

  const TimeSlice* current() const { return current_ ? &slices_.at(*current_) : nullptr; }
  const Request& current_request() const { return requests_.all().at(*current_); }
  /// The present requests without a slice, in the order in which they are to be served.
  std::vector<RequestId> waiting(Time now) const;
  const TimeSlice& slice(RequestId id) const { return slices_.at(id); }
  const Request& request(RequestId id) const { return requests_.all().at(id); }

 private:
  void arrive(RequestId id, Time now);
  void swap_queues(const std::vector<RequestId>& inactive, Time now);
  void undo_swap(Time now);

  Requests requests_;
  std::map<RequestId, TimeSlice> slices_;
  std::optional<RequestId> current_;
  std::optional<RequestId> ended_;  // had the slice when it ended
  std::vector<RequestId> swapped_;  // the requests that became active at the latest swap
  Time swapped_at_{};
};

}  // namespace gpushare
