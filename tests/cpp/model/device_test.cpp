// SPDX-License-Identifier: Apache-2.0
#include "core/model/device.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "core/model/errors.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"

namespace gpushare {
namespace {

using namespace test;

TEST(Device, TheSampleDevicesAreValid) {
  for (const Device& device : {small_device(), gtx480_like(), h100_like()}) EXPECT_NO_THROW(validate(device));
}

struct Damage {
  const char* field;
  std::function<void(Device&)> apply;
};

TEST(Device, AnImpossibleFieldIsNamed) {
  const std::vector<Damage> damages{
      {"sms", [](Device& device) { device.sms = 0; }},
      {"clock_hz", [](Device& device) { device.clock_hz = std::numeric_limits<double>::quiet_NaN(); }},
      {"per_sm.threads", [](Device& device) { device.per_sm.threads = -1; }},
      {"per_sm.warps", [](Device& device) { device.per_sm.warps = 0; }},
      {"per_sm.blocks", [](Device& device) { device.per_sm.blocks = 0; }},
      {"per_sm.registers", [](Device& device) { device.per_sm.registers = 0; }},
      {"per_sm.shared_memory", [](Device& device) { device.per_sm.shared_memory = Bytes{-1}; }},
      {"granularity.threads_per_warp", [](Device& device) { device.granularity.threads_per_warp = 0; }},
      {"granularity.registers_per_warp", [](Device& device) { device.granularity.registers_per_warp = 0; }},
      {"granularity.warps", [](Device& device) { device.granularity.warps = 0; }},
      {"granularity.shared_memory", [](Device& device) { device.granularity.shared_memory = Bytes{0}; }},
      {"granularity.reserved_shared_memory",
       [](Device& device) { device.granularity.reserved_shared_memory = Bytes{-1}; }},
      {"off_sm.noc", [](Device& device) { device.off_sm.noc = {-1}; }},
      {"off_sm.llc", [](Device& device) { device.off_sm.llc = {std::numeric_limits<double>::infinity()}; }},
      {"off_sm.dram", [](Device& device) { device.off_sm.dram = {-1}; }},
      {"to_device.bandwidth", [](Device& device) { device.to_device.bandwidth = {0}; }},
      {"to_host.bandwidth", [](Device& device) { device.to_host.bandwidth = {0}; }},
      {"to_device.latency", [](Device& device) { device.to_device.latency = Duration(-1); }},
      {"to_host.latency", [](Device& device) { device.to_host.latency = Duration(-1); }},
      {"delays.launch", [](Device& device) { device.delays.launch = Duration(-1); }},
      {"delays.signal", [](Device& device) { device.delays.signal = Duration(-1); }},
      {"delays.relaunch", [](Device& device) { device.delays.relaunch = Duration(-1); }},
      {"delays.block_dispatch", [](Device& device) { device.delays.block_dispatch = Duration(-1); }},
      {"tuning.plan_latency", [](Device& device) { device.tuning.plan_latency = Duration(-1); }},
      {"tuning.switch_cost", [](Device& device) { device.tuning.switch_cost = Duration(-1); }},
      {"tuning.gain_of_sharing", [](Device& device) { device.tuning.gain_of_sharing = 0; }},
      {"tuning.gain_of_serial_whole",
       [](Device& device) { device.tuning.gain_of_serial_whole = std::numeric_limits<double>::infinity(); }},
      {"runtime.shortest_poll_wait", [](Device& device) { device.runtime.shortest_poll_wait = Duration(-1); }},
      {"runtime.late_poll_with_place", [](Device& device) { device.runtime.late_poll_with_place = Duration(-1); }},
      {"runtime.time_for_events", [](Device& device) { device.runtime.time_for_events = {}; }},
      {"runtime.first_top_up_patience", [](Device& device) { device.runtime.first_top_up_patience = {}; }},
      {"runtime.work_per_claim", [](Device& device) { device.runtime.work_per_claim = Duration(-1); }},
      {"runtime.partition_worth", [](Device& device) { device.runtime.partition_worth = {}; }}};
  for (const Damage& damage : damages) {
    Device device = small_device();
    damage.apply(device);
    const std::string message = message_of<InvalidInput>([&] { validate(device); });
    EXPECT_NE(message.find("'small': " + std::string(damage.field) + " must"), std::string::npos)
        << damage.field << " gave: " << message;
  }
}

TEST(Device, TheValueThatCannotBeIsInTheMessage) {
  Device device = small_device();
  device.sms = -7;
  EXPECT_NE(message_of<InvalidInput>([&] { validate(device); }).find("-7"), std::string::npos);
}

TEST(Device, NoSimulatedGpuIsMadeOfAnImpossibleDevice) {
  Device device = small_device();
  device.per_sm.threads = 0;
  EXPECT_THROW(SimulatedGpu(device, 1), InvalidInput);
}

TEST(Device, NoSimulatedGpuIsMadeOfANegativeNumberOfSms) {
  EXPECT_THROW(SimulatedGpu(small_device(-1), 1), InvalidInput);
}

}  // namespace
}  // namespace gpushare
