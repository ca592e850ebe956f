// SPDX-License-Identifier: Apache-2.0
// What goes on for months sees very many applications come and go: what has gone leaves nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "core/model/errors.hpp"
#include "core/policies/registry.hpp"
#include "core/session/realtime_simulated_gpu.hpp"
#include "core/session/session.hpp"
#include "core/simulation/simulated_gpu.hpp"
#include "messages.hpp"
#include "recorded_run.hpp"
#include "sample_devices.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;
using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::SizeIs;

/// More than there are ids of operations: from then on those come again.
constexpr int enough_to_settle = 6'000;
constexpr int many = 4'000;
/// Of the heap; a pointer per application would be more.
constexpr double most_bytes_each = 4;

double heap_bytes() { return static_cast<double>(mallinfo2().uordblks); }

/// One application stays, and others come one after the other, each with a launch beside it, of a kernel of its own.
class Turnover {
 public:
  explicit Turnover(std::string_view policy) : policy_(make_policy(policy)) { steady_ = add("steady"); }

  void let_come_and_go(int applications) {
    for (int left = applications; left > 0; --left) {
      const ApplicationId passing = add("passing/" + std::to_string(number_++));
      submit(steady_, 5, "steady");
      submit(passing, 3, "passing/" + std::to_string(number_));
      run_until_idle();
      run_.withdraw(passing, gpu_.now());
      EXPECT_THAT(run_.forget_ended(), testing::ElementsAre(passing));
    }
  }
  const OpenRun& run() const { return run_; }

 private:
  ApplicationId add(const std::string& name) { return run_.add({.name = name}, gpu_.now()); }
  void submit(ApplicationId application, std::int64_t blocks, std::string kernel) {
    run_.submit(application, with_alone(launch_of(blocks, 40'000, std::move(kernel)), 80'000), gpu_.now());
  }
  void run_until_idle() {
    for (int looks = 0; looks < 1'000; ++looks) {
      run_.advance();
      if (run_.is_idle()) return;
      ASSERT_TRUE(run_.wake_at()) << run_.waiting();
      run_.reach(gpu_.now());
    }
    FAIL() << run_.waiting();
  }

  Device device_ = small_device(2);
  SimulatedGpu gpu_{device_, 1};
  std::unique_ptr<Policy> policy_;
  OpenRun run_{gpu_, *policy_, std::make_shared<OpenWork>(), {}, EndedWork::IsForgotten};
  ApplicationId steady_{};
  int number_ = 0;
};

class EveryPolicyTurnover : public testing::TestWithParam<std::string> {};

TEST_P(EveryPolicyTurnover, KeepsNothingOfApplicationsThatHaveGoneAndOfKernelsSoMuch) {
  Turnover trial(GetParam());
  trial.let_come_and_go(enough_to_settle);
  const double before = heap_bytes();
  trial.let_come_and_go(many);
  EXPECT_LT((heap_bytes() - before) / many, most_bytes_each);
  EXPECT_THAT(trial.run().streams(), SizeIs(1));
}

std::vector<std::string> names_of_all() {
  std::vector<std::string> names;
  for (const PolicyEntry& each : policies()) names.emplace_back(each.name);
  names.emplace_back("srtf:remember=no");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicyTurnover, testing::ValuesIn(names_of_all()), [](const auto& each) {
  std::string name(each.param);
  std::ranges::replace_if(name, [](char letter) { return letter == '-' || letter == ':' || letter == '='; }, '_');
  return name;
});

/// In wall-clock time.
struct LastingSession {
  LastingSession()
      : session(realtime_device(small_device(2), 1, 1.0),
                [](const std::shared_ptr<const void>& /*world*/) { return make_policy("fifo"); },
                {.keeps_record = false, .most_history = 100}) {}

  ApplicationId let_one_come_and_go() {
    const ApplicationId application = session.add({.name = "passing"});
    EXPECT_TRUE(session.wait(session.submit(application, launch_of(1, 100)), 30s));
    session.withdraw(application);
    return application;
  }
  /// Until the session's thread has seen to all that it was asked for.
  void settle() { EXPECT_THAT(session.status().applications, IsEmpty()); }

  Session session;
};

TEST(SessionTurnover, ASessionKeepsNothingOfApplicationsThatHaveGone) {
  LastingSession trial;
  for (int left = enough_to_settle; left > 0; --left) trial.let_one_come_and_go();
  trial.settle();
  const double before = heap_bytes();
  for (int left = many; left > 0; --left) trial.let_one_come_and_go();
  trial.settle();
  EXPECT_LT((heap_bytes() - before) / many, most_bytes_each);
}

TEST(SessionTurnover, NumbersAreNotReusedAndOldOnesAreInvalid) {
  LastingSession trial;
  const ApplicationId gone = trial.let_one_come_and_go();
  trial.settle();
  const ApplicationId next = trial.session.add({.name = "next"});
  EXPECT_GT(next, gone);
  EXPECT_THROW(trial.session.submit(gone, launch_of(1, 100)), Cancelled);
  trial.session.withdraw(gone);
  trial.session.set_priority(gone, 3);
  EXPECT_THAT(trial.session.status().applications, SizeIs(1));
  EXPECT_TRUE(trial.session.wait(trial.session.submit(next, launch_of(1, 100)), 30s));
  EXPECT_THAT(message_of<InvalidInput>([&] { trial.session.submit(ApplicationId{7}, launch_of(1, 100)); }), naming(7));
}

TEST(SessionTurnover, TheHistoryNamesEndedApplications) {
  LastingSession trial;
  const ApplicationId gone = trial.let_one_come_and_go();
  trial.settle();
  const SessionPast past = trial.session.history(60s);
  ASSERT_THAT(past.operations, SizeIs(1));
  EXPECT_EQ(past.operations[0].application->name, "passing");
  EXPECT_EQ(past.operations[0].application->id, gone);
  ASSERT_THAT(past.holds, SizeIs(2));  // an SM, and then none
  EXPECT_EQ(past.holds[0].sms, 1);
  EXPECT_EQ(past.holds[1].sms, 0);
  EXPECT_EQ(past.holds[1].time, past.operations[0].end);
}

}  // namespace
}  // namespace gpushare
