// SPDX-License-Identifier: Apache-2.0
#include "intercept/images/fat_binary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "core/model/errors.hpp"
#include "intercept/images/worker_image.hpp"

namespace gpushare::images {
namespace {

using testing::HasSubstr;

constexpr std::uint16_t ptx = 1;
constexpr std::uint16_t elf = 2;
constexpr std::uint64_t lz4 = 0x2000;
constexpr std::uint64_t zstd = 0x8000;
constexpr std::uint64_t exact = 0x100000;

template <class Number>
void put(std::string& to, Number number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string entry(std::uint16_t kind, std::uint32_t architecture, const std::string& code, std::uint64_t flags = 0,
                  std::uint64_t uncompressed = 0) {
  std::string made;
  put(made, kind);
  put(made, std::uint16_t{0x0101});
  put(made, std::uint32_t{64});
  put(made, std::uint64_t{code.size()});
  put(made, static_cast<std::uint32_t>(flags & (lz4 | zstd) ? code.size() : 0));
  put(made, std::uint32_t{0});
  put(made, std::uint32_t{9 << 16});
  put(made, architecture);
  put(made, std::uint64_t{0});
  put(made, flags | 0x11);
  put(made, std::uint64_t{0});
  put(made, uncompressed);
  return made + code;
}

std::string fat_binary(const std::string& entries) {
  std::string made;
  put(made, std::uint32_t{0xBA55ED50});
  put(made, std::uint16_t{1});
  put(made, std::uint16_t{16});
  put(made, std::uint64_t{entries.size()});
  return made + entries;
}

std::string read(const std::string& binary, int capability = 90) {
  return ptx_of_fat_binary(std::as_bytes(std::span(binary)), capability);
}

/// The reason for which there is none.
std::string refusal(const std::string& binary, int capability = 90) {
  try {
    static_cast<void>(read(binary, capability));
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

const std::string text =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry step(.param .u64 a)\n{ ret; }\n";

TEST(FatBinary, GivesTheLatestPtxThatTheDeviceRuns) {
  const std::string binary = fat_binary(entry(ptx, 80, "of 80") + entry(ptx, 90, "of 90") + entry(ptx, 100, "of 100"));
  EXPECT_EQ(read(binary, 90), "of 90");
  EXPECT_EQ(read(binary, 89), "of 80");
  EXPECT_EQ(read(binary, 120), "of 100");
  EXPECT_THAT(refusal(binary, 75), HasSubstr("no PTX for this GPU"));
}

TEST(FatBinary, GivesPtxForOneArchitectureToThatAlone) {
  const std::string binary = fat_binary(entry(ptx, 90, "of 90a", exact) + entry(ptx, 80, "of 80"));
  EXPECT_EQ(read(binary, 90), "of 90a");
  EXPECT_EQ(read(binary, 100), "of 80");
}

TEST(FatBinary, GivesNoPtxWhereTheDriverWouldRunLaterMachineCode) {
  EXPECT_THAT(refusal(fat_binary(entry(ptx, 80, "of 80") + entry(elf, 90, "code"))), HasSubstr("another architecture"));
  EXPECT_THAT(refusal(fat_binary(entry(ptx, 90, "of 90") + entry(elf, 90, "code", exact))),
              HasSubstr("another architecture"));
  EXPECT_EQ(read(fat_binary(entry(ptx, 80, "of 80") + entry(elf, 80, "code"))), "of 80");
  EXPECT_EQ(read(fat_binary(entry(ptx, 90, "of 90") + entry(elf, 100, "code"))), "of 90");
}

TEST(FatBinary, EndsTextAtItsZero) {
  EXPECT_EQ(read(fat_binary(entry(ptx, 90, std::string("text\0\0\0\0", 8)))), "text");
}

TEST(FatBinary, RefusesSizesBeyondTheEnd) {
  const std::string good = fat_binary(entry(ptx, 90, text));
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_NE(refusal(good.substr(0, bytes)), "none") << bytes;
  }
  for (const std::size_t size_at : {6ul, 8ul, 20ul, 24ul}) {
    for (const std::uint64_t size : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0xffffff00}}) {
      std::string bad = good;
      std::memcpy(bad.data() + size_at, &size, size_at == 6 ? 2 : size_at == 20 ? 4 : 8);
      EXPECT_NE(refusal(bad), "none") << size_at;
    }
  }
}

TEST(FatBinary, RefusesDamagedCompression) {
  for (const std::uint64_t how : {lz4, zstd}) {
    EXPECT_NE(refusal(fat_binary(entry(ptx, 90, text, how, 1000))), "none");
    EXPECT_THAT(refusal(fat_binary(entry(ptx, 90, text, how, ~std::uint64_t{0}))), HasSubstr("damaged"));
  }
}

TEST(FatBinary, AnswersWhateverIsInIt) {
  std::mt19937 random(1);
  const std::string good = fat_binary(entry(elf, 90, "code") + entry(ptx, 90, text) + entry(ptx, 80, text, zstd, 500));
  for (int turn = 0; turn < 20'000; ++turn) {
    std::string bad = good.substr(0, turn % 3 == 0 ? random() % good.size() : good.size());
    for (auto changes = random() % 8; changes > 0 && !bad.empty(); --changes) {
      bad[random() % std::min<std::size_t>(bad.size(), 240)] = static_cast<char>(random());
    }
    static_cast<void>(refusal(bad));
  }
}

TEST(WorkerImage, HasAWorkerAndWhatItsLaunchesNeed) {
  const std::string more = text +
                           ".visible .entry wide(.param .u8 a, .param .align 16 .b8 b[20], .param .u32 c)\n{ ret; }\n"
                           ".visible .entry none\n{ mov.u32 %r1, %total_smem_size; ret; }\n";
  const WorkerImage* made = gpushare_make_workers(more.c_str(), 90);
  ASSERT_EQ(made->kernel_count, 2u);
  EXPECT_THAT(made->text, HasSubstr("step$worker"));
  const WorkerKernel& wide = made->kernels[1];
  EXPECT_STREQ(wide.name, "wide");
  EXPECT_EQ(std::vector(wide.parameter_offsets, wide.parameter_offsets + wide.parameters),
            (std::vector<std::uint32_t>{0, 16, 36}));
  EXPECT_EQ(wide.parameter_bytes, 40u);
  ASSERT_EQ(made->reason_count, 1u);
  EXPECT_THAT(made->reasons[0], HasSubstr("a kernel: "));
  gpushare_drop_workers(made);
}

TEST(WorkerImage, SaysWhyThereIsNone) {
  const std::string elf_file =
      "\x7f"
      "ELF and more";
  const std::string binary = fat_binary("");
  for (const std::string& image : {elf_file, binary, std::string("hello"), std::string(), std::string("\x01\x02\x03"),
                                   std::string(".version 8.0\n.target sm_90\n{{{{")}) {
    const WorkerImage* made = gpushare_make_workers(image.c_str(), 90);
    EXPECT_EQ(made->text, nullptr);
    gpushare_drop_workers(made);
  }
}

}  // namespace
}  // namespace gpushare::images
