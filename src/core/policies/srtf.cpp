// SPDX-License-Identifier: Apache-2.0
// Shortest remaining time first (SRTF section 5.1.1). A newcomer is sampled on one SM; as soon as enough of its blocks
// have ended, the launch with the shortest predicted remaining time gets every SM at block boundary. Predictions are
// refined as blocks end, and the GPU switches back when they change the order.
//
// The paper leaves open what "a sufficient number" of blocks is. Here it is one block that had the SM without blocks of
// other launches (own_sm_blocks.hpp). A launch that is the shortest even by the times of blocks beside others gets the
// GPU earlier, and one without any ended block goes first where some SM never becomes free of other launches.
// `predictor=simple-slicing` is the paper's: the first block counts, until the next arrival or end of a launch.
//
// The paper's kernels are launched once. One that is launched again is not sampled anew, unless remember=no.
//
// Suits: short launches among long ones, when block times are much shorter than launches. Fails: behind very long
// blocks, where sampling and hand-off both wait for one to end; and it is unfair to the longer of two equal launches.
#include "core/policy_support/options.hpp"
#include "core/policy_support/ranking.hpp"
#include "core/policy_support/sampling.hpp"
#include "core/predictors/own_sm_blocks.hpp"
#include "core/predictors/simple_slicing.hpp"

namespace gpushare {
namespace {

/// The running launch continues unless another one needs less than `worth_a_change` of its time, because both pay for a
/// hand-over.
struct OwnBlocks : OwnSmBlocks {
  using OwnSmBlocks::OwnSmBlocks;
  static constexpr double worth_a_change = 0.9;
};

/// The paper's predictor, to which its first sample is certain.
struct FirstBlock : SimpleSlicing {
  static constexpr double worth_a_change = 1;
  bool has_certain_sample(const RunningLaunch& launch) const { return has_sample(launch); }
};

template <typename Predictor>
class Srtf : public Policy {
 public:
  explicit Srtf(Predictor predictor) : predictor_(std::move(predictor)) {}

  void observe(const Event& event, const State& state) override {
    predictor_.observe(event, state);
    is_due_ |= wants(event);
    if (event.next_is_known || !std::exchange(is_due_, false)) return;
    const RunningLaunch* shortest = shortest_sampled(state, *this);
    first_ = shortest == nullptr ? std::nullopt : std::optional(shortest->id);
  }

  bool wants(const Event& event) const override { return Policy::wants(event) || predictor_.changed(); }

  Plan decide(const State& state) const override {
    const RunningLaunch* first = first_ ? state.find(*first_) : nullptr;
    const auto has_any = [&](const RunningLaunch& launch) { return has_sample(launch); };
    const bool all_have = std::ranges::all_of(state.running(), has_any);
    const auto is_sampled = [&](const RunningLaunch& launch) {
      return &launch == first || (all_have ? is_known(launch) : has_sample(launch));
    };
    if (auto sampling = sampling_plan(state, first, *this, is_sampled)) return *std::move(sampling);
    return ranked_by(state, [&](const RunningLaunch& launch) { return remaining(launch); });
  }

  bool has_sample(const RunningLaunch& launch) const { return predictor_.has_sample(launch); }

  /// As it counts in comparisons.
  Duration remaining(const RunningLaunch& launch) const {
    const Duration remaining = predictor_.remaining(launch);
    if (launch.id != first_) return remaining;
    return Duration(static_cast<Duration::rep>(Predictor::worth_a_change * nanoseconds(remaining)));
  }

 private:
  /// Where no block is left to start, none can tell more.
  bool is_known(const RunningLaunch& launch) const {
    return predictor_.has_certain_sample(launch) || (launch.unstarted() == 0 && predictor_.has_sample(launch));
  }

  Predictor predictor_;
  std::optional<OperationId> first_;
  bool is_due_ = false;  // the first launch is chosen anew after the last known event
};

}  // namespace

std::unique_ptr<Policy> make_srtf(const PolicyOptions& options) {
  const std::string predictor = options.word(
      "predictor", "what the remaining time is predicted from; simple-slicing is the predictor of the paper",
      {"own-blocks", "simple-slicing"});
  if (predictor == "simple-slicing") return std::make_unique<Srtf<FirstBlock>>(FirstBlock());
  const bool remembers =
      options.word("remember", "is the block time of a kernel kept for its next launch, which is then not sampled",
                   {"yes", "no"}) == "yes";
  return std::make_unique<Srtf<OwnBlocks>>(OwnBlocks(remembers));
}

}  // namespace gpushare
