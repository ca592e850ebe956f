// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/task_splitter.hpp"

#include <utility>

namespace gpushare {

std::optional<TaskCalls> TaskSplitter::add(Call call) {
  const std::size_t number = calls_++;
  if (call == Call::Synchronize) return flush();
  // The enumerators are in the order that calls of one task have.
  std::optional<TaskCalls> complete;
  if (call < latest_) complete = flush();
  if (open_.count == 0) open_.first = number;
  ++open_.count;
  latest_ = call;
  if (call == Call::ToHost && rule_ == ToHostRule::EachEndsTask) return flush();
  return complete;
}

std::optional<TaskCalls> TaskSplitter::flush() {
  latest_ = Call::ToDevice;
  const TaskCalls complete = std::exchange(open_, {});
  if (complete.count == 0) return std::nullopt;
  return complete;
}

std::vector<TaskCalls> tasks_of(const std::vector<Call>& calls, ToHostRule rule) {
  TaskSplitter builder(rule);
  std::vector<TaskCalls> tasks;
  const auto keep = [&](const std::optional<TaskCalls>& task) {
    if (task) tasks.push_back(*task);
  };
  for (const Call call : calls) keep(builder.add(call));
  keep(builder.flush());
  return tasks;
}

}  // namespace gpushare
