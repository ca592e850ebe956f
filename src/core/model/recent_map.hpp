// SPDX-License-Identifier: Apache-2.0
// A bounded cache of what has been learnt of kernels and co-run sets: a session has no bounded length, and clients may
// use any number of kernel names. The least recently used entry is evicted.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

#include "core/model/errors.hpp"

namespace gpushare {

/// A map with a limit on its entries. Values do not move. Only an insertion evicts, and never the entry that was found
/// or inserted last.
template <class Key, class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t most) : most_(most) { GPUSHARE_EXPECT(most > 0, "a cache holds at least one entry"); }
  RecentMap(const RecentMap& other) : most_(other.most_) {
    for (auto entry = other.entries_.rbegin(); entry != other.entries_.rend(); ++entry) {
      find_or(entry->place->first, [&] { return entry->value; });
    }
  }
  RecentMap(RecentMap&&) = default;
  RecentMap& operator=(RecentMap&&) = default;

  std::size_t size() const { return places_.size(); }

  /// nullptr: not known, or evicted.
  Value* find(const Key& key) {
    const auto known = places_.find(key);
    if (known == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &entries_.front().value;
  }

  /// As find(), without counting as a use.
  const Value* peek(const Key& key) const {
    const auto known = places_.find(key);
    return known == places_.end() ? nullptr : &known->second->value;
  }

  /// The value, made where it is not known.
  template <class Make>
  Value& find_or(const Key& key, Make make) {
    if (Value* known = find(key)) return *known;
    Value made = make();
    if (places_.size() == most_) {
      places_.erase(entries_.back().place);
      entries_.pop_back();
    }
    const auto place = places_.emplace(key, entries_.end()).first;
    entries_.push_front({std::move(made), place});
    place->second = entries_.begin();
    return entries_.front().value;
  }

  /// The value, default-constructed where it is not known.
  Value& operator[](const Key& key) {
    return find_or(key, [] { return Value{}; });
  }

  /// Removes the entries with keys that satisfy `is_gone`.
  template <class IsGone>
  void forget_if(IsGone is_gone) {
    std::erase_if(entries_, [&](const Entry& entry) {
      const bool is = is_gone(entry.place->first);
      if (is) places_.erase(entry.place);
      return is;
    });
  }

 private:
  struct Entry;
  using Places = std::map<Key, typename std::list<Entry>::iterator>;
  struct Entry {
    Value value;
    typename Places::iterator place;
  };

  std::size_t most_;
  std::list<Entry> entries_;  // the latest first
  Places places_;
};

}  // namespace gpushare
