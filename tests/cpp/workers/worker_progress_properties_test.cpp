// SPDX-License-Identifier: Apache-2.0
// What must hold however workers and looks interleave.
#include <gtest/gtest.h>

#include "core/workers/worker_progress.hpp"
#include "observed_launch.hpp"
#include "worker_model.hpp"

namespace gpushare {
namespace {

using namespace test;

using Report = WorkerProgress::Report;

enum class Looks : std::uint8_t { Whole, Torn };

/// A random host beside random workers: it resizes, evicts, launches more and looks, whenever.
class RandomRun {
 public:
  /// `reports`: what most looks report.
  RandomRun(std::uint64_t seed, Looks looks, Report reports = Report::Everything)
      : dice_(seed),
        looks_(looks),
        reports_(reports),
        sms_(dice_.between(1, 5)),
        blocks_(dice_.between(1, 200)),
        model_(dice_, blocks_, sms_),
        observed_(blocks_, sms_) {
    model_.set_chunk(dice_.between(1, 6));
  }

  void run() {
    for (int turn = dice_.between(1, 60); turn > 0 && model_.done() < blocks_; --turn) {
      model_.steps(dice_.between(0, 120));
      act();
    }
    finish();
  }

 private:
  void act() {
    switch (dice_.between(0, 5)) {
      case 0:
        return model_.set_quota(static_cast<std::size_t>(dice_.between(0, sms_ - 1)), dice_.between(0, 4));
      case 1:
        return set_all_quotas(dice_.once_in(2) ? 0 : dice_.between(1, 4));
      case 2:
        return launch(dice_.between(1, 4 * sms_));
      case 3:
        return dice_.once_in(4) ? evict() : look(some_report());
      default:
        return look(some_report());
    }
  }

  Report some_report() {
    return reports_ == Report::Changes && !dice_.once_in(4) ? Report::Changes : Report::Everything;
  }

  void set_all_quotas(int quota) {
    for (int sm = 0; sm < sms_; ++sm) model_.set_quota(static_cast<std::size_t>(sm), quota);
  }

  void launch(int workers) {
    observed_.progress().launched(workers, model_.time());
    model_.launch(workers);
    launched_ += workers;
  }

  /// After an eviction nothing runs, and the state says so.
  void evict() {
    set_all_quotas(0);
    while (!model_.nobody_left()) model_.step();
    look();
    EXPECT_EQ(observed_.progress().done(), model_.done());
    if (model_.done() == 0) return;
    for (int sm = 0; sm < sms_; ++sm) EXPECT_EQ(observed_.on(sm).resident, 0) << "SM " << sm;
  }

  void look(Report report = Report::Everything) {
    const Snapshot seen = looks_ == Looks::Torn ? model_.torn_look() : model_.look();
    observed_.look(seen, model_.time(), report);
    std::int64_t workers = 0;
    for (const WorkerSm& sm : seen.sms) workers += sm.workers;
    EXPECT_EQ(observed_.progress().workers(), workers);
    if (looks_ == Looks::Whole) expect_exact(seen);
  }

  void expect_exact(const Snapshot& seen) {
    EXPECT_EQ(observed_.progress().done(), model_.done());
    EXPECT_EQ(observed_.progress().unclaimed(), blocks_ - std::int64_t{seen.control.next_task});
    EXPECT_EQ(observed_.progress().workers_gone(), seen.control.workers_gone);
    EXPECT_LE(observed_.launch().started, seen.control.next_task);
    const bool all_hold_places = launched_ - seen.control.workers_gone == observed_.progress().workers();
    for (int sm = 0; all_hold_places && model_.done() > 0 && sm < sms_; ++sm) {
      EXPECT_LE(observed_.on(sm).resident, static_cast<int>(seen.sms[static_cast<std::size_t>(sm)].workers));
    }
  }

  void finish() {
    while (model_.done() < blocks_) {
      set_all_quotas(dice_.between(1, 4));
      if (model_.nobody_left()) launch(dice_.between(1, 4 * sms_));
      model_.steps(dice_.between(1, 300));
      if (dice_.once_in(2)) look(some_report());
    }
    while (!model_.nobody_left()) model_.step();
    look();
    EXPECT_TRUE(observed_.progress().finished());
    EXPECT_EQ(observed_.launch().done, blocks_);
    EXPECT_EQ(observed_.launch().started, blocks_);
    for (int sm = 0; sm < sms_; ++sm) EXPECT_EQ(observed_.on(sm).resident, 0) << "SM " << sm;
    const Snapshot seen = model_.look();
    EXPECT_TRUE(observed_.look(seen, model_.time() + Duration(10)).empty());
  }

  Dice dice_;
  Looks looks_;
  Report reports_;
  int sms_;
  int blocks_;
  WorkerModel model_;
  ObservedLaunch observed_;
  std::int64_t launched_ = 0;
};

TEST(WorkerProgressProperties, EventsAreLegalAndTotalsExactWithConsistentReports) {
  for (std::uint64_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRun(seed, Looks::Whole).run();
  }
}

TEST(WorkerProgressProperties, EventsAreLegalAndTotalsExactWithTornReports) {
  for (std::uint64_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomRun(seed, Looks::Torn).run();
  }
}

TEST(WorkerProgressProperties, EventsAreLegalAndTotalsExactWithFrequentReports) {
  for (const Looks looks : {Looks::Whole, Looks::Torn}) {
    for (std::uint64_t seed = 0; seed < 3000 && !testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE(seed);
      RandomRun(seed, looks, Report::Changes).run();
    }
  }
}

/// Always enough workers, a look every so often: by how many blocks an SM is off, on average.
TEST(WorkerProgressProperties, ResidencyIsThatOfTheBlocksThatRun) {
  std::int64_t looks = 0;
  std::int64_t wrong = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const int sms = dice.between(1, 4);
    WorkerModel model(dice, 400, sms);
    ObservedLaunch observed(400, sms);
    for (int sm = 0; sm < sms; ++sm) model.set_quota(static_cast<std::size_t>(sm), 4);
    observed.progress().launched(12 * sms, model.time());
    model.launch(12 * sms);
    while (!model.nobody_left()) {
      model.steps(40);
      const Snapshot seen = model.look();
      observed.look(seen, model.time());
      for (int sm = 0; sm < sms; ++sm, ++looks) {
        wrong += std::abs(observed.on(sm).resident - model.running(static_cast<std::size_t>(sm)));
      }
    }
  }
  EXPECT_LT(static_cast<double>(wrong) / static_cast<double>(looks), 0.2);
}

}  // namespace
}  // namespace gpushare
