// SPDX-License-Identifier: Apache-2.0
#include "programs/program_tasks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "programs/futex.hpp"

namespace gpushare::programs {
namespace {

/// A task to which nothing has been added for so long is complete.
constexpr std::uint64_t patience_ns = 1'000'000;
constexpr std::uint64_t longest_sleep_ns = 200'000'000;

/// A program can write any numbers.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 44;
constexpr std::uint64_t most_predicted_ns = 3'600'000'000'000;

/// What has no mark behind it may take so much longer than predicted.
constexpr int slack_ratio = 4;
constexpr Duration slack(2'000'000);

/// The latency of a copy, and the size from which one tells how long a byte takes.
constexpr Duration copy_latency(10'000);
constexpr std::int64_t telling_bytes = 1 << 20;

/// Blocks of a phase of kernels: on each SM one, from its begin to its end.
constexpr std::int64_t blocks_of_phase = 8;
constexpr int threads_of_phase = 1024;

std::uint64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

void stop_ordering(ProgramPage& page) {
  Ordered yes = Ordered::Yes;
  page.ordering.compare_exchange_strong(yes, Ordered::No);
  for (ProcessSlot& slot : page.processes) raise(slot.line.go, go_always);
  ++page.task_news;
  wake_all(page.task_news);
}

Bytes PhaseRun::size() const { return Bytes{std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0})}; }

void ProgramTasks::order(const TaskOrder& order, bool are_others_there) {
  const std::scoped_lock lock(mutex_);
  is_set_ = true;
  page_.piece_to_device_bytes.store(static_cast<std::uint64_t>(order.piece_to_device.count));
  page_.piece_to_host_bytes.store(static_cast<std::uint64_t>(order.piece_to_host.count));
  if (!are_others_there) return stop_ordering(page_);
  if (page_.ordering.load() == Ordered::No) shut_gates();
}

/// What has been issued goes; what comes from now on waits.
void ProgramTasks::shut_gates() {
  for (std::size_t process = 0; process < most_processes; ++process) {
    ProcessSlot& slot = page_.processes[process];
    const std::uint64_t begun = slot.line.begun.load();
    seen_[process] = {.pid = slot.pid.load(), .taken = begun};
    slot.line.noticed.store(begun);
    slot.line.go.store(begun);
  }
  page_.ordering.store(Ordered::Yes);
}

void ProgramTasks::end() {
  has_ended_ = true;
  stop_ordering(page_);
}

std::optional<std::vector<PhaseRun>> ProgramTasks::await_complete() {
  while (true) {
    const std::uint32_t seen = page_.task_news.load();
    if (!is_set_ || has_ended_ || page_.ordering.load() == Ordered::Impossible) return std::nullopt;
    bool has_more = false;
    if (are_ordered()) {
      const std::scoped_lock lock(mutex_);
      std::vector<PhaseRun> runs = take_complete(steady_ns());
      if (!runs.empty()) return runs;
      has_more = has_incomplete();
    }
    wait_while(page_.task_news, seen, has_more ? patience_ns / 2 : longest_sleep_ns);
  }
}

std::vector<PhaseRun> ProgramTasks::take_complete(std::uint64_t now_ns) {
  std::vector<PhaseRun> runs;
  for (std::size_t process = 0; process < most_processes; ++process) take_complete(process, now_ns, runs);
  return runs;
}

void ProgramTasks::take_complete(std::size_t process, std::uint64_t now_ns, std::vector<PhaseRun>& runs) {
  ProcessSlot& slot = page_.processes[process];
  PhaseLine& line = slot.line;
  SeenProcess& seen = seen_[process];
  const std::int32_t pid = slot.pid.load(std::memory_order_acquire);
  if (pid <= 0 || line.owner.load(std::memory_order_acquire) != pid) return;
  if (pid != seen.pid) seen = {.pid = pid};
  const std::uint64_t begun = line.begun.load(std::memory_order_acquire);
  // A process opens its gates where no keeper and no server is left to do so.
  std::uint64_t go = line.go.load();
  if (go >= go_always) line.go.compare_exchange_strong(go, begun);
  if (begun < seen.taken) seen.taken = 0;  // another program in the same process, by exec
  if (begun - seen.taken > most_phases) seen.taken = begun;
  std::uint64_t complete = std::clamp(line.complete.load(), seen.taken, begun);
  if (now_ns - line.changed_ns.load() >= patience_ns) complete = begun;
  for (std::uint64_t number = seen.taken + 1; number <= complete; ++number) {
    const Phase& phase = line.at(number);
    const PhaseKind kind = phase.kind;
    const bool is_copy = kind == PhaseKind::ToDevice || kind == PhaseKind::ToHost;
    const auto bytes = static_cast<std::int64_t>(std::clamp<std::uint64_t>(phase.bytes.load(), 1, most_bytes));
    PhaseRun* before = runs.empty() ? nullptr : &runs.back();
    if (is_copy && before != nullptr && before->kind == kind && before->process == process) {
      before->bytes.push_back(bytes);
      continue;
    }
    runs.push_back({.process = process,
                    .pid = pid,
                    .first = number,
                    .kind = is_copy ? kind : PhaseKind::Kernels,
                    .bytes = {is_copy ? bytes : 0},
                    .predicted = Duration(std::min(phase.predicted_ns.load(), most_predicted_ns)),
                    .is_known = phase.unknown.load() == 0});
  }
  seen.taken = complete;
}

bool ProgramTasks::has_incomplete() const {
  for (std::size_t process = 0; process < most_processes; ++process) {
    const ProcessSlot& slot = page_.processes[process];
    if (slot.pid.load() == seen_[process].pid && slot.line.begun.load() > seen_[process].taken) return true;
  }
  return false;
}

const std::atomic<double>& ProgramTasks::pace_of(PhaseKind kind) const {
  return kind == PhaseKind::ToDevice ? to_device_ns_per_byte_ : to_host_ns_per_byte_;
}

Duration ProgramTasks::time_of(const PhaseRun& run) const {
  if (run.kind == PhaseKind::Kernels) return std::max(run.predicted, Duration(1));
  return copy_latency + Duration(std::llrint(static_cast<double>(run.size().count) * pace_of(run.kind).load()));
}

Operation ProgramTasks::operation_of(const PhaseRun& run, const std::string& name) const {
  if (run.kind == PhaseKind::Kernels) {
    Kernel kernel{.name = name, .needs = {.threads = threads_of_phase}, .is_profiled = false};
    const auto alone = run.is_known ? std::optional(time_of(run)) : std::nullopt;
    return Launch{.kernel = std::move(kernel), .blocks = blocks_of_phase, .alone = alone};
  }
  const auto direction = run.kind == PhaseKind::ToDevice ? Copy::Direction::ToDevice : Copy::Direction::ToHost;
  return Copy{.direction = direction, .size = run.size(), .alone = time_of(run)};
}

void ProgramTasks::open(const PhaseRun& run, std::uint64_t up_to) {
  PhaseLine& line = page_.processes[run.process].line;
  if (line.owner.load() == run.pid) raise(line.go, up_to);
}

bool ProgramTasks::have_ended(const PhaseRun& run, std::uint64_t up_to, Duration opened_for) const {
  const PhaseLine& line = page_.processes[run.process].line;
  if (has_ended_.load() || line.owner.load() != run.pid) return true;
  for (std::uint64_t number = run.first; number <= up_to; ++number) {
    const Phase& phase = line.at(number);
    const std::uint64_t calls = phase.calls.load();
    if (phase.number.load() != number || phase.ended.load(std::memory_order_acquire) >= calls) continue;
    if (phase.marked.load() >= calls || opened_for < slack_ratio * time_of(run) + slack) return false;
  }
  return true;
}

void ProgramTasks::notice(const PhaseRun& run, std::optional<Duration> took) {
  PhaseLine& line = page_.processes[run.process].line;
  if (line.owner.load() == run.pid) raise(line.noticed, run.last());
  if (!took || run.kind == PhaseKind::Kernels || run.size().count < telling_bytes) return;
  std::atomic<double>& pace = run.kind == PhaseKind::ToDevice ? to_device_ns_per_byte_ : to_host_ns_per_byte_;
  const double seen = nanoseconds(*took) / static_cast<double>(run.size().count);
  pace = pace + (seen - pace) / 2;
}

}  // namespace gpushare::programs
