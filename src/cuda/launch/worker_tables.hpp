// SPDX-License-Identifier: Apache-2.0
// The control blocks and SM tables of launches, side by side in device memory, so that one read shows them all. There
// are more places than launches on the GPU at a time: an evicted launch gives up its place, and later resumes.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "core/transform/worker/worker_control.hpp"
#include "cuda/launch/table_reader.hpp"

namespace gpushare::cuda {

/// A launch's place in the tables.
using Slot = std::size_t;

/// A launch that may hold a slot.
class SlotHolder {
 public:
  virtual int rank_of_holder() const = 0;
  /// Can it release the slot until it goes to the hardware again? It can if none of its workers is on the GPU.
  virtual bool may_give_up_slot() const = 0;
  /// Would it take a slot again at once?
  virtual bool wants_slot(Time now) const = 0;
  /// Requires may_give_up_slot().
  virtual void give_up_slot() = 0;

 protected:
  ~SlotHolder() = default;
};

class WorkerTables {
 public:
  static constexpr Slot usual_slots = 128;

  WorkerTables(const SharedContext& context, Completions& completions, int sms, Slot slots = usual_slots);
  ~WorkerTables() { drain(writes_); }
  WorkerTables(const WorkerTables&) = delete;
  WorkerTables& operator=(const WorkerTables&) = delete;

  bool is_full() const { return std::ranges::find(taken_, false) == taken_.end(); }
  /// A slot that its holder does not give up.
  std::optional<Slot> take();
  /// Where the tables are full, launches that were evicted give up their slots: the last in rank first.
  std::optional<Slot> take(SlotHolder& holder, Time now);
  void give_back(Slot slot) {
    taken_[slot] = false;
    holders_[slot] = nullptr;
  }

  CUdeviceptr control_address(Slot slot) const { return device_.get() + slot * stride_; }
  CUdeviceptr table_address(Slot slot) const { return control_address(slot) + sizeof(WorkerControl); }

  CUdeviceptr orders_address(Slot slot) const { return control_address(slot) + orders_offset_; }

  /// Initializes the slot for the beginning of a launch.
  void reset(Slot slot, std::span<const WorkerOrder> orders) { restore(slot, {{}, orders, no_workers_}); }
  /// Restores the slot from a poll.
  void restore(Slot slot, const PolledTables& tables);
  /// Workers read their SM's order at every claim. Takes effect within some microseconds.
  void write_orders(Slot slot, std::span<const WorkerOrder> orders);
  /// Behind the last writes of reset(), restore() and write_orders(): workers that start before it may find old orders.
  CUevent written(Slot slot) const { return written_[slot].get(); }

  /// Starts reading all the tables. One poll at a time.
  void start_poll();
  bool is_polling() const { return reader_.is_reading(); }
  bool poll_has_ended() const { return reader_.has_ended(); }
  void end_poll() { reader_.end(); }
  /// The poll takes too long: starts it once more, in another way. False if there is none left.
  bool hurry_poll() { return reader_.hurry(); }
  /// Waits until none is running: one of an earlier run would be taken for one of the next.
  void drop_poll();
  /// The resources that polls need on some SM, where they have been late.
  std::optional<BlockNeeds> place_for_poll() const { return reader_.room(); }

  /// The tables as of the last poll that has ended.
  PolledTables polled(Slot slot) const;

 private:
  void make_one_free(const SlotHolder& holder, Time now);

  std::size_t sms_;
  std::size_t orders_offset_;
  std::size_t stride_;
  DeviceMemory device_;
  TableReader reader_;
  Stream writes_;
  std::vector<bool> taken_;
  std::vector<SlotHolder*> holders_;  // by slot
  std::vector<Event> written_;        // by slot
  std::optional<Slot> reset_;         // the last one since the last poll began
  const std::vector<WorkerSm> no_workers_;
  std::vector<std::byte> image_;
};

}  // namespace gpushare::cuda
