// SPDX-License-Identifier: Apache-2.0
#include "core/partitioning/sm_ranges.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/kernel_rates/launch_rate.hpp"
#include "core/model/residency.hpp"
#include "core/partitioning/sm_partition.hpp"

namespace gpushare {
namespace {

/// The weight of the second term, which decides between partitions with equal first terms.
constexpr double second_weight = 0.1;
/// Eight launches need fewer evaluations; for sixty, an unlimited search would take minutes.
constexpr int most_questions = 5'000;

class SmDivision {
 public:
  SmDivision(const Device& device, std::span<const Launch* const> launches, RangeGoal goal)
      : device_(device), launches_(launches), goal_(goal) {
    for (const Launch* launch : launches) {
      kernels_.push_back(&launch->kernel);
      residencies_.push_back(max_residency(device, launch->kernel.needs));
      alone_.push_back(launch_rate_alone(device, *launch));
    }
  }

  /// From equal parts, moves SMs from one launch to another as long as that gains, in steps that are halved.
  std::vector<int> best() {
    std::vector<int> sms = even_parts(launches_.size(), device_.sms);
    double worth = worth_of(sms);
    for (int step = std::max(device_.sms / 4, 1); step > 0; step /= 2) {
      while (improve(sms, worth, step)) {
      }
    }
    return sms;
  }

 private:
  bool improve(std::vector<int>& sms, double& worth, int step) {
    if (questions_ >= most_questions) return false;
    std::vector<int> best = sms;
    for (std::size_t from = 0; from < sms.size(); ++from) {
      for (std::size_t to = 0; to < sms.size(); ++to) {
        if (from == to || sms[from] <= step) continue;
        std::vector<int> moved = sms;
        moved[from] -= step;
        moved[to] += step;
        ++questions_;
        const double found = worth_of(moved);
        if (found <= worth) continue;
        worth = found;
        best = std::move(moved);
      }
    }
    return std::exchange(sms, best) != best;
  }

  double worth_of(const std::vector<int>& sms) const {
    std::vector<SmGroup> groups;
    for (std::size_t i = 0; i < sms.size(); ++i) {
      const auto own = first_round(*launches_[i], residencies_[i], sms[i], i, sms.size());
      groups.insert(groups.end(), own.begin(), own.end());
    }
    const std::vector<double> rates = corun_rates(device_, kernels_, groups);
    std::vector<double> progress;
    for (std::size_t i = 0; i < sms.size(); ++i) {
      const double used = places_used(*launches_[i], residencies_[i], sms[i]);
      progress.push_back(rates[i] * used / alone_[i]);
    }
    const double sum = std::accumulate(progress.begin(), progress.end(), 0.0);
    const double least = std::ranges::min(progress);
    return goal_ == RangeGoal::Throughput ? sum + second_weight * least : least + second_weight * sum;
  }

  const Device& device_;
  std::span<const Launch* const> launches_;
  RangeGoal goal_;
  std::vector<const Kernel*> kernels_;
  std::vector<int> residencies_;
  std::vector<double> alone_;
  int questions_ = 0;
};

}  // namespace

std::vector<int> sm_ranges(const Device& device, std::span<const Launch* const> launches, RangeGoal goal) {
  return SmDivision(device, launches, goal).best();
}

const std::vector<int>& SmRanges::of(const Device& device, std::span<const Launch* const> launches) {
  std::vector<LaunchKey> keys;
  for (const Launch* launch : launches) keys.push_back(key_of(*launch));
  return known_.find_or(keys, [&] { return sm_ranges(device, launches, goal_); });
}

}  // namespace gpushare
