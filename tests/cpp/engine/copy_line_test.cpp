// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy_line.hpp"

#include <gtest/gtest.h>

#include "sample_workloads.hpp"

namespace gpushare {
namespace {

using namespace test;

Submission submission(int id, const Operation& copy, std::int64_t rank = 0, std::int64_t piece = 0) {
  return {.id = static_cast<OperationId>(id), .operation = &copy, .rank = rank, .piece = Bytes{piece}};
}

/// Operation, offset and size of all pieces, in their order.
std::vector<std::array<std::int64_t, 3>> taken(CopyLine& line) {
  std::vector<std::array<std::int64_t, 3>> pieces;
  while (!line.empty()) {
    const CopyPiece piece = line.take();
    pieces.push_back({static_cast<std::int64_t>(index(piece.copy.id)), piece.offset, piece.size.count});
  }
  return pieces;
}

using Pieces = std::vector<std::array<std::int64_t, 3>>;

TEST(CopyLine, WholeCopiesGoInOrder) {
  const Operation copy = copy_to_device(100);
  CopyLine line;
  for (const int id : {2, 0, 1}) line.add(submission(id, copy));
  EXPECT_TRUE(line.next_may_join(100));
  EXPECT_EQ(taken(line), (Pieces{{2, 0, 100}, {0, 0, 100}, {1, 0, 100}}));
}

TEST(CopyLine, PiecesAddUpAndTheLastIsWhatIsLeft) {
  const Operation copy = copy_to_device(250);
  CopyLine line;
  line.add(submission(0, copy, 0, 100));
  EXPECT_TRUE(line.next_may_join(0));
  EXPECT_FALSE(line.next_may_join(1));
  EXPECT_EQ(taken(line), (Pieces{{0, 0, 100}, {0, 100, 100}, {0, 200, 50}}));
}

TEST(CopyLine, ASmallerRankGoesBetweenPieces) {
  const Operation large = copy_to_device(300);
  const Operation small = copy_to_device(10);
  CopyLine line;
  line.add(submission(0, large, 0, 100));
  const CopyPiece first = line.take();
  EXPECT_TRUE(first.is_first());
  EXPECT_FALSE(first.is_last);
  line.add(submission(1, small, -1));
  line.add(submission(2, small, 0));
  EXPECT_EQ(line.take().copy.id, static_cast<OperationId>(1));
  const CopyPiece second = line.take();
  EXPECT_EQ(second.copy.id, static_cast<OperationId>(0)) << "of equal ranks, who came first";
  EXPECT_TRUE(line.take().is_last);
  EXPECT_EQ(taken(line), (Pieces{{2, 0, 10}}));
}

TEST(CopyLine, SomePiecesAtATime) {
  const Operation copy = copy_to_device(500);
  Submission in_pieces = submission(0, copy, 0, 100);
  in_pieces.pieces_at_a_time = 3;
  CopyLine line;
  line.add(in_pieces);
  EXPECT_TRUE(line.next_may_join(2));
  EXPECT_FALSE(line.next_may_join(3));
  const CopyPiece piece = line.take();
  EXPECT_TRUE(piece.lets_follow(2));
  EXPECT_FALSE(piece.lets_follow(3));
}

TEST(CopyStarts, AreThoseOfTheFirstPieces) {
  const Operation copy = copy_to_device(100);
  CopyStarts starts;
  starts.begin({.copy = submission(4, copy)}, Time(Duration(10)));
  starts.begin({.copy = submission(2, copy)}, Time(Duration(20)));
  EXPECT_EQ(starts.end({.copy = submission(2, copy)}), Time(Duration(20)));
  EXPECT_EQ(starts.end({.copy = submission(4, copy)}), Time(Duration(10)));
}

}  // namespace
}  // namespace gpushare
