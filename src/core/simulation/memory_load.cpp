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

/// One of the two pipes, with all traffic through it.
class DelayedPipe {
 public:
  DelayedPipe(Bandwidth narrow, Bandwidth other, double (*bytes)(const Traffic&), double MemoryLoad::* delay)
      : capacity_(limit(narrow, other)), bytes_(bytes), delay_(delay) {}

  /// Sets this pipe's delay to what its utilisation makes of it, the other pipe's being given. Returns how much the
  /// utilisation has changed.
  double settle(std::span<const Traffic> traffics, std::span<const double> shares, const LoadDelay& delay,
                MemoryLoad& load) {
    if (capacity_ == 0) return 0;
    const double before = utilisation_;
    utilisation_ = root([&](double utilisation) {
      load.*delay_ = delay.at(utilisation);
      return used(traffics, shares, load) / capacity_ - utilisation;
    });
    load.*delay_ = delay.at(utilisation_);
    return std::abs(utilisation_ - before);
  }

 private:
  static double limit(Bandwidth first, Bandwidth second) {
    if (first.bytes_per_second <= 0 || second.bytes_per_second <= 0) {
      return std::max({first.bytes_per_second, second.bytes_per_second, 0.0}) * 1e-9;
    }
    return std::min(first.bytes_per_second, second.bytes_per_second) * 1e-9;
  }

  /// Bytes per nanosecond.
  double used(std::span<const Traffic> traffics, std::span<const double> shares, const MemoryLoad& load) const {
    double sum = 0;
    for (std::size_t i = 0; i < traffics.size(); ++i) {
      const Traffic& each = traffics[i];
      const double time = each.wait.depends_on_load() ? loaded_block_time(each, load) : each.block_time / shares[i];
      sum += each.blocks * bytes_(each) / time;
    }
    return sum;
  }

  /// Of a falling function, between 0 and a full pipe: the Illinois variant of false position.
  template <typename Excess>
  static double root(const Excess& excess) {
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

  double capacity_;  // bytes per nanosecond; 0: no limit
  double (*bytes_)(const Traffic&);
  double MemoryLoad::* delay_;
  double utilisation_ = 0;
};

}  // namespace

MemoryLoad memory_load(std::span<const Traffic> traffics, std::span<const double> shares,
                       const OffSmBandwidth& off_sm) {
  DelayedPipe cache(off_sm.noc, off_sm.llc, cache_bytes, &MemoryLoad::cache_delay);
  DelayedPipe dram(off_sm.dram, {}, dram_bytes, &MemoryLoad::dram_delay);
  MemoryLoad load;
  for (int round = 0; round < most_rounds; ++round) {
    const double change =
        std::max(dram.settle(traffics, shares, off_sm.delay, load), cache.settle(traffics, shares, off_sm.delay, load));
    if (change < 1e-6) break;
  }
  return load;
}

double loaded_block_time(const Traffic& traffic, const MemoryLoad& load) {
  return traffic.wait.block_time(load, 1 - traffic.llc_hit_ratio);
}

}  // namespace gpushare
