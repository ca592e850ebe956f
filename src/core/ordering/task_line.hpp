// SPDX-License-Identifier: Apache-2.0
// The tasks under way, in the order in which they began: where each stands, who may use which engine, and when the
// engines will be free.
#pragma once

#include <vector>

#include "core/ordering/flow_tables.hpp"
#include "core/ordering/reorder_window.hpp"

namespace gpushare {

class TaskLine {
 public:
  /// At most so many tasks may be in their kernels at a time.
  explicit TaskLine(int computing) : most_computing_(computing) {}

  void begin(const ReadyTask& task) { tasks_.push_back({.ready = task}); }
  std::vector<ApplicationId> applications() const;
  /// The application's task has nothing more to do.
  void end(ApplicationId application);

  /// The task's next operation is for this engine: it has left the engines before it.
  void reach(ApplicationId application, Engine engine);
  /// May it go? Copies of a direction: one task at a time. Kernels: in the order of the line.
  bool may_use(ApplicationId application, Engine engine) const;
  /// An operation of the task goes to the engine now.
  void use(ApplicationId application, Engine engine, Time now);

  bool is_idle(Engine engine) const;
  Bytes held() const;
  /// When each engine will be free and memory will be released, by the tasks' estimates.
  EnginesState engines(Time now) const;

 private:
  struct UnderWay {
    ReadyTask ready;
    Engine engine = uplink;  // the one that it uses or will use next
    bool uses = false;       // has begun to
    Time since{};            // when
  };

  const UnderWay* find(ApplicationId application) const;
  UnderWay& at(ApplicationId application);

  int most_computing_;
  std::vector<UnderWay> tasks_;
};

}  // namespace gpushare
