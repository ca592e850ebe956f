// SPDX-License-Identifier: Apache-2.0
#include "record/trace_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

namespace gpushare::recording {
namespace {

class TraceFileTest : public testing::Test {
 protected:
  TraceFileTest() {
    std::string pattern = testing::TempDir() + "trace-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~TraceFileTest() override { std::filesystem::remove_all(folder_); }

  std::string bytes_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string folder_;
};

template <typename Record>
Record read(const std::string& bytes, std::size_t place) {
  Record record;
  std::memcpy(&record, bytes.data() + place, sizeof(record));
  return record;
}

TEST_F(TraceFileTest, BeginsWithItsHeader) {
  {
    const TraceFile file = TraceFile::create(folder_, 17);
  }
  const std::string bytes = bytes_of("17-0.part");
  ASSERT_EQ(bytes.size(), sizeof(FileHeader));
  EXPECT_EQ(bytes.substr(0, 8), "GPUTRACE");
  EXPECT_EQ(read<FileHeader>(bytes, 0).version, 1u);
  EXPECT_EQ(read<FileHeader>(bytes, 0).header_bytes, 16u);
}

TEST_F(TraceFileTest, RecordsSayTheirLengthWithTheTextBehindThem) {
  TraceFile file = TraceFile::create(folder_, 17);
  RecordBatch batch;
  batch.add(KernelNameRecord{.name = 4}, "saxpy");
  batch.add(KernelRecord{.start = 10, .end = 20, .name = 4});
  file.write(batch);
  const std::string bytes = bytes_of("17-0.part");
  const auto name = read<KernelNameRecord>(bytes, 16);
  EXPECT_EQ(name.header.kind, RecordKind::KernelName);
  EXPECT_EQ(name.header.bytes, 16u + 5u);
  EXPECT_EQ(bytes.substr(32, 5), "saxpy");
  const auto kernel = read<KernelRecord>(bytes, 16 + 21);
  EXPECT_EQ(kernel.header.kind, RecordKind::Kernel);
  EXPECT_EQ(kernel.end, 20u);
  EXPECT_EQ(bytes.size(), 16u + 21u + 88u);
}

TEST_F(TraceFileTest, AProcessThatBecomesAnotherProgramHasAnotherFile) {
  {
    const TraceFile file = TraceFile::create(folder_, 17);
  }
  {
    const TraceFile file = TraceFile::create(folder_, 17);
  }
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/17-1.part"));
}

TEST_F(TraceFileTest, BatchesOfSeveralThreadsStayWhole) {
  TraceFile file = TraceFile::create(folder_, 17);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        RecordBatch batch;
        batch.add(LostRecord{.records = i});
        batch.add(EndRecord{.time = i});
        file.write(batch);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string bytes = bytes_of("17-0.part");
  ASSERT_EQ(bytes.size(), 16u + 4 * 200 * 32);
  for (std::size_t place = 16; place < bytes.size(); place += 32) {
    EXPECT_EQ(read<LostRecord>(bytes, place).header.kind, RecordKind::Lost);
    EXPECT_EQ(read<LostRecord>(bytes, place).records, read<EndRecord>(bytes, place + 16).time);
  }
}

TEST_F(TraceFileTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(TraceFile::create(folder_ + "/none", 17), std::system_error);
}

}  // namespace
}  // namespace gpushare::recording
