// SPDX-License-Identifier: Apache-2.0
// Classifies how hard a launch drives the GPU when alone, in Slate's three levels (section III.B.2): its arithmetic
// relative to the device's peak, and its global loads and stores relative to DRAM's.
//
// The paper gives its levels by example only (Table II, on a Titan Xp of 12 150 GFLOP/s and 547.7 GB/s). A threshold
// lies between the largest figure that is labelled lower and the smallest that is labelled higher; within such a
// bracket the choice is ours:
//
//   compute  low | medium   19.6 and 161.3 GFLOP/s   0.0016..0.0133 of peak   0.005
//            medium | high  161.3 and 1525 GFLOP/s   0.0133..0.126            0.04
//   memory   low | medium   71.6 and 340.9 GB/s      0.131..0.622             0.3
//            medium | high  403.5 and 568.6 GB/s     0.737..1.038             0.75
//
// The compute thresholds are near the geometric middle. Memory's upper one is lower in its bracket, because a plain
// stream does not exceed its GPU's peak and should count as high. Loads and stores count on their way to the cache, as
// in Table II, where a transpose exceeds DRAM's bandwidth.
//
// Where floating-point operations were not counted (or there are none), or no peak is known, the share of the issue
// slots that the kernel keeps busy is used instead. It is another quantity, as any instruction counts, and its
// thresholds are an assumption: Table III has a kernel of low compute at 0.36 instructions per cycle of four (0.09).
#pragma once

#include <optional>

#include "core/model/device.hpp"
#include "core/model/workload.hpp"

namespace gpushare {

enum class Intensity { Low, Medium, High };

/// Where a level ends and the next begins.
struct IntensityThresholds {
  double medium = 0;
  double high = 0;

  Intensity of(double fraction) const {
    return fraction < medium ? Intensity::Low : fraction < high ? Intensity::Medium : Intensity::High;
  }
};

constexpr IntensityThresholds flops_thresholds{.medium = 0.005, .high = 0.04};
constexpr IntensityThresholds issue_thresholds{.medium = 0.2, .high = 0.6};
constexpr IntensityThresholds memory_thresholds{.medium = 0.3, .high = 0.75};

/// The demand of a launch alone, as fractions of the device's capacity.
struct Demand {
  std::optional<double> flops{};  ///< of the single-precision peak, where both are known
  double issue = 0;               ///< of the issue slots
  double memory = 0;              ///< bytes through the cache, of DRAM's bandwidth; 0 where that is not a limit

  Intensity compute_intensity() const { return flops ? flops_thresholds.of(*flops) : issue_thresholds.of(issue); }
  Intensity memory_intensity() const { return memory_thresholds.of(memory); }
};

/// Requires a profiled kernel.
Demand demand_alone(const Device& device, const Launch& launch);

}  // namespace gpushare
