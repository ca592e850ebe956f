// SPDX-License-Identifier: Apache-2.0
// Shortest remaining time first (SRTF section 5.1.1). A newcomer is sampled on one SM; as soon as one of its blocks
// has ended, the launch with the shortest predicted remaining time gets every SM at block boundary. Predictions are
// refined as slices go by, and the GPU switches back when they change the order.
//
// The paper's kernels are launched once. One that is launched again is not sampled anew (remembering_slicing.hpp),
// unless remember=no.
//
// Suits: short launches among long ones, when block times are much shorter than launches. Fails: behind very long
// blocks, where sampling and hand-off both wait for one to end; it is unfair to the longer of two equals; and with many
// small launches SMs idle while one at a time is sampled, since only it and the shortest have quotas then.
#include "core/policies/options.hpp"
#include "core/policies/ranking.hpp"
#include "core/policies/sampling.hpp"
#include "core/predictors/remembering_slicing.hpp"

namespace gpushare {
namespace {

class Srtf : public Policy {
 public:
  explicit Srtf(bool remembers) : predictor_(remembers) {}

  void observe(const Event& event, const State& state) override { predictor_.observe(event, state); }

  bool wants(const Event& event) const override { return Policy::wants(event) || predictor_.changed(); }

  Plan decide(const State& state) const override {
    if (auto sampling = sampling_plan(state, predictor_)) return *std::move(sampling);
    return ranked_by(state, [&](const RunningLaunch& launch) { return predictor_.remaining(launch); });
  }

 private:
  RememberingSlicing predictor_;
};

}  // namespace

std::unique_ptr<Policy> make_srtf(const PolicyOptions& options) {
  return std::make_unique<Srtf>(options.word("remember", {"yes", "no"}) == "yes");
}

}  // namespace gpushare
