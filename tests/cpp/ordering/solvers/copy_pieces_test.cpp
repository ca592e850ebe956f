// SPDX-License-Identifier: Apache-2.0
// Copies in pieces: who may go in between, when, and what it costs. A byte takes a nanosecond, pieces have 100 bytes.
#include "core/ordering/solvers/copy_pieces.hpp"

#include <gtest/gtest.h>

#include "core/trace/metrics.hpp"
#include "ordering/ordered_run.hpp"
#include "sample_workloads.hpp"
#include "trace_promises.hpp"

namespace gpushare {
namespace {

using namespace test;

Trace pieces_run(const Device& device, const Workload& workload, const std::string& ordering,
                 UsageMeter* meter = nullptr) {
  return ordered_run(device, workload, ordering + "+fifo", meter);
}

std::string in_pieces(const std::string& who) { return "strings:pieces=" + who + ":piece_mb=0.0001"; }

Application copying(const std::string& name, std::int64_t bytes, std::int64_t arrival_ns = 0, int priority = 0) {
  Application application = application_of(name, {copy_to_device(bytes), launch_of(4, 5)}, arrival_ns);
  application.priority = priority;
  return application;
}

/// Ends of the copies of a long application, and of a short one that comes after 250 ns.
std::pair<std::int64_t, std::int64_t> ends(const std::string& ordering, int short_priority = 0) {
  const Workload workload{.applications = {copying("long", 1000), copying("short", 10, 250, short_priority)}};
  const Trace trace = pieces_run(small_device(), workload, ordering);
  return {end_of(trace, 0), end_of(trace, 2)};
}

TEST(CopyPieces, AShorterTaskComesInBetween) {
  EXPECT_EQ(ends("strings"), std::pair(1000L, 1010L));
  EXPECT_EQ(ends(in_pieces("no")), std::pair(1000L, 1010L));
  EXPECT_EQ(ends(in_pieces("short")), std::pair(1010L, 310L)) << "after the piece that was under way";
}

TEST(CopyPieces, AnUrgentTaskDoesAndALessUrgentOneDoesNot) {
  EXPECT_EQ(ends(in_pieces("urgent"), 1), std::pair(1010L, 310L));
  EXPECT_EQ(ends(in_pieces("urgent"), 0), std::pair(1010L, 310L)) << "among equals the shorter";
  EXPECT_EQ(ends(in_pieces("urgent"), -1), std::pair(1000L, 1010L));
}

TEST(CopyPieces, ALongUrgentTaskInterruptsAShorterOne) {
  const Workload workload{.applications = {copying("first", 400), copying("urgent", 700, 150, 1)}};
  EXPECT_EQ(end_of(pieces_run(small_device(), workload, in_pieces("urgent")), 2), 900);
  EXPECT_EQ(end_of(pieces_run(small_device(), workload, in_pieces("short")), 2), 1100);
}

TEST(CopyPieces, AnInterruptingCopyCanBeInterrupted) {
  const Workload workload{.applications = {copying("a", 2000), copying("b", 500, 150), copying("c", 20, 250)}};
  const Trace trace = pieces_run(small_device(), workload, in_pieces("short"));
  EXPECT_EQ(end_of(trace, 4), 320);
  EXPECT_EQ(end_of(trace, 2), 720);
  EXPECT_EQ(end_of(trace, 0), 2520);
}

TEST(CopyPieces, WhatIsLeftCounts) {
  // After 850 ns the long copy has less left than the other needs.
  const Workload workload{.applications = {copying("long", 1000), copying("other", 300, 850)}};
  EXPECT_EQ(end_of(pieces_run(small_device(), workload, in_pieces("short")), 2), 1300);
}

TEST(CopyPieces, ResultsComeInBetweenToo) {
  const Workload workload{.applications = {application_of("long", {launch_of(4, 10), copy_to_host(1000)}),
                                           application_of("short", {launch_of(4, 5), copy_to_host(20)}, 120)}};
  const Trace trace = pieces_run(small_device(), workload, in_pieces("short"));
  EXPECT_EQ(end_of(trace, 3), 230);
  EXPECT_EQ(end_of(trace, 1), 1030);
}

TEST(CopyPieces, KernelsOfAnInterruptingApplicationGoFirst) {
  const Workload workload{.applications = {application_of("long", {copy_to_device(500), launch_of(4, 100)}),
                                           application_of("short", {copy_to_device(50), launch_of(4, 900)}, 150)}};
  const Trace trace = pieces_run(small_device(), workload, in_pieces("short"));
  EXPECT_EQ(end_of(trace, 3), 1150);
  EXPECT_EQ(end_of(trace, 1), 1250);
}

TEST(CopyPieces, AnOrderOfTasksThatWereThereStays) {
  // 'b' is shorter, but the order was found with both known.
  const Workload workload{.applications = {copying("a", 1000), copying("b", 10)}};
  const Trace trace = pieces_run(small_device(), workload, in_pieces("short"));
  EXPECT_EQ(end_of(trace, 0), 1000);
  EXPECT_EQ(end_of(trace, 2), 1010);
}

TEST(CopyPieces, EachTakesTheLatency) {
  Device device = small_device();
  device.to_device.latency = Duration(7);
  const Workload workload{.applications = {copying("a", 1000)}};
  EXPECT_EQ(end_of(pieces_run(device, workload, in_pieces("short")), 0), 1070);
  EXPECT_EQ(end_of(pieces_run(device, workload, "strings"), 0), 1007);
}

TEST(CopyPieces, SeveralAtATimeCostLessAndLetOthersWaitLonger) {
  Device device = small_device();
  device.to_device.latency = Duration(7);
  const Workload workload{.applications = {copying("long", 1000), copying("short", 10, 250)}};
  // One at a time: pieces end every 107 ns, and the short one's copy takes 17.
  const Trace one = pieces_run(device, workload, in_pieces("short"));
  EXPECT_EQ(end_of(one, 2), 3 * 107 + 17);
  EXPECT_EQ(end_of(one, 0), 10 * 107 + 17);
  // Two: the first latency alone is seen, and when the short one comes the next piece is on its way.
  const Trace two = pieces_run(device, workload, in_pieces("short") + ":pieces_at_a_time=2");
  EXPECT_EQ(end_of(two, 2), 7 + 400 + 10);
  EXPECT_EQ(end_of(two, 0), 7 + 1000 + 10);
}

TEST(CopyPieces, TheEngineIsNotBusyTwice) {
  const Workload workload{.applications = {copying("long", 1000), copying("short", 10, 250)}};
  UsageMeter meter(small_device(), workload);
  pieces_run(small_device(), workload, in_pieces("short"), &meter);
  EXPECT_EQ(meter.to_device_busy(), Duration(1010));
  EXPECT_EQ(meter.operation_durations()[0], Duration(1010));
  EXPECT_EQ(meter.operation_durations()[2], Duration(10));
}

TEST(CopyPieces, TheirSizeFollowsFromWhatMayBeLost) {
  const TransferTime copies(CopyEngine{.latency = Duration(10'000), .bandwidth = {50e9}});
  for (const double loss : {0.01, 0.05, 0.1, 0.2}) {
    const Bytes piece = copies.piece_losing(loss);
    EXPECT_EQ(piece.count % 65536, 0);
    const double share = 10'000.0 / nanoseconds(copies.of(piece));
    EXPECT_LE(share, loss);
    const Bytes smaller{piece.count - 65536};
    ASSERT_GT(smaller.count, 0);
    EXPECT_GT(10'000.0 / nanoseconds(copies.of(smaller)), loss);
  }
  EXPECT_EQ(copies.of(Bytes{1'000'000}, Bytes{300'000}), Duration(20'000 + 4 * 10'000));
}

TEST(CopyPieces, EveryPromiseHoldsWithLatecomers) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const Device device = random_device(dice);
    const Workload workload = random_workload(dice, device, dice.between(2, 7));
    const std::string who = dice.once_in(2) ? "short" : "urgent";
    const std::string options = ":pieces=" + who + ":piece_mb=0.000" + std::to_string(dice.between(1, 9)) +
                                ":window=" + std::to_string(dice.between(1, 4)) +
                                ":kernels=" + std::to_string(dice.between(1, 3)) +
                                ":pieces_at_a_time=" + std::to_string(dice.between(1, 3));
    for (const char* ordering : {"strings", "cumas"}) {
      expect_every_promise(pieces_run(device, workload, ordering + options), device, workload);
    }
    expect_every_promise(pieces_run(device, workload, "cumas:memory_gb=0.00004" + options), device, workload);
  }
}

}  // namespace
}  // namespace gpushare
