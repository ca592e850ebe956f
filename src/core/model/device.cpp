// SPDX-License-Identifier: Apache-2.0
#include "core/model/device.hpp"

#include <cmath>

#include "core/model/errors.hpp"

namespace gpushare {
namespace {

void require_positive(const Device& device, const char* field, double value) {
  require(std::isfinite(value) && value > 0,
          "device '" + device.name + "': " + field + " must be a positive number, got " + std::to_string(value));
}

/// Far beyond any GPU: within these limits the core's integers hold every sum and product of a device's figures.
constexpr double least_clock_hz = 1e3;
constexpr int most_sms = 1 << 16;
constexpr int largest_unit = 1 << 14;

void require_at_most(const Device& device, const char* field, int value, int most) {
  require(value <= most, "device '" + device.name + "': " + field + " must be at most " + std::to_string(most) +
                             ", got " + std::to_string(value));
}

void require_not_negative(const Device& device, const char* field, double value) {
  require(std::isfinite(value) && value >= 0,
          "device '" + device.name + "': " + field + " must not be negative, got " + std::to_string(value));
}

void validate(const Device& device, const CoRunTuning& tuning) {
  require_not_negative(device, "tuning.plan_latency", nanoseconds(tuning.plan_latency));
  require_not_negative(device, "tuning.allocation_settling", nanoseconds(tuning.allocation_settling));
  require_not_negative(device, "tuning.switch_cost", nanoseconds(tuning.switch_cost));
  require_not_negative(device, "tuning.longest_backlog", nanoseconds(tuning.longest_backlog));
  require_positive(device, "tuning.gain_of_unequal_parts", tuning.gain_of_unequal_parts);
  require_positive(device, "tuning.gain_of_sharing", tuning.gain_of_sharing);
  require_positive(device, "tuning.gain_of_doubtful_co_running", tuning.gain_of_doubtful_co_running);
  require_positive(device, "tuning.gain_of_serial_whole", tuning.gain_of_serial_whole);
}

void validate(const Device& device, const RuntimeTuning& runtime) {
  require_not_negative(device, "runtime.shortest_poll_wait", nanoseconds(runtime.shortest_poll_wait));
  require_not_negative(device, "runtime.longest_poll_wait", nanoseconds(runtime.longest_poll_wait));
  require_not_negative(device, "runtime.late_poll", nanoseconds(runtime.late_poll));
  require_not_negative(device, "runtime.late_poll_with_place", nanoseconds(runtime.late_poll_with_place));
  require_positive(device, "runtime.time_for_events", nanoseconds(runtime.time_for_events));
  require_positive(device, "runtime.first_top_up_patience", nanoseconds(runtime.first_top_up_patience));
  require_positive(device, "runtime.longest_top_up_patience", nanoseconds(runtime.longest_top_up_patience));
  require_not_negative(device, "runtime.work_per_claim", nanoseconds(runtime.work_per_claim));
  require_not_negative(device, "runtime.brief_launch", nanoseconds(runtime.brief_launch));
  require_not_negative(device, "runtime.longest_passing", nanoseconds(runtime.longest_passing));
  require_not_negative(device, "runtime.short_block", nanoseconds(runtime.short_block));
  require_positive(device, "runtime.partition_worth", nanoseconds(runtime.partition_worth));
}

}  // namespace

void validate(const Device& device) {
  require_positive(device, "sms", device.sms);
  require_at_most(device, "sms", device.sms, most_sms);
  require_positive(device, "clock_hz", device.clock_hz);
  require(device.clock_hz >= least_clock_hz,
          "device '" + device.name + "': clock_hz must be at least 1000, got " + std::to_string(device.clock_hz));
  require_positive(device, "per_sm.threads", device.per_sm.threads);
  require_positive(device, "per_sm.warps", device.per_sm.warps);
  require_positive(device, "per_sm.blocks", device.per_sm.blocks);
  require_positive(device, "per_sm.registers", device.per_sm.registers);
  require_not_negative(device, "per_sm.shared_memory", static_cast<double>(device.per_sm.shared_memory.count));
  require_positive(device, "granularity.threads_per_warp", device.granularity.threads_per_warp);
  require_positive(device, "granularity.registers_per_warp", device.granularity.registers_per_warp);
  require_positive(device, "granularity.warps", device.granularity.warps);
  require_positive(device, "granularity.shared_memory", static_cast<double>(device.granularity.shared_memory.count));
  require_at_most(device, "granularity.threads_per_warp", device.granularity.threads_per_warp, largest_unit);
  require_at_most(device, "granularity.registers_per_warp", device.granularity.registers_per_warp, largest_unit);
  require_not_negative(device, "granularity.reserved_shared_memory",
                       static_cast<double>(device.granularity.reserved_shared_memory.count));
  require_not_negative(device, "off_sm.noc", device.off_sm.noc.bytes_per_second);
  require_not_negative(device, "off_sm.llc", device.off_sm.llc.bytes_per_second);
  require_not_negative(device, "off_sm.dram", device.off_sm.dram.bytes_per_second);
  require_not_negative(device, "off_sm.delay.linear", device.off_sm.delay.linear);
  require_not_negative(device, "off_sm.delay.saturating", device.off_sm.delay.saturating);
  require_positive(device, "to_device.bandwidth", device.to_device.bandwidth.bytes_per_second);
  require_positive(device, "to_host.bandwidth", device.to_host.bandwidth.bytes_per_second);
  require_not_negative(device, "peer.bandwidth", device.peer.bandwidth.bytes_per_second);
  require_not_negative(device, "peer.latency", nanoseconds(device.peer.latency));
  require_not_negative(device, "to_device.latency", nanoseconds(device.to_device.latency));
  require_not_negative(device, "to_host.latency", nanoseconds(device.to_host.latency));
  require_not_negative(device, "delays.launch", nanoseconds(device.delays.launch));
  require_not_negative(device, "delays.signal", nanoseconds(device.delays.signal));
  require_not_negative(device, "delays.relaunch", nanoseconds(device.delays.relaunch));
  require_not_negative(device, "delays.block_dispatch", nanoseconds(device.delays.block_dispatch));
  require_not_negative(device, "delays.completion", nanoseconds(device.delays.completion));
  require_not_negative(device, "delays.top_up", nanoseconds(device.delays.top_up));
  require_not_negative(device, "delays.follow", nanoseconds(device.delays.follow));
  require_not_negative(device, "memory", static_cast<double>(device.memory.count));
  validate(device, device.tuning);
  validate(device, device.runtime);
}

}  // namespace gpushare
