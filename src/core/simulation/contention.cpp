// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/contention.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

/// The least share of the issue slots that older kinds leave: a limit of the model, not a measurement. On an H100 a
/// younger kernel still got 0.004 of them (docs/results/shared-sms.md).
constexpr double least_left = 1e-3;

struct Stage {
  double stall;
  double issue;
};

Stage stage(const BlockCost& cost) {
  return {.stall = nanoseconds(std::max(cost.latency - cost.issue, Duration{})), .issue = nanoseconds(cost.issue)};
}

/// t_k for a given total of issuing blocks A = sum n_j q_j: the positive root of t^2 - (Z + I A) t - I Z = 0.
double time_of_block(const Stage& stage, double issuing) {
  const double linear = stage.stall + stage.issue * issuing;
  return (linear + std::sqrt(linear * linear + 4 * stage.issue * stage.stall)) / 2;
}

/// The fixed point A = sum n_j q_j(A). The sum is concave in A, so the secant from above converges monotonically.
double total_issuing(std::span<const Residents> mix) {
  double issuing = 0;
  for (const Residents& residents : mix) issuing += residents.blocks;
  for (int step = 0; step < 200; ++step) {
    double next = 0;
    double slope = 0;
    for (const Residents& residents : mix) {
      const Stage kind = stage(*residents.cost);
      if (kind.issue == 0) continue;
      const double time = time_of_block(kind, issuing);
      next += residents.blocks * (1 - kind.stall / time);
      // dt/dA from the quadratic: t' (2t - Z - I A) = I t.
      const double growth = kind.issue * time / (2 * time - kind.stall - kind.issue * issuing);
      slope += residents.blocks * kind.stall / (time * time) * growth;
    }
    const double correction = (issuing - next) / std::max(1 - slope, 1e-9);
    issuing = std::max(issuing - correction, 0.0);
    if (std::abs(correction) <= 1e-12 * (1 + issuing)) break;
  }
  return issuing;
}

/// The same for so many blocks of one kind that have this share of the slots for themselves.
double total_issuing(const Stage& slowed, int blocks) {
  const double difference = slowed.stall - slowed.issue * blocks;
  const double root = std::sqrt(difference * difference + 4 * slowed.issue * slowed.stall);
  const double time = (slowed.stall + slowed.issue * blocks + root) / 2;
  return blocks * (1 - slowed.stall / time);
}

/// Duration of a block among `blocks` of its kind, which have this share of the slots.
double time_in_what_is_left(const Stage& kind, int blocks, double left, double longer_in_memory) {
  const Stage slowed{.stall = kind.stall, .issue = kind.issue / left};
  const double issuing = total_issuing(slowed, blocks);
  return time_of_block({.stall = slowed.stall + longer_in_memory, .issue = slowed.issue}, issuing);
}

double left_by(std::span<const OlderKind> older, const MemoryLoad& load) {
  double left = 1;
  for (const OlderKind& kind : older) {
    const double longer = kind.memory * load.delay(kind.misses);
    const double time = time_in_what_is_left({kind.stall, kind.issue}, kind.blocks, left, longer);
    left = std::max(left - kind.blocks * kind.issue / time, least_left);
  }
  return left;
}

MemoryWait wait_of(const Residents& residents, double issuing) {
  const Stage kind = stage(*residents.cost);
  return {.stall = kind.stall, .issue = kind.issue, .issuing = issuing, .memory = nanoseconds(residents.cost->memory)};
}

OlderKind older_kind(const Residents& residents) {
  const Stage kind = stage(*residents.cost);
  return {.stall = kind.stall,
          .issue = kind.issue,
          .memory = nanoseconds(residents.cost->memory),
          .misses = 1 - residents.cost->llc_hit_ratio,
          .blocks = residents.blocks};
}

}  // namespace

std::vector<double> block_times(std::span<const Residents> mix, IssueOrder order) {
  std::vector<double> times;
  times.reserve(mix.size());
  for (const MemoryWait& wait : memory_waits(mix, order)) times.push_back(wait.block_time({}, 0));
  return times;
}

double MemoryWait::block_time(const MemoryLoad& load, double misses) const {
  const double longer = memory * load.delay(misses);
  if (older.empty()) return time_of_block({.stall = stall + longer, .issue = issue}, issuing);
  return time_in_what_is_left({stall, issue}, blocks, left_by(older, load), longer);
}

bool MemoryWait::depends_on_load() const {
  return memory > 0 || std::ranges::any_of(older, [](const OlderKind& kind) { return kind.memory > 0; });
}

std::vector<MemoryWait> memory_waits(std::span<const Residents> mix, IssueOrder order) {
  const bool is_fair = order == IssueOrder::Fair;
  const double issuing = total_issuing(is_fair || mix.empty() ? mix : mix.first(1));
  std::vector<MemoryWait> waits;
  std::vector<OlderKind> older;
  waits.reserve(mix.size());
  for (const Residents& residents : mix) {
    waits.push_back(wait_of(residents, issuing));
    if (is_fair) continue;
    if (!older.empty()) {
      waits.back().older = older;
      waits.back().blocks = residents.blocks;
    }
    older.push_back(older_kind(residents));
  }
  return waits;
}

}  // namespace gpushare
