// SPDX-License-Identifier: Apache-2.0
#include "core/simulation/memory_load.hpp"

#include <algorithm>
#include <cmath>

namespace gpushare {
namespace {

constexpr double fullest = 1 - 1e-9;
constexpr double tolerance = 1e-7;
constexpr int most_rounds = 60;

double cache_bytes(const Traffic& traffic) { return traffic.bytes; }
double dram_bytes(const Traffic& traffic) { return traffic.dram_bytes(); }

/// Bytes per nanosecond; 0: no limit.
double narrower(Bandwidth first, Bandwidth second) {
  if (first.bytes_per_second <= 0 || second.bytes_per_second <= 0) {
    return std::max({first.bytes_per_second, second.bytes_per_second, 0.0}) * 1e-9;
  }
  return std::min(first.bytes_per_second, second.bytes_per_second) * 1e-9;
}

/// The root of a falling function between 0 and a full pipe, by the Illinois variant of false position.
template <typename Excess>
double root(const Excess& excess) {
  double low = 0;
  double high = fullest;
  double above = excess(low);
  if (above <= 0) return 0;
  double below = excess(high);
  if (below >= 0) return fullest;
  for (int round = 0, side = 0; round < most_rounds && high - low > tolerance; ++round) {
    const double middle = low + (high - low) * above / (above - below);
    const double value = excess(middle);
    if (std::abs(value) < tolerance) return middle;
    if (value > 0) {
      low = middle;
      above = value;
      if (side > 0) below /= 2;
      side = 1;
    } else {
      high = middle;
      below = value;
      if (side < 0) above /= 2;
      side = -1;
    }
  }
  return (low + high) / 2;
}

/// All traffic, and what delays each group of SMs.
struct Demand {
  std::span<const Traffic> traffics;
  std::span<const double> shares;
  std::vector<MemoryLoad> loads;

  /// Bytes per nanosecond that one traffic moves through a pipe.
  double used(std::size_t i, double (*bytes)(const Traffic&)) const {
    const Traffic& each = traffics[i];
    const bool waits = each.wait.depends_on_load();
    return each.blocks * bytes(each) /
           (waits ? loaded_block_time(each, loads[each.group]) : each.block_time / shares[i]);
  }
};

/// One queue for all.
class DramQueue {
 public:
  explicit DramQueue(double capacity) : capacity_(capacity) {}

  /// Sets the delay to what the utilisation makes of it, the cache's being given. Returns how much the utilisation has
  /// changed.
  double settle(Demand& demand, const LoadDelay& delay) {
    if (capacity_ == 0) return 0;
    const double before = utilisation_;
    utilisation_ = root([&](double utilisation) {
      set(demand, delay.at(utilisation));
      return used(demand) / capacity_ - utilisation;
    });
    set(demand, delay.at(utilisation_));
    return std::abs(utilisation_ - before);
  }

 private:
  static void set(Demand& demand, double delay) {
    for (MemoryLoad& load : demand.loads) load.dram_delay = delay;
  }
  static double used(const Demand& demand) {
    double sum = 0;
    for (std::size_t i = 0; i < demand.traffics.size(); ++i) sum += demand.used(i, dram_bytes);
    return sum;
  }

  double capacity_;
  double utilisation_ = 0;
};

/// A queue for every SM, served in turn: each group of SMs has a utilisation of its own, in which those that ask for
/// more count as if they asked for as much as it does.
class CachePorts {
 public:
  CachePorts(double capacity, const Demand& demand) : capacity_(capacity), groups_(demand.loads.size()) {
    for (std::size_t i = 0; i < demand.traffics.size(); ++i) {
      Group& group = groups_[demand.traffics[i].group];
      group.sms = demand.traffics[i].sms;
      group.traffics.push_back(i);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].traffics.empty()) order_.push_back(i);
    }
    for (const std::size_t i : order_) groups_[i].used = used(groups_[i], demand);
  }

  /// Like that of DRAM, one group after the other, beginning with the groups that ask for least per SM: what they get
  /// does not depend on the others.
  double settle(Demand& demand, const LoadDelay& delay) {
    if (capacity_ == 0) return 0;
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return groups_[i].used / groups_[i].sms; });
    double settled = 0;
    double sms_left = 0;
    double change = 0;
    for (const std::size_t i : order_) sms_left += groups_[i].sms;
    for (const std::size_t i : order_) {
      Group& group = groups_[i];
      double& cache_delay = demand.loads[i].cache_delay;
      const double utilisation = root([&](double guess) {
        cache_delay = delay.at(guess);
        return (settled + used(group, demand) * (sms_left / group.sms)) / capacity_ - guess;
      });
      cache_delay = delay.at(utilisation);
      group.used = used(group, demand);
      settled += group.used;
      sms_left -= group.sms;
      change = std::max(change, std::abs(utilisation - group.utilisation));
      group.utilisation = utilisation;
    }
    return change;
  }

 private:
  struct Group {
    int sms = 1;
    double used = 0;  // bytes per nanosecond
    double utilisation = 0;
    std::vector<std::size_t> traffics{};
  };

  static double used(const Group& group, const Demand& demand) {
    double sum = 0;
    for (const std::size_t i : group.traffics) sum += demand.used(i, cache_bytes);
    return sum;
  }

  double capacity_;
  std::vector<Group> groups_;
  std::vector<std::size_t> order_;  // groups that are there
};

}  // namespace

std::vector<MemoryLoad> memory_loads(std::span<const Traffic> traffics, std::span<const double> shares,
                                     const OffSmBandwidth& off_sm) {
  std::size_t groups = 0;
  for (const Traffic& each : traffics) groups = std::max(groups, each.group + 1);
  Demand demand{.traffics = traffics, .shares = shares, .loads = std::vector<MemoryLoad>(groups)};
  CachePorts cache(narrower(off_sm.noc, off_sm.llc), demand);
  DramQueue dram(narrower(off_sm.dram, {}));
  for (int round = 0; round < most_rounds; ++round) {
    const double change = std::max(dram.settle(demand, off_sm.delay), cache.settle(demand, off_sm.delay));
    if (change < 1e-6) break;
  }
  return demand.loads;
}

double loaded_block_time(const Traffic& traffic, const MemoryLoad& load) {
  return traffic.wait.block_time(load, 1 - traffic.llc_hit_ratio);
}

}  // namespace gpushare
