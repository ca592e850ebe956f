// SPDX-License-Identifier: Apache-2.0
// CuMAS on a device: applications' operations become tasks, a window puts them in order, and every engine serves them
// in that order.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "core/engine/ordering.hpp"
#include "core/ordering/reorder_window.hpp"
#include "core/ordering/task_estimates.hpp"
#include "core/ordering/task_splitter.hpp"
#include "core/ordering/tasks_under_way.hpp"

namespace gpushare {

class WindowOrdering : public Ordering {
 public:
  struct Settings {
    ReorderWindow::Settings window{};
    int computing =
        1;  ///< tasks that may be in their kernels at a time: with one, the SMs are an engine as in the paper
    ToHostRule rule = ToHostRule::EachEndsTask;
    FirstEstimate first_estimate = FirstEstimate::Profile;
    CopyPieces pieces{};
    std::shared_ptr<KernelTimes> learnt{};  ///< in earlier runs, if there were any
  };

  /// The device must outlive it.
  WindowOrdering(const Device& device, std::unique_ptr<Solver> solver, const Settings& settings);

  ApplicationId add(const Application& application) override;
  void issue(ApplicationId application, const Operation& operation) override;
  void offer(const Submission& operation, Time now) override;
  void ended(ApplicationId application, Time now) override;
  void withdraw(ApplicationId application) override;
  void set_priority(ApplicationId application, int priority) override;
  std::optional<Submission> next(Time now) override;
  /// Operations of a task that are for the engine which it uses already.
  bool goes_on(ApplicationId application) const override;

 private:
  /// The progress of an application.
  struct Stream {
    double weight = 1;
    int priority = 0;
    std::deque<const Operation*> issued{};  // and not offered
    std::size_t left_in_task = 0;           // of those
    std::optional<Submission> offered{};
    Time offered_at{};
    const Launch* running = nullptr;  // its launch on the device
    bool runs_alone = false;          // as far as the ordering knows
    bool is_withdrawn = false;
    Time running_since{};
  };

  void form_task(ApplicationId application);
  void grow_task(ApplicationId application);
  TaskEstimates::Estimate take_task(Stream& stream);
  void begin_tasks(Time now);
  bool is_due() const;
  bool may_begin(const ReadyTask& task) const;
  const ReadyTask* next_to_begin() const;
  bool is_passing(ApplicationId application, Engine engine) const;
  bool fits(Bytes memory) const;
  /// The first of the tasks that may cut in, by value; it is taken out of the window.
  std::optional<ReadyTask> take_latecomer(Time now);
  void drop_offered(ApplicationId application);
  void learn(ApplicationId application, Time now);
  void note_launch(ApplicationId application, const Launch& launch, Time now);
  Submission submit(Stream& stream, Engine engine, Time now);

  Settings settings_;
  TaskEstimates estimates_;
  ReorderWindow window_;
  TasksUnderWay under_way_;
  std::map<ApplicationId, Stream> streams_;  // but for those that have gone
  std::int32_t next_application_ = 0;
  std::vector<ApplicationId> new_tasks_;  // their first operation has been offered
  std::vector<ApplicationId> grown_;      // they have issued more while their task waits
  std::vector<ApplicationId> running_;    // that have a launch on the device
};

}  // namespace gpushare
