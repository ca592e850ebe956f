// SPDX-License-Identifier: Apache-2.0
// From the calls of an application to tasks: the state machine of CuMAS, Fig. 4(a). A call that breaks the order of
// copies in, kernels, copies out ends a task and begins the next one; so do a synchronisation and, because the host may
// now decide otherwise, any copy to the host.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gpushare {

enum class Call { ToDevice, Launch, ToHost, Synchronize };

/// The text ends a task at every copy to the host; the counts of Table 1 need those that follow one another in one
/// task.
enum class ToHostRule { EachEndsTask, ConsecutiveStayTogether };

/// Calls that follow one another; never none. Synchronisations belong to no task.
struct TaskCalls {
  std::size_t first = 0;
  std::size_t count = 0;
  friend bool operator==(const TaskCalls&, const TaskCalls&) = default;
};

class TaskSplitter {
 public:
  explicit TaskSplitter(ToHostRule rule = ToHostRule::EachEndsTask) : rule_(rule) {}

  /// Takes the application's next call. Returns the task that is now known to be complete, if one is.
  std::optional<TaskCalls> add(Call call);
  /// The application has ended, or waits for its operations: returns the remaining tasks.
  std::optional<TaskCalls> flush();

 private:
  ToHostRule rule_;
  std::size_t calls_ = 0;
  TaskCalls open_;
  Call latest_ = Call::ToDevice;
};

/// All tasks of these calls.
std::vector<TaskCalls> tasks_of(const std::vector<Call>& calls, ToHostRule rule = ToHostRule::EachEndsTask);

}  // namespace gpushare
