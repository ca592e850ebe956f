// SPDX-License-Identifier: Apache-2.0
// Time-slicing: one application at a time has the whole GPU, for a quantum; then it is the next one's turn, in order of
// their ids. It is what a GPU does with processes of their own without MPS (Slate section V.A), except that a block
// that has started runs to its end. An application with nothing to run loses its turn.
//
// Suits: a baseline; nobody waits longer than a round. Fails: nothing overlaps, not even the last blocks of a launch.
//
// Options: quantum_ms (2, near what drivers take by default).
#include <algorithm>

#include "core/policies/options.hpp"
#include "core/policy.hpp"

namespace gpushare {
namespace {

class RoundRobin : public Policy {
 public:
  explicit RoundRobin(Duration quantum) : quantum_(quantum) {}

  void observe(const Event& event, const State& state) override {
    if (!wants(event) || state.running().empty()) return;
    if (has_work(owner_, state) && state.now() - since_ < quantum_) return;
    owner_ = next(state);
    since_ = state.now();
  }

  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      if (launch.application == owner_) plan.shares.push_back(full_share(launch));
    }
    if (plan.shares.size() < state.running().size()) plan.wake_at = since_ + quantum_;
    return plan;
  }

 private:
  static bool has_work(ApplicationId application, const State& state) {
    return std::ranges::any_of(state.running(),
                               [&](const RunningLaunch& launch) { return launch.application == application; });
  }

  /// The first application behind the owner that has something to run; the owner itself is the last.
  ApplicationId next(const State& state) const {
    const auto distance = [&](const RunningLaunch& launch) {
      return static_cast<unsigned>(index(launch.application)) - static_cast<unsigned>(index(owner_)) - 1U;
    };
    return std::ranges::min_element(state.running(), {}, distance)->application;
  }

  Duration quantum_;
  ApplicationId owner_{-1};
  Time since_{};
};

}  // namespace

std::unique_ptr<Policy> make_round_robin(const PolicyOptions& options) {
  const double milliseconds = options.number("quantum_ms", 2, 0.001, 1e6);
  return std::make_unique<RoundRobin>(Duration(static_cast<std::int64_t>(milliseconds * 1e6)));
}

}  // namespace gpushare
