// SPDX-License-Identifier: Apache-2.0
// Policies in the thread of their session: what they cannot do there, and what is said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/model/errors.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/session.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using testing::Each;
using testing::SizeIs;

TEST(SessionThread, CannotWaitForItself) {
  Session* own = nullptr;
  std::vector<std::string> refusals;
  const auto refused = [&](auto call) { refusals.push_back(message_of<InvalidInput>(call)); };
  const auto decide = [&](const State& state) {
    if (refusals.empty()) {
      refused([&] { own->status(); });
      refused([&] { own->set_priority(ApplicationId{0}, 1); });
      refused([&] { own->set_policy({}); });
      refused([&] { own->wait(0, Duration(1)); });
      refused([&] { own->wait_for_all(Duration(1)); });
      refused([&] { own->finish(Duration(1)); });
      refused([&] { own->close(); });
    }
    return Plan{.shares = {full_share(state.running().front())}};
  };
  Session session(realtime_device(small_device(), 1, 1.0),
                  [&](const std::shared_ptr<const void>&) { return std::make_unique<ScriptedPolicy>(decide); });
  own = &session;
  EXPECT_TRUE(session.wait(session.submit(session.add({.name = "a"}), launch_of(1, 1000)), std::chrono::seconds(30)));
  EXPECT_THAT(refusals, SizeIs(7));
  EXPECT_THAT(refusals, Each(testing::Not("")));
}

TEST(SessionThread, IsForgottenWhenItHasEnded) {
  for (int trial = 0; trial < 20; ++trial) {
    Session session(realtime_device(small_device(), 1, 1.0),
                    [](const std::shared_ptr<const void>&) { return make_policy("fifo"); });
    session.close();
    std::thread with_its_number([&] { EXPECT_NO_THROW(session.close()); });
    with_its_number.join();
  }
}

TEST(SessionThread, AnExceptionOfAPolicyIsReportedWithItsName) {
  const auto raises = [](const std::shared_ptr<const void>&) {
    return std::make_unique<ScriptedPolicy>([](const State&) -> Plan { throw std::runtime_error("oh"); });
  };
  const auto asks_for_too_much = [](const std::shared_ptr<const void>&) {
    return std::make_unique<ScriptedPolicy>([](const State& state) -> Plan {
      return {.shares = {{.launch = state.running().front().id, .quota = Quota::everywhere(99)}}};
    });
  };
  Session session(realtime_device(small_device(), 1, 1.0), asks_for_too_much, {.policy_name = "greedy"});
  const auto fails_with = [&](auto call) { return message_of<PolicyError>(call); };
  const ApplicationId a = session.add({.name = "a"});
  const JobId job = session.submit(a, launch_of(1, 1000));
  EXPECT_THAT(fails_with([&] { session.wait(job, std::chrono::seconds(30)); }), naming("greedy"));

  Session other(realtime_device(small_device(), 1, 1.0),
                [](const std::shared_ptr<const void>&) { return make_policy("fifo"); });
  other.submit(other.add({.name = "a"}), launch_of(1, 1'000'000'000'000));
  EXPECT_THAT(fails_with([&] { other.set_policy(raises, "broken"); }), naming("broken", "oh"));
  EXPECT_NO_THROW(other.status());
}

}  // namespace
}  // namespace gpushare
