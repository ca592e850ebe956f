// SPDX-License-Identifier: Apache-2.0
// The tasks under way, in their order: the progress of each, which task may use which engine, and when the engines will
// be free.
#pragma once

#include <vector>

#include "core/ordering/reorder_window.hpp"
#include "core/ordering/solvers/copy_pieces.hpp"

namespace gpushare {

/// How long a task will use an engine.
Duration time_on(const Task& task, Engine engine);

class TasksUnderWay {
 public:
  /// At most so many tasks may be in their kernels at a time, and these may come between copies of others.
  explicit TasksUnderWay(int computing, CutIn cut_in = CutIn::None) : most_computing_(computing), cut_in_(cut_in) {}

  /// The task takes its place among them, before any that began earlier and comes later in the order.
  void begin(const ReadyTask& task);
  /// May its copies go to the device before those of the tasks that are at it?
  bool may_cut_in(const ReadyTask& task, Time now) const;
  /// As begin(), before those tasks: its kernels go first too.
  void cut_in(const ReadyTask& task);
  std::vector<ApplicationId> applications() const;
  /// The application's task has nothing more to do.
  void end(ApplicationId application, Time now);

  /// Nothing more of it comes than what an engine is at.
  void cut_short(ApplicationId application);

  /// The task's next operation is for this engine: it has left the engines before it.
  void reach(ApplicationId application, Engine engine, Time now);
  /// May the task use the engine? Every engine serves the tasks in order (timing.hpp), except for those that may cut
  /// in. Copies of a direction: one task at a time.
  bool may_use(ApplicationId application, Engine engine, Time now) const;
  /// An operation of the task goes to the engine now.
  void use(ApplicationId application, Engine engine, Time now);
  /// Is the application's task at this engine, and has begun to use it? What it has for it then goes at once.
  bool is_using(ApplicationId application, Engine engine) const;
  /// The rank of the task's copies; smaller ranks go first.
  std::int64_t rank(ApplicationId application) const { return find(application)->rank; }

  std::int64_t place(ApplicationId application) const { return find(application)->ready.place; }

  bool is_idle(Engine engine) const;
  /// Could a task that begins with this engine use it at once, behind those in the line?
  bool has_room_at(Engine engine) const;
  Bytes held() const;
  /// When each engine will be free and memory will be released, by the tasks' estimates.
  EnginesState engines(Time now) const;

 private:
  struct TaskOnEngine {
    ReadyTask ready;
    Engine engine = uplink;  // the one that it uses or will use next
    bool uses = false;       // has begun to
    Time since{};            // from when on it has the engine, or gets it back
    Duration left{};         // for which it needs the engine, from then on
    std::int64_t rank = 0;   // of its copies
  };

  const TaskOnEngine* find(ApplicationId application) const;
  TaskOnEngine& at(ApplicationId application);
  static bool is_at(const TaskOnEngine& task, Engine engine);
  static Duration left_of(const TaskOnEngine& task, Time now);
  bool goes_before_those_at(Engine engine, const ReadyTask& task, Time now) const;
  bool may_compute(const TaskOnEngine& task) const;
  static bool is_for_kernels(const TaskOnEngine& task);
  bool may_send_results(const TaskOnEngine& task, Time now) const;
  void leave(const TaskOnEngine& task, Time now);

  int most_computing_;
  CutIn cut_in_;
  std::vector<TaskOnEngine> tasks_;
};

}  // namespace gpushare
