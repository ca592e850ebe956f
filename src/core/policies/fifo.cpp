// SPDX-License-Identifier: Apache-2.0
// FIFO, the policy of the hardware (SRTF section 5.2.1): blocks are dispatched in order of arrival, and a later launch
// gets what is left over once the last block of every earlier one has started.
//
// Suits: equal launches. Fails: a short launch behind a long one waits for nearly all of it.
#include "core/policy_support/ranking.hpp"

namespace gpushare {
namespace {

class Fifo : public Policy {
 public:
  Plan decide(const State& state) const override {
    return ranked_by(state, [](const RunningLaunch& launch) { return launch.arrival; });
  }
};

}  // namespace

std::unique_ptr<Policy> make_fifo(const PolicyOptions& /*options*/) { return std::make_unique<Fifo>(); }

}  // namespace gpushare
