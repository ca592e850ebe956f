// SPDX-License-Identifier: Apache-2.0
#include "cuda/worker_tables.hpp"

#include <algorithm>
#include <cstring>

#include "cuda/driver.hpp"

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

// The driver copies small pageable sources before it returns, so they may change at once (measured as fast as pinned).
void WorkerTables::restore(Slot slot, const WorkerLook& tables) {
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
void WorkerTables::start_look() {
  const auto behind_last = std::find(taken_.rbegin(), taken_.rend(), true).base() - taken_.begin();
  reader_.start(device_.get(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(behind_last, 1)) * stride_,
                reset_ ? written(*reset_) : nullptr);
  reset_.reset();
}

void WorkerTables::drop_look() {
  while (is_looking()) look_has_ended() ? end_look() : static_cast<void>(hurry_look());
}

WorkerLook WorkerTables::look(Slot slot) const {
  const std::byte* first = reader_.data() + slot * stride_;
  return {.control = *reinterpret_cast<const WorkerControl*>(first),
          .orders = {reinterpret_cast<const WorkerOrder*>(first + orders_offset_), sms_},
          .sms = {reinterpret_cast<const WorkerSm*>(first + sizeof(WorkerControl)), sms_}};
}

}  // namespace gpushare::cuda
