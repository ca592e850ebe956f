// SPDX-License-Identifier: Apache-2.0
#include "cuda/launch/worker_tables.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/driver/driver.hpp"

namespace gpushare::cuda {
namespace {

std::size_t rounded_up(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

// The most urgent stream, as its work is short and launches wait for it.
WorkerTables::WorkerTables(const SharedContext& context, Completions& completions, int sms, Slot slots)
    : sms_(static_cast<std::size_t>(sms)),
      orders_offset_(sizeof(WorkerControl) + sms_ * sizeof(WorkerSm)),
      stride_(rounded_up(orders_offset_ + sms_ * sizeof(WorkerOrder))),
      device_(make_device_memory(context, slots * stride_)),
      reader_(context, completions, slots * stride_),
      writes_(make_stream(context, context->stream_priorities().front())),
      taken_(slots, false),
      holders_(slots, nullptr),
      no_workers_(sms_),
      image_(orders_offset_ + sms_ * sizeof(WorkerOrder)) {
  for (Slot slot = 0; slot < slots; ++slot) written_.push_back(make_event(context));
}

std::optional<Slot> WorkerTables::take() {
  const auto free = std::ranges::find(taken_, false);
  if (free == taken_.end()) return std::nullopt;
  *free = true;
  return static_cast<Slot>(free - taken_.begin());
}

std::optional<Slot> WorkerTables::take(SlotHolder& holder, Time now) {
  if (is_full()) make_one_free(holder, now);
  const std::optional<Slot> slot = take();
  if (slot) holders_[*slot] = &holder;
  return slot;
}

void WorkerTables::make_one_free(const SlotHolder& holder, Time now) {
  SlotHolder* last = nullptr;
  for (SlotHolder* other : holders_) {
    if (other == nullptr || !other->may_give_up_slot()) continue;
    const bool has_use_for_it = other->wants_slot(now) && other->rank_of_holder() < holder.rank_of_holder();
    if (has_use_for_it) continue;
    if (last == nullptr || other->rank_of_holder() >= last->rank_of_holder()) last = other;
  }
  if (last != nullptr) last->give_up_slot();
}

// The driver copies small pageable sources before it returns, so they may change at once (measured as fast as pinned).
void WorkerTables::restore(Slot slot, const PolledTables& tables) {
  std::memcpy(image_.data(), &tables.control, sizeof tables.control);
  std::memcpy(image_.data() + sizeof tables.control, tables.sms.data(), tables.sms.size_bytes());
  std::memcpy(image_.data() + orders_offset_, tables.orders.data(), tables.orders.size_bytes());
  GPUSHARE_CU(cuMemcpyHtoDAsync(control_address(slot), image_.data(), image_.size(), writes_.get()));
  GPUSHARE_CU(cuEventRecord(written(slot), writes_.get()));
  reset_ = slot;
}

void WorkerTables::write_orders(Slot slot, std::span<const WorkerOrder> orders) {
  GPUSHARE_CU(cuMemcpyHtoDAsync(orders_address(slot), orders.data(), orders.size_bytes(), writes_.get()));
  GPUSHARE_CU(cuEventRecord(written(slot), writes_.get()));
}

// A poll that started before a reset would show another launch's end as this one's.
void WorkerTables::start_poll() {
  const auto behind_last = std::find(taken_.rbegin(), taken_.rend(), true).base() - taken_.begin();
  reader_.start(device_.get(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(behind_last, 1)) * stride_,
                reset_ ? written(*reset_) : nullptr);
  reset_.reset();
}

void WorkerTables::drop_poll() {
  while (is_polling()) poll_has_ended() ? end_poll() : static_cast<void>(hurry_poll());
}

PolledTables WorkerTables::polled(Slot slot) const {
  const std::byte* first = reader_.data() + slot * stride_;
  return {.control = *reinterpret_cast<const WorkerControl*>(first),
          .orders = {reinterpret_cast<const WorkerOrder*>(first + orders_offset_), sms_},
          .sms = {reinterpret_cast<const WorkerSm*>(first + sizeof(WorkerControl)), sms_}};
}

}  // namespace gpushare::cuda
