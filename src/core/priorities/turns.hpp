// SPDX-License-Identifier: Apache-2.0
// Whose turn it is (EffiSha section 7): one request has the GPU, the others wait in an active or in an inactive queue.
// The active ones are served first, by their priorities, which grow meanwhile; when none is left, the queues change
// places. A request that comes at the very time at which they do so has come before: it is active, the others are not
// yet.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/priorities/ageing.hpp"
#include "core/priorities/requests.hpp"

namespace gpushare {

struct Turn {
  enum class Queue { Active, Inactive };
  Queue queue = Queue::Active;
  AgeingPriority ageing{};
  Time arrival{};    ///< of the request
  Time began{};      ///< of its latest turn
  int priority = 0;  ///< with which that began
};

class Turns {
 public:
  /// Call it for every event. Newcomers are active. Who ends gives up its turn, but has it back where its next launch
  /// arrives at the same time.
  void observe(const Event& event, const State& state);

  /// Ends the current turn. Who had it waits in this queue; an inactive one forgets what it has waited for. A turn
  /// that began just now has not been used, and is as if it had not been.
  void stop(Turn::Queue queue, Time now);
  /// Begins the turn of the first of the active, if anybody is there.
  void begin_next(Time now);

  const Turn* current() const { return current_ ? &turns_.at(*current_) : nullptr; }
  const Request& current_request() const { return requests_.all().at(*current_); }
  /// The requests without a turn that are there, in the order in which they are to be served.
  std::vector<RequestId> waiting(Time now) const;
  const Turn& turn(RequestId id) const { return turns_.at(id); }
  const Request& request(RequestId id) const { return requests_.all().at(id); }

 private:
  void welcome(RequestId id, Time now);
  void exchange_queues(const std::vector<RequestId>& inactive, Time now);
  void take_back_exchange(Time now);

  Requests requests_;
  std::map<RequestId, Turn> turns_;
  std::optional<RequestId> current_;
  std::optional<RequestId> ended_;    // who had the turn when it ended
  std::vector<RequestId> exchanged_;  // the requests that became active when the queues last changed places
  Time exchanged_at_{};
};

}  // namespace gpushare
