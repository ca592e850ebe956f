// SPDX-License-Identifier: Apache-2.0
#include "core/ordering/window_ordering.hpp"

#include <algorithm>
#include <utility>

namespace gpushare {
namespace {

/// An application that issues more and more must not be estimated again and again.
constexpr std::size_t most_grown = 256;

Call call_of(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation);
  if (copy == nullptr) return Call::Launch;
  return copy->direction == Copy::Direction::ToDevice ? Call::ToDevice : Call::ToHost;
}

Engine engine_of(const Operation& operation) {
  const Call call = call_of(operation);
  return call == Call::ToDevice ? uplink : call == Call::Launch ? compute : downlink;
}

/// How many of the operations are the first task. All calls of a task are known when its first one could go, as they
/// are where calls return at once (section 3.1); where the host waits for what it has issued, a task ends.
std::size_t first_task(const Operation& first, const std::deque<const Operation*>& others, ToHostRule rule) {
  TaskSplitter builder(rule);
  if (const auto task = builder.add(call_of(first))) return task->count;
  for (const Operation* operation : others) {
    if (pace_of(*operation).after) {
      if (const auto task = builder.add(Call::Synchronize)) return task->count;
    }
    if (const auto task = builder.add(call_of(*operation))) return task->count;
  }
  return 1 + others.size();
}

}  // namespace

WindowOrdering::WindowOrdering(const Device& device, std::unique_ptr<Solver> solver, const Settings& settings)
    : settings_(settings),
      estimates_(device, settings.first_estimate, settings.pieces, settings.learnt),
      window_(std::move(solver), settings.window),
      under_way_(settings.computing, settings.pieces.cut_in) {}

ApplicationId WindowOrdering::add(const Application& application) {
  const auto id = static_cast<ApplicationId>(next_application_++);
  streams_.emplace(id, Stream{.weight = application.weight, .priority = application.priority});
  return id;
}

void WindowOrdering::issue(ApplicationId application, const Operation& operation) {
  Stream& stream = streams_.at(application);
  if (stream.offered && stream.left_in_task == stream.issued.size()) grown_.push_back(application);
  stream.issued.push_back(&operation);
}

void WindowOrdering::offer(const Submission& operation, Time now) {
  Stream& stream = streams_.at(operation.application);
  learn(operation.application, now);
  stream.offered = operation;
  stream.offered_at = now;
  stream.issued.pop_front();
  if (stream.left_in_task > 0) {
    --stream.left_in_task;
    under_way_.reach(operation.application, engine_of(*operation.operation), now);
  } else {
    under_way_.end(operation.application, now);
    new_tasks_.push_back(operation.application);
  }
}

/// Only when the next operation is asked for: until then more of the task may be issued. Calls return at once, so that
/// a task's are known when its first one could go (section 3.1).
void WindowOrdering::form_task(ApplicationId application) {
  Stream& stream = streams_.at(application);
  const TaskEstimates::Estimate estimate = take_task(stream);
  const ReadyTask task{
      .application = application, .task = estimate.task, .priority = stream.priority, .since = stream.offered_at};
  estimate.is_known ? window_.add(task) : window_.add_unknown(task);
}

/// A task that waits in the queue takes in what belongs to it; one that has been put in order stays as it is.
void WindowOrdering::grow_task(ApplicationId application) {
  Stream& stream = streams_.at(application);
  if (!window_.is_waiting(application) || stream.left_in_task >= most_grown) return;
  const TaskEstimates::Estimate estimate = take_task(stream);
  if (estimate.is_known) return window_.grow(application, estimate.task);
  window_.drop(application);
  window_.add_unknown(
      {.application = application, .task = estimate.task, .priority = stream.priority, .since = stream.offered_at});
}

/// The operations from the one offered on.
TaskEstimates::Estimate WindowOrdering::take_task(Stream& stream) {
  std::vector<const Operation*> operations{stream.offered->operation};
  const std::size_t count = first_task(*operations.front(), stream.issued, settings_.rule);
  stream.left_in_task = count - 1;
  operations.insert(operations.end(), stream.issued.begin(),
                    stream.issued.begin() + static_cast<std::ptrdiff_t>(stream.left_in_task));
  TaskEstimates::Estimate estimate = estimates_.of(operations);
  estimate.task.weight = stream.weight;
  return estimate;
}

void WindowOrdering::ended(ApplicationId application, Time now) {
  learn(application, now);
  drop_offered(application);
  under_way_.end(application, now);
  if (streams_.at(application).is_withdrawn) streams_.erase(application);
}

/// Its task stays in the line as long as an engine is at it.
void WindowOrdering::withdraw(ApplicationId application) {
  Stream& stream = streams_.at(application);
  stream.is_withdrawn = true;
  stream.runs_alone = false;
  drop_offered(application);
  under_way_.cut_short(application);
}

/// The operations that have not been released.
void WindowOrdering::drop_offered(ApplicationId application) {
  Stream& stream = streams_.at(application);
  stream.offered.reset();
  stream.issued.clear();
  stream.left_in_task = 0;
  std::erase(new_tasks_, application);
  std::erase(grown_, application);
  window_.drop(application);
}

/// The next task's.
void WindowOrdering::set_priority(ApplicationId application, int priority) {
  streams_.at(application).priority = priority;
}

bool WindowOrdering::goes_on(ApplicationId application) const {
  const Stream& stream = streams_.at(application);
  return stream.left_in_task > 0 && under_way_.is_using(application, engine_of(*stream.issued.front()));
}

/// The application's latest launch has ended.
void WindowOrdering::learn(ApplicationId application, Time now) {
  Stream& stream = streams_.at(application);
  const Launch* launch = std::exchange(stream.running, nullptr);
  if (launch == nullptr) return;
  std::erase(running_, application);
  if (stream.runs_alone) estimates_.learn(*launch, now - stream.running_since);
}

/// A launch that was slowed down by another task says nothing about its kernel.
void WindowOrdering::note_launch(ApplicationId application, const Launch& launch, Time now) {
  Stream& stream = streams_.at(application);
  stream.runs_alone = running_.empty();
  for (const ApplicationId other : running_) streams_.at(other).runs_alone = false;
  running_.push_back(application);
  stream.running = &launch;
  stream.running_since = now;
}

std::optional<Submission> WindowOrdering::next(Time now) {
  for (const ApplicationId application : std::exchange(new_tasks_, {})) form_task(application);
  for (const ApplicationId application : std::exchange(grown_, {})) grow_task(application);
  begin_tasks(now);
  for (const ApplicationId application : under_way_.applications()) {
    Stream& stream = streams_.at(application);
    if (!stream.offered) continue;
    const Engine engine = engine_of(*stream.offered->operation);
    if (under_way_.may_use(application, engine, now) && !is_passing(application, engine))
      return submit(stream, engine, now);
  }
  return std::nullopt;
}

Submission WindowOrdering::submit(Stream& stream, Engine engine, Time now) {
  Submission operation = *std::exchange(stream.offered, std::nullopt);
  under_way_.use(operation.application, engine, now);
  if (const auto* launch = std::get_if<Launch>(operation.operation)) {
    note_launch(operation.application, *launch, now);
  } else {
    operation.rank = under_way_.rank(operation.application);
    operation.piece = settings_.pieces.piece_of(std::get<Copy>(*operation.operation));
    operation.pieces_at_a_time = settings_.pieces.at_a_time;
  }
  return operation;
}

void WindowOrdering::begin_tasks(Time now) {
  const auto engine_of_first = [this](const ReadyTask& task) {
    return engine_of(*streams_.at(task.application).offered->operation);
  };
  while (true) {
    if (is_due()) window_.order(under_way_.engines(now), now);
    if (const ReadyTask* task = next_to_begin()) {
      const ApplicationId application = task->application;
      under_way_.begin(*task);
      under_way_.reach(application, engine_of_first(*task), now);
      window_.begin(application);
    } else if (const auto latecomer = take_latecomer(now)) {
      under_way_.cut_in(*latecomer);
      under_way_.reach(latecomer->application, engine_of_first(*latecomer), now);
    } else {
      return;
    }
  }
}

/// Tasks of kernels alone wait for the SMs in the queue, where the order is still open.
bool WindowOrdering::is_due() const {
  return window_.is_due(std::ranges::any_of(window_.queue(), [this](const ReadyTask& task) {
    return under_way_.has_room_at(engine_of(*streams_.at(task.application).offered->operation));
  }));
}

bool WindowOrdering::may_begin(const ReadyTask& task) const {
  const Stream& stream = streams_.at(task.application);
  return fits(task.task.memory) && (engine_of(*stream.offered->operation) != uplink || under_way_.is_idle(uplink));
}

/// The first of the order that may begin: a task does not wait for those before it that have to wait for an engine
/// which it does not begin with, if its memory fits beside theirs.
const ReadyTask* WindowOrdering::next_to_begin() const {
  Task before;  // all those before it together
  for (const ReadyTask& ready : window_.ordered()) {
    const Engine first = engine_of(*streams_.at(ready.application).offered->operation);
    const Bytes memory{before.memory.count + ready.task.memory.count};
    const bool is_first = &ready == &window_.ordered().front();
    const bool may_pass = time_on(before, first) == Duration::zero() && fits(memory);
    if (may_begin(ready) && (is_first || may_pass)) return &ready;
    before.uplink += ready.task.uplink;
    before.compute += ready.task.compute;
    before.downlink += ready.task.downlink;
    before.memory = memory;
  }
  return nullptr;
}

/// Tasks of the order that have not begun come before it all the same on the engines that they will use.
bool WindowOrdering::is_passing(ApplicationId application, Engine engine) const {
  if (settings_.pieces.cut_in != CutIn::None || under_way_.is_using(application, engine)) return false;
  const std::int64_t place = under_way_.place(application);
  const auto is_before = [&](const ReadyTask& ready) {
    return ready.place < place && time_on(ready.task, engine) > Duration::zero();
  };
  return std::ranges::count_if(window_.ordered(), is_before) >= settings_.computing;
}

bool WindowOrdering::fits(Bytes memory) const {
  return memory.count <= settings_.window.memory_limit.count - under_way_.held().count;
}

std::optional<ReadyTask> WindowOrdering::take_latecomer(Time now) {
  const auto& ordered = window_.ordered();
  const bool waits_for_memory =
      !ordered.empty() && !fits(ordered.front().task.memory);  // latecomers must not take it again and again
  if (under_way_.is_idle(uplink) || waits_for_memory) return std::nullopt;
  const ReadyTask* first = nullptr;
  const auto claim_of = [](const ReadyTask& task) {
    return CopyClaim{.priority = task.priority, .left = task.task.uplink};
  };
  for (const ReadyTask* task : window_.latecomers()) {
    if (!fits(task->task.memory) || !under_way_.may_cut_in(*task, now)) continue;
    if (first == nullptr || goes_before(settings_.pieces.cut_in, claim_of(*task), claim_of(*first))) first = task;
  }
  if (first == nullptr) return std::nullopt;
  const ReadyTask latecomer = *first;
  window_.begin(latecomer.application);
  return latecomer;
}

}  // namespace gpushare
