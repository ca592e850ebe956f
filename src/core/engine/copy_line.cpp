// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy_line.hpp"

#include <algorithm>

#include "core/model/errors.hpp"

namespace gpushare {

std::size_t CopyLine::next() const {
  GPUSHARE_EXPECT(!waiting_.empty(), "no copy waits");
  const auto first = std::ranges::min_element(waiting_, {}, [](const WaitingCopy& each) { return each.copy.rank; });
  return static_cast<std::size_t>(first - waiting_.begin());
}

CopyPiece CopyLine::take() {
  const std::size_t place = next();
  WaitingCopy& waiting = waiting_[place];
  const std::int64_t left = std::get<Copy>(*waiting.copy.operation).size.count - waiting.gone;
  const std::int64_t size = waiting.copy.piece.count == 0 ? left : std::min(left, waiting.copy.piece.count);
  const CopyPiece piece{.copy = waiting.copy, .offset = waiting.gone, .size = Bytes{size}, .is_last = size == left};
  waiting.gone += size;
  if (piece.is_last) waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(place));
  return piece;
}

}  // namespace gpushare
