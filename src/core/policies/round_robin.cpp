// SPDX-License-Identifier: Apache-2.0
// Time slicing: one application at a time has the whole GPU, for a quantum; the next time slice goes to the application
// that has waited longest since its arrival or its last slice. GPUs schedule separate processes without MPS in this way
// (Slate section V.A; EffiSha footnote 6), except that here a block that has started runs to its end. An application
// that has nothing to run keeps its slice for a moment, since its next launch usually arrives right behind the last
// one.
//
// Suits: a baseline; the wait is at most a round. Fails: nothing overlaps, not even the last blocks of a launch.
//
// Options: quantum_ns (2e6, near what drivers take by default), patience_ns (50_000, how long an idle slice continues).
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "core/engine/policy.hpp"
#include "core/policy_support/options.hpp"

namespace gpushare {
namespace {

/// The time until a first block begins: a shorter slice would end with nothing done.
Duration shortest_slice(const CommandDelays& delays) { return delays.signal + delays.relaunch + Duration(1); }

class RoundRobin : public Policy {
 public:
  RoundRobin(Duration quantum, Duration patience) : quantum_(quantum), patience_(patience) {}

  bool wants(const Event& event) const override {
    return Policy::wants(event) || event.kind == EventKind::ApplicationEnded;
  }

  void observe(const Event& event, const State& state) override {
    if (!wants(event)) return;
    if (event.kind == EventKind::LaunchArrived && event.application != owner_) queue(event.application, state.now());
    if (has_work(state)) idle_since_.reset();
    if (!has_work(state) && !idle_since_) idle_since_ = state.now();
    if (event.kind == EventKind::ApplicationEnded) leave(event.application, state.now());
    if (state.running().empty() || state.now() < slice_end()) return;
    if (owner_) queue(*owner_, state.now());
    owner_ = longest_waiting(state);
    idle_since_.reset();
    slice_ends_ = state.now() + std::max(quantum_, shortest_slice(state.device().delays));
  }

  Plan decide(const State& state) const override {
    Plan plan;
    for (const RunningLaunch& launch : state.running()) {
      if (launch.application == owner_) plan.shares.push_back(full_share(launch));
    }
    if (plan.shares.size() < state.running().size()) plan.wake_at = slice_end();
    return plan;
  }

 private:
  bool has_work(const State& state) const {
    return std::ranges::any_of(state.running(),
                               [&](const RunningLaunch& launch) { return launch.application == owner_; });
  }

  Time slice_end() const { return idle_since_ ? std::min(slice_ends_, *idle_since_ + patience_) : slice_ends_; }

  void queue(ApplicationId application, Time now) { waits_since_[application] = now; }

  void leave(ApplicationId application, Time now) {
    waits_since_.erase(application);
    if (application != owner_) return;
    owner_.reset();
    slice_ends_ = now;
  }

  ApplicationId longest_waiting(const State& state) const {
    return std::ranges::min_element(state.running(), {},
                                    [&](const RunningLaunch& launch) {
                                      // Between two with equal waits, the owner has just had its slice.
                                      return std::tuple(waits_since_.at(launch.application),
                                                        launch.application == owner_, launch.application);
                                    })
        ->application;
  }

  Duration quantum_;
  Duration patience_;
  std::optional<ApplicationId> owner_;
  std::map<ApplicationId, Time> waits_since_;
  Time slice_ends_{};
  std::optional<Time> idle_since_;  // the owner has nothing to run
};

}  // namespace

std::unique_ptr<Policy> make_round_robin(const PolicyOptions& options) {
  const Duration quantum = options.duration("quantum_ns", "the time for which one application has the GPU",
                                            Duration(2'000'000), Duration(1000), Duration(1'000'000'000'000));
  const Duration patience = options.duration("patience_ns", "how long an application keeps the GPU without a launch",
                                             Duration(50'000), Duration(0), Duration(1'000'000'000));
  return std::make_unique<RoundRobin>(quantum, patience);
}

}  // namespace gpushare
