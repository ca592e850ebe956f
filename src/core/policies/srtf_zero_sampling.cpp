// SPDX-License-Identifier: Apache-2.0
// SRTF with known runtimes instead of samples (SRTF section 6.2.2). It differs from shortest job first in the hand-off
// alone: blocks that run when a shorter launch arrives must end first.
//
// Suits: to see the cost of prediction in SRTF. Fails: without known runtimes it throws PolicyError.
#include "core/policy_support/ranking.hpp"
#include "core/predictors/oracle.hpp"

namespace gpushare {
namespace {

class SrtfZeroSampling : public Policy {
 public:
  Plan decide(const State& state) const override { return ranked_by(state, known_remaining); }
};

}  // namespace

std::unique_ptr<Policy> make_srtf_zero_sampling(const PolicyOptions& /*options*/) {
  return std::make_unique<SrtfZeroSampling>();
}

}  // namespace gpushare
