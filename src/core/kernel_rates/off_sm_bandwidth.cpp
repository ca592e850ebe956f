// SPDX-License-Identifier: Apache-2.0
#include "core/kernel_rates/off_sm_bandwidth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernel_rates/corun.hpp"
#include "core/model/residency.hpp"

namespace gpushare {
namespace {

constexpr double nanoseconds_per_second = 1e9;

double limit(Bandwidth bandwidth) {
  return bandwidth.bytes_per_second > 0 ? bandwidth.bytes_per_second : std::numeric_limits<double>::infinity();
}

/// A share of a limit; none of an infinite one is nothing.
double part(double limit, double share) { return share > 0 ? limit * share : 0; }

}  // namespace

Bandwidth demand_per_sm(const CacheAccesses& accesses, double clock_hz) {
  const double per_instruction = accesses.per_kilo_instruction / 1000;
  return {accesses.most_instructions_per_cycle * per_instruction * accesses.line_bytes * clock_hz};
}

Bandwidth demand_per_sm(const Device& device, const Kernel& kernel) {
  const double blocks_per_ns = rate_alone(device, kernel, 1, max_residency(device, kernel.needs));
  return {static_cast<double>(kernel.cost.off_sm.count) * blocks_per_ns * nanoseconds_per_second};
}

Bandwidth off_sm_supply(const OffSmBandwidth& off_sm, double llc_hit_ratio, double dram_efficiency) {
  const double from_cache = part(limit(off_sm.llc), llc_hit_ratio);
  const double from_memory = part(limit(off_sm.dram), (1 - llc_hit_ratio) * dram_efficiency);
  return {std::min(limit(off_sm.noc), from_cache + from_memory)};
}

BoundBy intensity_by_off_sm_model(const Device& device, Bandwidth demand_per_sm, double llc_hit_ratio,
                                  double dram_efficiency) {
  const double demand = demand_per_sm.bytes_per_second * device.sms;
  const bool is_met = demand <= off_sm_supply(device.off_sm, llc_hit_ratio, dram_efficiency).bytes_per_second;
  return is_met ? BoundBy::Compute : BoundBy::Memory;
}

BoundBy intensity_by_off_sm_model(const Device& device, const Kernel& kernel, double dram_efficiency) {
  return intensity_by_off_sm_model(device, demand_per_sm(device, kernel), kernel.cost.llc_hit_ratio, dram_efficiency);
}

double dram_utilisation(const Device& device, const Kernel& kernel) {
  if (device.off_sm.dram.bytes_per_second <= 0) return 0;
  const double missing = static_cast<double>(kernel.cost.off_sm.count) * (1 - kernel.cost.llc_hit_ratio);
  return missing * rate_alone(device, kernel) * nanoseconds_per_second / device.off_sm.dram.bytes_per_second;
}

int saturating_sms(const Device& device, const Kernel& kernel, double share) {
  const int residency = max_residency(device, kernel.needs);
  std::vector<double> rates;
  for (int sms = 1; sms <= device.sms; ++sms) rates.push_back(rate_alone(device, kernel, sms, residency));
  const double enough = share * std::ranges::max(rates);
  const auto first = std::ranges::find_if(rates, [&](double rate) { return rate >= enough; });
  return static_cast<int>(first - rates.begin()) + 1;
}

BoundBy intensity_by_scaling(const Device& device, const Kernel& kernel) {
  const int residency = max_residency(device, kernel.needs);
  const int early = std::max(static_cast<int>(std::ceil(early_sms * device.sms)) - 1, 1);
  const double on_all = rate_alone(device, kernel, device.sms, residency);
  return rate_alone(device, kernel, early, residency) >= saturated_speed * on_all ? BoundBy::Memory : BoundBy::Compute;
}

}  // namespace gpushare
