// SPDX-License-Identifier: Apache-2.0
// Residency mixing (simultaneous multikernel: so many blocks of each launch on every SM), or SMs of one's own where
// that promises more: the division with the greatest sum of weighted speeds, relative to those alone, that the
// contention model finds (core/tuning/search.hpp). It is kept for the gaps between an application's launches.
//
// Options: floor=0.3, nobody slower than 0.3 of his speed alone (if left out, half of an equal part: 0.25 for two), or
// the slowest is made as fast as can be; antt=1.8, bound of the mean slowdown; patience_us=60, how long a place is
// kept; small_us=30, launches that take no longer alone just go first; caution=yes: where SMs serve the oldest block
// first, all begin with equal parts; what promises 1.2 times as much by unequal ones, or 1.3 by shared SMs (no: 1.01),
// is tried. What launches get done is measured then, here and in divisions that differ, for probe_share=0.25 of the
// time at most (0.02 where SMs cannot be shared, or somebody has a floor), in windows of probe_us=2000; the best stays.
//
// An application's own floor goes before that of the policy. A latency bound is a floor, too: a launch that takes T
// alone and has L for it needs T / L of its speed. Its place is kept for longer (reserve_us=5000), and where no
// division keeps the bound its launches go first on every SM.
//
// Suits: kernels that want different things of an SM, launched again and again. Fails: with kernels that want the same
// nobody gains, and both are late where one could have been early; a company that meets once pays for the search.
#include "core/engine/policy.hpp"
#include "core/tuning/mixer.hpp"

namespace gpushare {
namespace {

class Mix : public Policy {
 public:
  explicit Mix(const MixOptions& options) : mixer_(options) {}

  void observe(const Event& event, const State& state) override { mixer_.observe(event, state); }
  bool wants(const Event& event) const override { return mixer_.wants(event); }
  Plan decide(const State& state) const override { return mixer_.plan(state); }

 private:
  Mixer mixer_;
};

}  // namespace

std::unique_ptr<Policy> make_mix(const PolicyOptions& options) {
  return std::make_unique<Mix>(MixOptions::from(options));
}

}  // namespace gpushare
