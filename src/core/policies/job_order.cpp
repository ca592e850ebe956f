// SPDX-License-Identifier: Apache-2.0
// Shortest and longest job first (SRTF section 2): oracles that know how long every launch takes alone, and the next
// arrivals. One launch has the whole GPU until its last block has ended; the first in the order never waits for blocks
// that started before its arrival.
//
// Suits: bounds of what an order can achieve; no realizable policy has a better turnaround than the shortest first.
// Fails: without known runtimes it throws PolicyError.
#include <utility>

#include "core/policy_support/ranking.hpp"
#include "core/predictors/oracle.hpp"

namespace gpushare {
namespace {

enum class Order { ShortestFirst, LongestFirst };

class JobOrder : public Policy {
 public:
  explicit JobOrder(Order order) : order_(order) {}

  Plan decide(const State& state) const override {
    const RunningLaunch* first =
        sorted_by(state, [&](const RunningLaunch& launch) { return key(*launch.launch); }).front();
    // Waiting for a better launch that starts together with this one costs nothing that a metric could see. Its
    // application may yet wait for memory, or for its host.
    const Duration soon = together(state.device());
    for (const Launch* upcoming : state.first_launches_arriving_within(soon)) {
      if (key(*upcoming) < key(*first->launch)) return {.wake_at = state.now() + soon};
    }
    return {.shares = {full_share(*first)}};
  }

 private:
  Duration key(const Launch& launch) const {
    return order_ == Order::ShortestFirst ? known_runtime(launch) : -known_runtime(launch);
  }

  Order order_;
};

}  // namespace

std::unique_ptr<Policy> make_shortest_job_first(const PolicyOptions& /*options*/) {
  return std::make_unique<JobOrder>(Order::ShortestFirst);
}
std::unique_ptr<Policy> make_longest_job_first(const PolicyOptions& /*options*/) {
  return std::make_unique<JobOrder>(Order::LongestFirst);
}

}  // namespace gpushare
