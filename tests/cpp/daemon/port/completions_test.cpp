// SPDX-License-Identifier: Apache-2.0
// Completions from the worker's side of their ring to the client's.
#include <gtest/gtest.h>

#include "daemon/channel/peer_errors.hpp"
#include "daemon/port/completion_reader.hpp"
#include "daemon/port/completion_writer.hpp"

namespace gpushare::daemon {
namespace {

class Completions : public testing::Test {
 protected:
  JobNumber next_job() {
    const auto end = reader_.read_end();
    return end ? end->first : 0;
  }

  RingControl control_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  CompletionWriter writer_{control_, memory_};
  CompletionReader reader_{control_, memory_};
};

TEST_F(Completions, ArriveAsTheyWerePut) {
  writer_.put(7, 100, {.status = JobStatus::Failed, .started = 110, .ended = 120, .message = "why"});
  const auto end = reader_.read_end();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->first, 7U);
  EXPECT_EQ(end->second.status, JobStatus::Failed);
  EXPECT_EQ(end->second.accepted, 100);
  EXPECT_EQ(end->second.started, 110);
  EXPECT_EQ(end->second.ended, 120);
  EXPECT_EQ(end->second.message, "why");
  EXPECT_EQ(reader_.read_end(), std::nullopt);
}

TEST_F(Completions, ThoseWithoutRoomWaitInTheirOrder) {
  constexpr JobNumber all = 200;
  for (JobNumber job = 1; job <= all; ++job) writer_.put(job, 0, {.status = JobStatus::Refused});
  EXPECT_GT(writer_.late(), 0U);
  EXPECT_EQ(writer_.completions(), all);
  EXPECT_EQ(writer_.refused(), all);
  JobNumber expected = 1;
  while (expected <= all) {
    const JobNumber before = expected;
    for (JobNumber job = next_job(); job != 0; job = next_job()) EXPECT_EQ(job, expected++);
    ASSERT_GT(expected, before);
    writer_.flush();
  }
  EXPECT_EQ(writer_.late(), 0U);
}

TEST_F(Completions, LongMessagesKeepTheirBeginningAndTheirEnd) {
  const std::string message = "begin" + std::string(2 * wire::most_message_bytes, '.') + "end";
  writer_.put(1, 0, {.status = JobStatus::Failed, .message = message});
  const auto end = reader_.read_end();
  ASSERT_TRUE(end);
  EXPECT_LE(end->second.message.size(), wire::most_message_bytes);
  EXPECT_TRUE(end->second.message.starts_with("begin"));
  EXPECT_TRUE(end->second.message.ends_with("end"));
}

TEST_F(Completions, RingThatItsClientHasSpoiltIsAViolationAndThrowsNothing) {
  control_.read = 12345;
  writer_.put(1, 0, {});
  for (JobNumber job = 2; job <= 200 && writer_.violation().empty(); ++job) writer_.put(job, 0, {});
  EXPECT_NE(writer_.violation(), "");
}

TEST_F(Completions, RecordsOfAWrongSizeAreViolations) {
  RingWriter forged(control_, memory_);
  wire::Completion completion{.job = 1};
  completion.message_bytes = 5;
  ASSERT_TRUE(forged.write({part_of(completion)}));
  EXPECT_THROW(reader_.read_end(), PeerViolation);
  ASSERT_TRUE(forged.write({std::as_bytes(std::span("short"))}));
  EXPECT_THROW(reader_.read_end(), PeerViolation);
}

}  // namespace
}  // namespace gpushare::daemon
