// SPDX-License-Identifier: Apache-2.0
// SRTF that is told the runtimes instead of sampling them (SRTF section 6.2.2). What separates it from shortest job
// first is the hand-off alone: blocks that run when a shorter launch arrives must end first.
//
// Suits: to see what prediction costs SRTF. Fails: without known runtimes it cannot decide, and says so.
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
