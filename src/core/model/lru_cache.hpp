// SPDX-License-Identifier: Apache-2.0
// A bounded map that evicts the least recently used entry. A session can go on for ever, and kernels may have any
// number of names: what is remembered of them has to be limited.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {

/// Values stay where they are until they are evicted. Only an insertion evicts, and never the entry that was found or
/// inserted last.
template <class Key, class Value>
class LruCache {
 public:
  explicit LruCache(std::size_t most) : most_(most) { GPUSHARE_EXPECT(most > 0, "one entry at least is kept"); }
  LruCache(const LruCache& other) : most_(other.most_) {
    for (auto slot = other.slots_.rbegin(); slot != other.slots_.rend(); ++slot) {
      find_or(slot->place->first, [&] { return slot->value; });
    }
  }
  LruCache(LruCache&&) = default;
  LruCache& operator=(LruCache&&) = default;

  std::size_t size() const { return places_.size(); }

  /// nullptr: never inserted, or evicted.
  Value* find(const Key& key) {
    const auto known = places_.find(key);
    if (known == places_.end()) return nullptr;
    slots_.splice(slots_.begin(), slots_, known->second);
    return &slots_.front().value;
  }

  /// The same, without counting as a use.
  const Value* peek(const Key& key) const {
    const auto known = places_.find(key);
    return known == places_.end() ? nullptr : &known->second->value;
  }

  /// Inserts what `make` returns where the key is not known.
  template <class Make>
  Value& find_or(const Key& key, Make make) {
    if (Value* known = find(key)) return *known;
    Value made = make();
    if (places_.size() == most_) {
      places_.erase(slots_.back().place);
      slots_.pop_back();
    }
    const auto place = places_.emplace(key, slots_.end()).first;
    slots_.push_front({std::move(made), place});
    place->second = slots_.begin();
    return slots_.front().value;
  }

  /// Inserts a default value where the key is not known.
  Value& operator[](const Key& key) {
    return find_or(key, [] { return Value{}; });
  }

  /// Removes the entries with keys that satisfy `is_gone`.
  template <class IsGone>
  void forget_if(IsGone is_gone) {
    std::erase_if(slots_, [&](const Slot& slot) {
      const bool is = is_gone(slot.place->first);
      if (is) places_.erase(slot.place);
      return is;
    });
  }

 private:
  struct Slot;
  using Places = std::map<Key, typename std::list<Slot>::iterator>;
  struct Slot {
    Value value;
    typename Places::iterator place;
  };

  std::size_t most_;
  std::list<Slot> slots_;  // the latest first
  Places places_;
};

}  // namespace gpushare
