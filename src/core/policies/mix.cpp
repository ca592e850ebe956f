// SPDX-License-Identifier: Apache-2.0
// Residency mixing (simultaneous multikernel: so many blocks of each launch on every SM), or a partition of the SMs
// where that promises more: the allocation with the greatest sum of weighted speeds, relative to those alone, that the
// contention model finds (tuning/allocation/allocation_search.hpp). It is kept in the gaps between an application's
// launches.
//
// Options: min_speed=0.3, each application keeps 0.3 of its speed alone (if left out, half of an equal part: 0.25 for
// two); where that cannot be, the slowest is as fast as can be. antt=1.8, bound of the mean slowdown;
// patience_ns=60_000, how long a slot is kept; small_ns=30_000, launches that take no longer alone go first;
// equal_start=yes: where SMs serve the oldest block first, begin with an equal partition and try an unequal one that
// promises 1.2 times as much, or shared SMs that promise 1.3 times as much (no: 1.01). Then the allocation and its
// neighbours are measured, as long as that costs no more than probe_loss=0.02 of the throughput, in windows of
// probe_ns=1e6; the best stays.
//
// An application's own minimum speed goes before that of the policy. A latency bound is a minimum speed, too: a launch
// that takes T alone and has L for it needs T / L of its speed. Its slot is kept for longer (reserve_ns=5e6), and
// where no allocation keeps the bound its launches go first on every SM.
//
// Suits: kernels that need different things of an SM, launched again and again. Fails: kernels that need the same gain
// nothing, and all are late where one could have been early; a set that runs together only once pays for the search.
#include "core/engine/policy.hpp"
#include "core/tuning/co_scheduler.hpp"

namespace gpushare {
namespace {

class Mix : public Policy {
 public:
  explicit Mix(const CoScheduleOptions& options) : scheduler_(options) {}

  void observe(const Event& event, const State& state) override { scheduler_.observe(event, state); }
  bool wants(const Event& event) const override { return scheduler_.wants(event); }
  Plan decide(const State& state) const override { return scheduler_.plan(state); }

 private:
  CoScheduler scheduler_;
};

}  // namespace

std::unique_ptr<Policy> make_mix(const PolicyOptions& options) {
  return std::make_unique<Mix>(CoScheduleOptions::from(options));
}

}  // namespace gpushare
