// SPDX-License-Identifier: Apache-2.0
#include "intercept/calls/events.hpp"

#include "intercept/forks.hpp"

namespace gpushare::intercept {
namespace {

/// The launched work, above the index of the words: in one word, so that both belong to the same record. 2^56 ns are
/// years.
struct EventRecord {
  std::atomic<std::uintptr_t> event;
  std::atomic<std::uint64_t> packed;
};

constexpr std::size_t most_events = 1 << 14;
/// The number of places that are searched; an event without a free one is not tracked.
constexpr std::size_t most_event_places = 32;

/// Open addressing, without locks; nothing is removed, since handles come again.
std::array<EventRecord, most_events> event_records;

/// The event's place; or, where it may be taken, a free one.
EventRecord* place_of_event(CUevent event, bool may_take) {
  const auto handle = reinterpret_cast<std::uintptr_t>(event);
  const std::uint64_t hash = handle * 0x9e3779b97f4a7c15 >> 32;
  for (std::size_t step = 0; step < most_event_places; ++step) {
    EventRecord& place = event_records[(hash + step) % most_events];
    std::uintptr_t found = place.event.load(std::memory_order_relaxed);
    if (found == 0 && may_take && place.event.compare_exchange_strong(found, handle)) return &place;
    if (found == handle) return &place;
    if (found == 0) return nullptr;
  }
  return nullptr;
}

}  // namespace

void remember_record(CUevent event, const StreamWords& words, std::uint64_t launched) {
  if (EventRecord* place = place_of_event(event, true)) place->packed = launched << 8 | (words.index + 1);
}

Recorded recorded_in(CUevent event) {
  const EventRecord* place = place_of_event(event, false);
  const std::uint64_t packed = place != nullptr ? place->packed.load() : 0;
  if (packed == 0) return {};
  return {&all_words()[(packed & 0xff) - 1], packed >> 8};
}

void forget_events() {
  for (EventRecord& each : event_records) {
    if (each.event.load(std::memory_order_relaxed) != 0) each.packed = 0;
  }
}

}  // namespace gpushare::intercept
