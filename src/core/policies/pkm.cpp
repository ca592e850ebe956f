// SPDX-License-Identifier: Apache-2.0
// Kernel slicing, EffiSha's baseline (section 2: the preemptive kernel model of Basaran and Kang, ECRTS 2012): a launch
// runs in slices of K blocks. A slice drains before the next one begins, and only then the GPU may go to another
// launch: the one with the highest priority, equals in order of arrival.
//
// Options: blocks=K; or delay_ns, how long a slice may take, from which K follows by the mean time of the launch's
// blocks, a full wave at least. A launch without an ended block, or with blocks of no time, is in its first slice.
//
// Suits: comparison; preemption at block boundary is better in every case. Fails: short slices leave SMs idle at the
// end of each, and every slice is a new launch; long ones make all others wait.
#include <map>

#include "core/policy_support/options.hpp"
#include "core/policy_support/ranking.hpp"

namespace gpushare {
namespace {

class Pkm : public Policy {
 public:
  explicit Pkm(const PolicyOptions& options)
      : blocks_(
            options.whole("blocks", "blocks of a slice; left out: they follow from delay_ns", 0, 1, 1'000'000'000'000)),
        delay_ns_(nanoseconds(options.duration("delay_ns", "how long a slice may take", Duration(1'000'000),
                                               Duration(1000), Duration(1'000'000'000)))) {
    options.require_not_both("blocks", "delay_ns");
  }

  void observe(const Event& event, const State& state) override {
    changed_ = false;
    const bool is_current = current_ && event.operation == *current_;
    if (event.kind == EventKind::LaunchEnded && is_current) current_.reset();
    if (event.kind == EventKind::LaunchEnded) busy_ns_.erase(event.operation);
    if (event.kind == EventKind::BlockEnded) add_busy(event);
    if (is_current && current_) follow(*state.find(*current_));
    const bool came_in_time = event.kind == EventKind::LaunchArrived && state.now() == began_;
    if ((!current_ || came_in_time) && !state.running().empty()) begin_slice(state);
  }

  bool wants(const Event& event) const override { return Policy::wants(event) || changed_; }

  Plan decide(const State& state) const override {
    if (is_draining_) return {};
    const RunningLaunch& launch = *state.find(*current_);
    return {.shares = {{.launch = launch.id, .quota = quota(launch, state.sms())}}};
  }

 private:
  void add_busy(const Event& ended) {
    busy_ns_[ended.operation] += nanoseconds(ended.time - ended.started) * ended.blocks;
  }

  /// A slice is complete when all its blocks have started and later ended.
  void follow(const RunningLaunch& launch) {
    if (!is_draining_ && launch.started - first_ >= slice(launch)) is_draining_ = changed_ = launch.unstarted() > 0;
    if (is_draining_ && launch.started == launch.done) current_.reset();
  }

  void begin_slice(const State& state) {
    const auto order = sorted_by(state, [](const RunningLaunch& launch) { return -std::int64_t{launch.priority}; });
    current_ = order.front()->id;
    first_ = order.front()->started;
    began_ = state.now();
    is_draining_ = false;
    changed_ = true;
  }

  std::int64_t slice(const RunningLaunch& launch) const {
    if (blocks_ > 0) return blocks_;
    const auto busy = busy_ns_.find(launch.id);
    if (busy == busy_ns_.end() || busy->second == 0) return launch.blocks();
    const auto wave = static_cast<std::int64_t>(launch.per_sm.size()) * launch.max_residency;
    const double waves = delay_ns_ * static_cast<double>(launch.done) / busy->second;
    return waves < 1 ? wave : static_cast<std::int64_t>(waves * static_cast<double>(wave));
  }

  /// The slice's number of blocks, spread over the SMs.
  Quota quota(const RunningLaunch& launch, int sms) const {
    const std::int64_t blocks = slice(launch);
    if (blocks >= std::int64_t{sms} * launch.max_residency) return full_quota(launch);
    std::vector<int> per_sm;
    for (int sm = 0; sm < sms; ++sm) per_sm.push_back(static_cast<int>(blocks / sms + (sm < blocks % sms ? 1 : 0)));
    return Quota::per_sm(std::move(per_sm));
  }

  std::int64_t blocks_;
  double delay_ns_;
  std::optional<OperationId> current_;
  std::int64_t first_ = 0;  // blocks that had started before the slice
  Time began_{};
  bool is_draining_ = false;
  bool changed_ = false;
  std::map<OperationId, double> busy_ns_;  // total time of the launch's blocks that have ended
};

}  // namespace

std::unique_ptr<Policy> make_pkm(const PolicyOptions& options) { return std::make_unique<Pkm>(options); }

}  // namespace gpushare
