// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_splitter.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gpushare {
namespace {

/// s: copy to the device, k: kernel, r: copy to the host, |: synchronisation.
std::vector<Call> calls_of(const std::string& letters) {
  std::vector<Call> calls;
  for (const char letter : letters) {
    calls.push_back(letter == 's'   ? Call::ToDevice
                    : letter == 'k' ? Call::Launch
                    : letter == 'r' ? Call::ToHost
                                    : Call::Synchronize);
  }
  return calls;
}

/// The calls of each task: "sskr s".
std::string split(const std::string& letters, ToHostRule rule = ToHostRule::EachEndsTask) {
  std::string text;
  for (const TaskCalls& task : tasks_of(calls_of(letters), rule)) {
    text += (text.empty() ? "" : " ") + letters.substr(task.first, task.count);
  }
  return text;
}

TEST(TaskSplitter, CopiesInThenKernelsThenCopiesOutAreOneTask) { EXPECT_EQ(split("sskkkr"), "sskkkr"); }

TEST(TaskSplitter, WhatBreaksTheOrderBeginsANewTask) {
  EXPECT_EQ(split("skskr"), "sk skr");
  EXPECT_EQ(split("krkr"), "kr kr");
  EXPECT_EQ(split("rsk"), "r sk");
}

TEST(TaskSplitter, ByTheTextEveryCopyToTheHostEndsATask) { EXPECT_EQ(split("sskrrsk"), "sskr r sk"); }

TEST(TaskSplitter, CopiesToTheHostMayStayTogether) {
  EXPECT_EQ(split("sskrrsk", ToHostRule::ConsecutiveStayTogether), "sskrr sk");
}

TEST(TaskSplitter, OnlyThatRuleGivesBlackScholesOneTaskAsInTable1) {
  const std::string black_scholes = "sss" + std::string(256, 'k') + "rr";
  EXPECT_EQ(tasks_of(calls_of(black_scholes), ToHostRule::ConsecutiveStayTogether).size(), 1U);
  EXPECT_EQ(tasks_of(calls_of(black_scholes)).size(), 2U);
}

TEST(TaskSplitter, ASynchronisationEndsATaskAndBelongsToNone) { EXPECT_EQ(split("sk|k|r"), "sk k r"); }

TEST(TaskSplitter, NoTaskIsEmpty) {
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split("|||"), "");
  EXPECT_EQ(split("|r||"), "r");
}

TEST(TaskSplitter, SaysThatATaskIsCompleteAsSoonAsItIs) {
  TaskSplitter builder;
  EXPECT_EQ(builder.add(Call::ToDevice), std::nullopt);
  EXPECT_EQ(builder.add(Call::Launch), std::nullopt);
  EXPECT_EQ(builder.add(Call::ToHost), (TaskCalls{.first = 0, .count = 3}));
  EXPECT_EQ(builder.add(Call::ToDevice), std::nullopt);
  EXPECT_EQ(builder.flush(), (TaskCalls{.first = 3, .count = 1}));
  EXPECT_EQ(builder.flush(), std::nullopt);
}

TEST(TaskSplitter, EveryCallIsInOneTaskAndOrderIsKept) {
  std::string letters;
  for (int i = 0; i < 200; ++i) letters += "skr"[i * 7 % 11 % 3];
  std::size_t next = 0;
  for (const TaskCalls& task : tasks_of(calls_of(letters))) {
    EXPECT_EQ(task.first, next);
    EXPECT_GT(task.count, 0U);
    next = task.first + task.count;
  }
  EXPECT_EQ(next, letters.size());
}

}  // namespace
}  // namespace gpushare
