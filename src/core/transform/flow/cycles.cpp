// SPDX-License-Identifier: Apache-2.0
#include "core/transform/flow/cycles.hpp"

#include <algorithm>
#include <utility>

namespace gpushare::ptx {
namespace {

/// Tarjan, "Depth-First Search and Linear Graph Algorithms", without recursion: texts may be long.
class ComponentFinder {
 public:
  explicit ComponentFinder(const ControlFlow& flow)
      : flow_(flow),
        number_(flow.exit_block() + 1, unseen),
        lowest_(flow.exit_block() + 1, 0),
        is_open_(flow.exit_block() + 1, false) {}

  /// Every component, those of a single block included.
  std::vector<std::vector<std::size_t>> find() {
    for (std::size_t block = 0; block < flow_.exit_block(); ++block) {
      if (number_[block] == unseen) walk(block);
    }
    return std::move(found_);
  }

 private:
  static constexpr std::size_t unseen = static_cast<std::size_t>(-1);

  void walk(std::size_t root) {
    for (enter(root); !path_.empty();) {
      auto& [block, way] = path_.back();
      const auto& successors = flow_.blocks()[block].successors;
      if (way == successors.size()) {
        leave(block);
        continue;
      }
      const std::size_t next = successors[way++];
      if (next == flow_.exit_block()) continue;
      if (number_[next] == unseen) {
        enter(next);
      } else if (is_open_[next]) {
        lowest_[block] = std::min(lowest_[block], number_[next]);
      }
    }
  }

  void enter(std::size_t block) {
    number_[block] = lowest_[block] = numbers_++;
    is_open_[block] = true;
    open_.push_back(block);
    path_.emplace_back(block, 0);
  }

  void leave(std::size_t block) {
    path_.pop_back();
    if (!path_.empty()) lowest_[path_.back().first] = std::min(lowest_[path_.back().first], lowest_[block]);
    if (lowest_[block] != number_[block]) return;
    std::vector<std::size_t>& component = found_.emplace_back();
    do {
      component.push_back(open_.back());
      is_open_[open_.back()] = false;
      open_.pop_back();
    } while (component.back() != block);
  }

  const ControlFlow& flow_;
  std::vector<std::size_t> number_;  ///< in the order of the walk
  std::vector<std::size_t> lowest_;  ///< that can be reached
  std::vector<bool> is_open_;        ///< its component is not complete
  std::vector<std::size_t> open_;
  std::vector<std::pair<std::size_t, std::size_t>> path_;  ///< blocks, and their next way out
  std::vector<std::vector<std::size_t>> found_;
  std::size_t numbers_ = 0;
};

}  // namespace

Cycles::Cycles(const ControlFlow& flow) : cycle_of_(flow.exit_block() + 1, none) {
  for (auto& component : ComponentFinder(flow).find()) {
    const auto& ways = flow.blocks()[component.front()].successors;
    const bool repeats = component.size() > 1 || std::ranges::find(ways, component.front()) != ways.end();
    if (!repeats) continue;
    std::ranges::sort(component);
    for (const std::size_t block : component) cycle_of_[block] = cycles_.size();
    cycles_.push_back(std::move(component));
  }
}

}  // namespace gpushare::ptx
