// SPDX-License-Identifier: Apache-2.0
// What holds under every placement, whatever the devices, the workload and the policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/engine/trace_check.hpp"
#include "placed_run.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

struct Case {
  std::vector<Device> devices;
  Workload workload;
};

/// Devices of one kind, or of several; some applications need more memory than some device has.
Case random_case(std::uint64_t seed) {
  Dice dice(seed);
  Case made;
  const bool are_alike = dice.once_in(2);
  Device device = random_device(dice);
  for (int left = dice.between(1, 4); left > 0; --left) {
    if (!are_alike) device.sms = dice.between(1, 6);
    device.memory = Bytes{dice.once_in(3) ? 0 : dice.between(500, 1000)};
    device.delays = {};
    if (dice.once_in(2)) {
      device.delays = random_delays(dice);
      device.delays.follow = Duration(dice.between(0, 200));
    }
    if (dice.once_in(2))
      device.peer = {.latency = Duration(dice.between(0, 300)), .bandwidth = {dice.between(1, 9) * 1e8}};
    made.devices.push_back(device);
  }
  made.devices.front().memory = Bytes{1000};
  made.workload = random_workload(dice, made.devices.front(), dice.between(2, 12));
  for (Application& each : made.workload.applications) {
    each.memory = Bytes{dice.once_in(4) ? 0 : dice.between(1, 1000)};
    if (dice.once_in(3)) each.arrival = Duration(0);
    for (Operation& operation : each.operations) {
      if (dice.once_in(6)) std::visit([&](auto& of) { of.pace.gap = Duration(dice.between(1, 900)); }, operation);
    }
  }
  return made;
}

class EveryPlacement : public testing::TestWithParam<std::string> {};

TEST_P(EveryPlacement, HasEachApplicationOnOneDeviceAtATimeAndRunsAllOfIt) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto [devices, workload] = random_case(seed);
    const Trace trace = record_placed(devices, workload, GetParam(), seed % 2 == 0 ? "fifo" : "even", seed);
    expect_time_moves_forward(trace);
    for (std::size_t i = 0; i < workload.applications.size(); ++i) {
      const auto stays = stays_of(trace, static_cast<int>(i), devices);
      for (std::size_t stay = 1; stay < stays.size(); ++stay) EXPECT_GE(stays[stay].begin, stays[stay - 1].end);
    }
    std::map<OperationId, int> ends;
    for (const Event& event : trace.events) {
      if (event.kind == EventKind::LaunchEnded || event.kind == EventKind::CopyEnded) ++ends[event.operation];
    }
    EXPECT_EQ(ends.size(), workload.operation_count());
    EXPECT_TRUE(std::ranges::all_of(ends, [](const auto& each) { return each.second == 1; }));
    const std::vector<Trace> by_device = traces_by_device(trace, sms_of(devices));
    for (std::size_t device = 0; device < devices.size(); ++device) {
      expect_no_overcommitment(by_device[device], devices[device], workload);
      if (devices[device].delays.signal == Duration::zero()) {
        expect_quotas_kept(by_device[device], devices[device], workload);
      }
      require_possible(by_device[device], workload, devices[device]);
    }
  }
}

/// An application has its memory from its first operation on a device to its end there, or to the end of its move.
TEST_P(EveryPlacement, NeverTakesMoreMemoryThanADeviceHas) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto [devices, workload] = random_case(seed);
    const Trace trace = record_placed(devices, workload, GetParam(), "fifo", seed);
    const std::vector<Trace> by_device = traces_by_device(trace, sms_of(devices));
    for (std::size_t device = 0; device < devices.size(); ++device) {
      if (devices[device].memory.count == 0) continue;
      std::map<ApplicationId, std::int64_t> taken;
      for (const Event& event : by_device[device].events) {
        if (event.kind == EventKind::LaunchArrived || event.kind == EventKind::CopyStarted) {
          taken[event.application] = workload.applications[index(event.application)].memory.count;
        }
        if (event.kind == EventKind::ApplicationEnded) taken.erase(event.application);
        std::int64_t sum = 0;
        for (const auto& [application, bytes] : taken) sum += bytes;
        ASSERT_LE(sum, devices[device].memory.count);
      }
    }
  }
}

TEST_P(EveryPlacement, GivesTheSameBytesTwice) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto [devices, workload] = random_case(seed);
    EXPECT_EQ(to_bytes(record_placed(devices, workload, GetParam(), "auto", seed)),
              to_bytes(record_placed(devices, workload, GetParam(), "auto", seed)));
  }
}

TEST_P(EveryPlacement, OnOneDeviceIsARunOnThatDevice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto [devices, workload] = random_case(seed);
    devices.resize(1);
    for (const char* policy : {"fifo", "auto", "srtf", "effisha-dynamic"}) {
      const Trace alone = record(devices.front(), workload, policy, seed);
      EXPECT_EQ(to_bytes(record_placed(devices, workload, GetParam(), policy, seed)), to_bytes(alone));
    }
  }
}

/// A policy sees nothing but its own device, so that it decides the same on that device's events alone.
TEST_P(EveryPlacement, LetsEveryPolicyDecideByItsOwnDevice) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const auto [devices, workload] = random_case(seed);
    for (const PolicyEntry& policy : policies()) {
      SCOPED_TRACE(std::string(policy.name) + " " + std::to_string(seed));
      const Trace trace = record_placed(devices, workload, GetParam(), policy.name, seed);
      const std::vector<Trace> by_device = traces_by_device(trace, sms_of(devices));
      for (std::size_t device = 0; device < devices.size(); ++device) {
        const auto again = decide_again(by_device[device], devices[device], workload, *make_policy(policy.name));
        EXPECT_EQ(again, by_device[device].decisions);
      }
    }
  }
}

std::vector<std::string> placement_names() {
  std::vector<std::string> names;
  for (const PlacementEntry& each : placements()) names.emplace_back(each.name);
  names.emplace_back("predicted:gain=0");
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, EveryPlacement, testing::ValuesIn(placement_names()), [](const auto& info) {
  std::string name = info.param;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
});

}  // namespace
}  // namespace gpushare
