// SPDX-License-Identifier: Apache-2.0
// Is a kernel bound by the part of the GPU beyond the SMs? (CD-search section 4.1): three classifications and their
// figures.
//
// The off-SM bandwidth model compares the demand of all SMs without waiting (Eq. 1) with what NoC, cache and memory can
// deliver (Eq. 2). Bandwidth utilisation, the paper's baseline, considers the memory alone. The third classification is
// what both try to predict: does the speed saturate with the number of SMs?
//
// Units. Bandwidths are bytes per second. APKI is per thousand instructions, so Eq. 1 needs APKI / 1000. Its #SMs are
// all SMs of the GPU, also while an application has only some of them. Equality counts as compute-bound.
#pragma once

#include "core/model/device.hpp"
#include "core/model/kernel.hpp"

namespace gpushare {

enum class BoundBy { Compute, Memory };

/// A kernel's figures from hardware counters and specifications.
struct CacheAccesses {
  double most_instructions_per_cycle = 0;  ///< IPC_max of one SM, in the instructions that APKI counts
  double per_kilo_instruction = 0;         ///< APKI: accesses to the last-level cache
  double line_bytes = 128;
};

/// Eq. 1 for one SM: the traffic of an SM that issues without any stall.
Bandwidth demand_per_sm(const CacheAccesses& accesses, double clock_hz);

/// The same from a profile: the traffic of one SM, full, while the rest of the GPU is idle. Unlike Eq. 1 it knows that
/// blocks wait for one another and for what they have asked for.
Bandwidth demand_per_sm(const Device& device, const Kernel& kernel);

/// Section 4.1.2: the part of the memory's bandwidth that can be had.
constexpr double usual_dram_efficiency = 0.5;

/// Eq. 2: what can be delivered, infinite where the device sets no limit.
Bandwidth off_sm_supply(const OffSmBandwidth& off_sm, double llc_hit_ratio,
                        double dram_efficiency = usual_dram_efficiency);

/// Memory where all SMs together ask for more than can be delivered.
BoundBy intensity_by_off_sm_model(const Device& device, Bandwidth demand_per_sm, double llc_hit_ratio,
                                  double dram_efficiency = usual_dram_efficiency);
BoundBy intensity_by_off_sm_model(const Device& device, const Kernel& kernel,
                                  double dram_efficiency = usual_dram_efficiency);

/// The share of the memory's bandwidth that a kernel uses on all SMs; 0 where that is no limit.
double dram_utilisation(const Device& device, const Kernel& kernel);

/// A kernel saturates where it has this share of its best speed.
constexpr double saturated_speed = 0.95;
/// A kernel is memory-bound if it saturates before this share of the SMs: one with proportional speed needs 95 % of
/// them.
constexpr double early_sms = 0.75;

/// The fewest SMs on which a kernel has `share` of the best speed that it has on any number of them.
int saturating_sms(const Device& device, const Kernel& kernel, double share = saturated_speed);

BoundBy intensity_by_scaling(const Device& device, const Kernel& kernel);

}  // namespace gpushare
