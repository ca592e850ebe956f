// SPDX-License-Identifier: Apache-2.0
// An ordering of work that comes in by and by, as in a session: tasks are what has been issued when they are formed.
#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "core/ordering/ordering_registry.hpp"
#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

/// Applications that issue operations to an ordering, which lets them go. A byte takes a nanosecond.
class OpenTasks {
 public:
  explicit OpenTasks(const std::string& name) : ordering_(make_ordering(name, device_)) {}

  ApplicationId add() {
    streams_.emplace_back();
    return ordering_->add(application_of(std::to_string(streams_.size()), {}));
  }

  void issue(ApplicationId application, std::vector<Operation> operations, std::int64_t now) {
    for (Operation& operation : operations) {
      operations_.push_back(std::move(operation));
      owners_.push_back(application);
      streams_[index(application)].push_back(operations_.size() - 1);
      ordering_->issue(application, operations_.back());
    }
    if (!under_way_[application]) offer_next(application, now);
  }

  /// What goes now, as numbers in the order of issue.
  std::vector<std::size_t> gone(std::int64_t now) {
    std::vector<std::size_t> numbers;
    while (const auto submission = ordering_->next(at(now))) numbers.push_back(index(submission->id));
    return numbers;
  }

  void end(std::size_t number, std::int64_t now) { offer_next(owners_[number], now); }
  void withdraw(ApplicationId application, std::int64_t now) { ordering_->ended(application, at(now)); }

 private:
  static Time at(std::int64_t ns) { return Time(Duration(ns)); }

  void offer_next(ApplicationId application, std::int64_t now) {
    auto& stream = streams_[index(application)];
    under_way_[application] = !stream.empty();
    if (stream.empty()) return ordering_->ended(application, at(now));
    const std::size_t number = stream.front();
    stream.pop_front();
    ordering_->offer(
        {.id = static_cast<OperationId>(number), .application = application, .operation = &operations_[number]},
        at(now));
  }

  Device device_ = small_device();
  std::unique_ptr<Ordering> ordering_;
  std::deque<Operation> operations_;
  std::vector<ApplicationId> owners_;
  std::vector<std::deque<std::size_t>> streams_;
  std::map<ApplicationId, bool> under_way_;
};

using Numbers = std::vector<std::size_t>;

TEST(OpenOrdering, OrdersWhatHasBeenIssuedTogether) {
  OpenTasks tasks("cumas");
  const ApplicationId first = tasks.add();
  const ApplicationId second = tasks.add();
  tasks.issue(first, {copy_to_device(100), launch_of(4, 5)}, 0);
  tasks.issue(second, {copy_to_device(10), launch_of(4, 50)}, 0);
  EXPECT_EQ(tasks.gone(0), Numbers{2}) << "the short copy goes first";
  tasks.end(2, 10);
  EXPECT_EQ(tasks.gone(10), (Numbers{3, 0})) << "its kernel, and beside it the other's copy";
}

TEST(OpenOrdering, WhatIsIssuedLaterIsATaskOfItsOwn) {
  OpenTasks tasks("strings");
  const ApplicationId first = tasks.add();
  const ApplicationId second = tasks.add();
  tasks.issue(first, {copy_to_device(100)}, 0);
  tasks.issue(second, {copy_to_device(30), launch_of(4, 5)}, 0);
  EXPECT_EQ(tasks.gone(0), Numbers{0});
  tasks.issue(first, {launch_of(4, 20)}, 50);
  EXPECT_EQ(tasks.gone(50), Numbers{}) << "it follows the copy";
  tasks.end(0, 100);
  EXPECT_EQ(tasks.gone(100), Numbers{1}) << "the second task has been waiting for longer";
  tasks.end(1, 130);
  EXPECT_EQ(tasks.gone(130), Numbers{2});
  tasks.end(2, 135);
  EXPECT_EQ(tasks.gone(135), Numbers{3});
  tasks.end(3, 155);
  tasks.issue(first, {copy_to_host(7)}, 200);
  EXPECT_EQ(tasks.gone(200), Numbers{4}) << "who has ended may issue again";
}

TEST(OpenOrdering, AWithdrawnApplicationIsNotWaitedFor) {
  OpenTasks tasks("strings");
  const ApplicationId first = tasks.add();
  const ApplicationId second = tasks.add();
  const ApplicationId third = tasks.add();
  for (const ApplicationId each : {first, second, third}) tasks.issue(each, {copy_to_device(10), launch_of(4, 5)}, 0);
  EXPECT_EQ(tasks.gone(0), Numbers{0});
  tasks.withdraw(second, 5);
  EXPECT_EQ(tasks.gone(5), Numbers{});
  tasks.withdraw(first, 8);  // its copy is under way, and ends
  EXPECT_EQ(tasks.gone(10), Numbers{4});
  tasks.end(4, 20);
  EXPECT_EQ(tasks.gone(20), Numbers{5}) << "no kernel of those who went is waited for";
}

TEST(OpenOrdering, ALatecomersCopiesGoBetweenPieces) {
  OpenTasks tasks("cumas:pieces=short:piece_mb=0.0001");
  const ApplicationId first = tasks.add();
  const ApplicationId second = tasks.add();
  tasks.issue(first, {copy_to_device(1000), launch_of(4, 5)}, 0);
  EXPECT_EQ(tasks.gone(0), Numbers{0});
  tasks.issue(second, {copy_to_device(2000), launch_of(4, 5)}, 100);
  EXPECT_EQ(tasks.gone(100), Numbers{});
  tasks.withdraw(second, 150);
  tasks.issue(tasks.add(), {copy_to_device(20), launch_of(4, 5)}, 200);
  EXPECT_EQ(tasks.gone(200), Numbers{4});
}

}  // namespace
}  // namespace gpushare
