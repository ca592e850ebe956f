// SPDX-License-Identifier: Apache-2.0
// The objects that one client may name. A handle is a place in this client's table and the generation of the entry
// there, so a handle that was forged, freed or made for another client is an error, and never reaches another client's
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/model/errors.hpp"

namespace gpushare::daemon {

using Handle = std::uint64_t;  ///< 0 is never one

/// Control messages add and remove entries while the data plane reads them: any thread may make any call. An entry that
/// has been found stays alive as long as it is in use.
template <typename Entry>
class HandleTable {
 public:
  /// `what` names an entry in messages.
  HandleTable(std::string what, std::size_t most_entries) : what_(std::move(what)), most_entries_(most_entries) {}

  Handle add(std::shared_ptr<const Entry> entry) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      require_lazily(slots_.size() < most_entries_, [&] {
        return "this client has " + std::to_string(slots_.size()) + " " + what_ +
               "s, which is the most that it may have";
      });
      slots_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    slots_[place].entry = std::move(entry);
    return std::uint64_t{slots_[place].generation} << 32 | place;
  }

  /// Throws InvalidInput for a handle that is not, or no longer, in the table.
  std::shared_ptr<const Entry> find(Handle handle) const {
    const std::lock_guard lock(mutex_);
    return slots_[place_of(handle)].entry;
  }

  /// The same; an entry that has been found already stays alive as long as it is in use.
  std::shared_ptr<const Entry> remove(Handle handle) {
    const std::lock_guard lock(mutex_);
    const std::uint32_t place = place_of(handle);
    // A place with no generations left is not used again.
    if (++slots_[place].generation != 0) free_.push_back(place);
    return std::exchange(slots_[place].entry, nullptr);
  }

  /// Removes and returns all entries.
  std::vector<std::shared_ptr<const Entry>> clear() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const Entry>> all;
    for (std::uint32_t place = 0; place < slots_.size(); ++place) {
      if (slots_[place].entry == nullptr) continue;
      if (++slots_[place].generation != 0) free_.push_back(place);
      all.push_back(std::exchange(slots_[place].entry, nullptr));
    }
    return all;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return slots_.size() - free_.size();
  }

 private:
  struct Slot {
    std::shared_ptr<const Entry> entry;
    std::uint32_t generation = 1;
  };

  std::uint32_t place_of(Handle handle) const {
    const auto place = static_cast<std::uint32_t>(handle);
    const bool is_known =
        place < slots_.size() && slots_[place].entry != nullptr && slots_[place].generation == handle >> 32;
    require_lazily(is_known, [&] {
      return what_ + " handle " + std::to_string(handle) + ": this client has no such " + what_ +
             ", or has it no longer";
    });
    return place;
  }

  const std::string what_;
  const std::size_t most_entries_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace gpushare::daemon
