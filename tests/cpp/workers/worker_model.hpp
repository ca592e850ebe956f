// SPDX-License-Identifier: Apache-2.0
// Workers as the transformed PTX makes them, in random order: each step of each worker is one atomic operation on the
// tables, and a look at the tables can come between any two of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/model/units.hpp"
#include "core/transform/worker/worker_control.hpp"
#include "sample_devices.hpp"
#include "workers/observed_launch.hpp"

namespace gpushare::test {

class WorkerModel {
 public:
  WorkerModel(Dice& dice, int blocks, int sms) : dice_(dice), blocks_(static_cast<std::uint32_t>(blocks)) {
    now_.sms.resize(static_cast<std::size_t>(sms));
    now_.orders.resize(now_.sms.size());
    running_.resize(now_.sms.size());
  }

  Time time() const { return Time(Duration(clock_)); }
  bool nobody_left() const { return workers_.empty(); }
  std::uint32_t next_task() const { return now_.control.next_task; }
  /// Blocks on an SM that run, or have ended and are not yet told.
  int running(std::size_t sm) const { return running_[sm]; }
  std::int64_t done() const {
    std::int64_t done = 0;
    for (const WorkerSm& sm : now_.sms) done += sm.tasks_done;
    return done;
  }

  void set_chunk(int chunk) {
    for (WorkerOrder& order : now_.orders) order.chunk = static_cast<std::uint16_t>(chunk);
  }
  void set_quota(std::size_t sm, int quota) { now_.orders[sm].quota = static_cast<std::uint16_t>(quota); }
  void launch(int workers) { workers_.resize(workers_.size() + static_cast<std::size_t>(workers)); }

  /// One step of any worker.
  void step() {
    clock_ += dice_.between(0, 50);
    if (workers_.empty()) return;
    const auto chosen = workers_.begin() + dice_.between(0, static_cast<int>(workers_.size()) - 1);
    advance(*chosen);
    if (chosen->stage == Stage::Gone) workers_.erase(chosen);
  }
  void steps(int count) {
    for (; count > 0; --count) step();
  }

  Snapshot look() const { return now_; }
  /// The control block first, then one word after the other, while the workers go on.
  Snapshot torn_look() {
    Snapshot seen = now_;
    for (std::size_t sm = 0; sm < seen.sms.size(); ++sm) {
      steps(dice_.between(0, 3));
      seen.orders[sm] = now_.orders[sm];
      seen.sms[sm].workers = now_.sms[sm].workers;
      steps(dice_.between(0, 1));
      seen.sms[sm].tasks_done = now_.sms[sm].tasks_done;
      steps(dice_.between(0, 1));
      seen.sms[sm].busy_ns = now_.sms[sm].busy_ns;
    }
    return seen;
  }

 private:
  enum class Stage : std::uint8_t {
    Waiting,
    Looking,
    Choosing,
    Running,
    TellingTime,
    TellingTasks,
    Leaving,
    Going,
    Gone
  };
  struct Worker {
    Stage stage = Stage::Waiting;
    std::size_t sm = 0;
    std::uint32_t chunk = 0;  ///< that it runs or has run, 0 of a newcomer
    std::uint32_t left = 0;
    std::uint32_t next = 0;
    bool holds_place = false;
    bool is_surplus = false;  ///< as it saw
    std::int64_t since = 0;
  };

  bool is_surplus(const Worker& worker) const { return now_.sms[worker.sm].workers > now_.orders[worker.sm].quota; }

  void claim(Worker& worker) {
    const std::uint32_t chunk = now_.orders[worker.sm].chunk;
    worker.next = std::min<std::uint32_t>(chunk, blocks_ - std::min(blocks_, now_.control.next_task));
    now_.control.next_task += worker.next;
  }

  /// Leave, or stay, with something to do if there is anything.
  void choose(Worker& worker) {
    if (!worker.is_surplus || !is_surplus(worker)) return claim(worker);
    --now_.sms[worker.sm].workers;
    worker.holds_place = false;
  }

  void begin_chunk(Worker& worker) {
    worker.chunk = worker.left = std::exchange(worker.next, 0);
    worker.stage = worker.chunk > 0 ? Stage::Running : Stage::Leaving;
    if (worker.chunk > 0) ++running_[worker.sm];
  }

  void enter(Worker& worker) {
    worker.sm = static_cast<std::size_t>(dice_.between(0, static_cast<int>(now_.sms.size()) - 1));
    ++now_.sms[worker.sm].workers;
    worker.holds_place = true;
    worker.since = clock_;
    worker.stage = Stage::Looking;
  }

  void advance(Worker& worker) {
    WorkerSm& sm = now_.sms[worker.sm];
    switch (worker.stage) {
      case Stage::Waiting:
        return enter(worker);
      case Stage::Looking:
        worker.is_surplus = is_surplus(worker);
        worker.stage = Stage::Choosing;
        return;
      case Stage::Choosing:
        choose(worker);
        if (worker.chunk == 0) return begin_chunk(worker);
        worker.stage = Stage::TellingTime;
        return;
      case Stage::Running:
        if (--worker.left == 0) worker.stage = Stage::Looking;
        return;
      case Stage::TellingTime:
        sm.busy_ns += static_cast<std::uint64_t>(clock_ - worker.since);
        worker.since = clock_;
        worker.stage = Stage::TellingTasks;
        return;
      case Stage::TellingTasks:
        sm.tasks_done += worker.chunk;
        --running_[worker.sm];
        return begin_chunk(worker);
      case Stage::Leaving:
        if (worker.holds_place) --sm.workers;
        worker.stage = Stage::Going;
        return;
      case Stage::Going:
        ++now_.control.workers_gone;
        worker.stage = Stage::Gone;
        return;
      case Stage::Gone:
        return;
    }
  }

  Dice& dice_;
  std::uint32_t blocks_;
  Snapshot now_;
  std::vector<Worker> workers_;
  std::vector<int> running_;
  std::int64_t clock_ = 0;
};

}  // namespace gpushare::test
