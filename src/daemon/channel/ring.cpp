// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/ring.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>

#include "core/model/errors.hpp"
#include "daemon/channel/peer_errors.hpp"

namespace gpushare::daemon {
namespace {

using RecordSize = std::uint32_t;
constexpr std::size_t alignment = 8;  // so a record's size never wraps around

constexpr std::size_t occupied(std::size_t record_bytes) {
  return (sizeof(RecordSize) + record_bytes + alignment - 1) / alignment * alignment;
}

void expect_power_of_two(std::size_t bytes) {
  GPUSHARE_EXPECT(bytes >= alignment && std::has_single_bit(bytes), "a ring of " + std::to_string(bytes) + " bytes");
}

}  // namespace

RingWriter::RingWriter(RingControl& control, std::span<std::byte> bytes) : control_(control), bytes_(bytes) {
  expect_power_of_two(bytes.size());
}

bool RingWriter::has_room(std::size_t needed) {
  if (needed <= bytes_.size() - (written_ - read_)) return true;
  const std::uint64_t read = control_.read.load();
  require_peer(read >= read_ && read <= written_, "the reader of a ring claims to have read what was not written");
  read_ = read;
  return needed <= bytes_.size() - (written_ - read_);
}

std::uint64_t RingWriter::append(std::uint64_t position, Part part) {
  if (part.empty()) return position;
  const std::size_t start = position & (bytes_.size() - 1);
  const std::size_t before_end = std::min(part.size(), bytes_.size() - start);
  std::memcpy(bytes_.data() + start, part.data(), before_end);
  std::memcpy(bytes_.data(), part.data() + before_end, part.size() - before_end);
  return position + part.size();
}

bool RingWriter::write(std::initializer_list<Part> parts) {
  std::size_t size = 0;
  for (const Part part : parts) size += part.size();
  GPUSHARE_EXPECT(size <= most_record_bytes(), "a record of " + std::to_string(size) + " bytes");
  if (!has_room(occupied(size))) return false;
  const auto record_size = static_cast<RecordSize>(size);
  std::uint64_t position = append(written_, part_of(record_size));
  for (const Part part : parts) position = append(position, part);
  written_ += occupied(size);
  control_.written.store(written_);
  return true;
}

Sleeper RingWriter::take_sleeper() {
  const std::uint32_t said = take(control_.reader_sleeps);
  if (said == 0) return Sleeper::None;
  return said == static_cast<std::uint32_t>(Sleeper::AtWord) ? Sleeper::AtWord : Sleeper::AtBell;
}

void RingWriter::wake(std::atomic<std::uint32_t>& word) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);  // fails only where no thread can sleep
}

RingReader::RingReader(RingControl& control, std::span<const std::byte> bytes) : control_(control), bytes_(bytes) {
  expect_power_of_two(bytes.size());
}

void RingReader::copy_out(std::uint64_t position, std::span<std::byte> to) const {
  const std::size_t start = position & (bytes_.size() - 1);
  const std::size_t before_end = std::min(to.size(), bytes_.size() - start);
  std::memcpy(to.data(), bytes_.data() + start, before_end);
  std::memcpy(to.data() + before_end, bytes_.data(), to.size() - before_end);
  // Without this the compiler may read shared memory again instead of the copy.
  asm volatile("" ::: "memory");
}

bool RingReader::sleep_at_word(Duration longest) const {
  const std::int64_t left = std::max<std::int64_t>(longest.count(), 0);
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  const auto expected = static_cast<std::uint32_t>(Sleeper::AtWord);
  ::syscall(SYS_futex, &control_.reader_sleeps, FUTEX_WAIT, expected, &timeout, nullptr, 0);
  return control_.reader_sleeps.load() != expected;
}

std::optional<std::size_t> RingReader::read(std::span<std::byte> record) {
  if (written_ == read_) {
    const std::uint64_t written = control_.written.load();
    require_peer(written >= read_ && written - read_ <= bytes_.size() && written % alignment == 0,
                 "the writer of a ring claims to have written more than fits");
    written_ = written;
    if (written_ == read_) return std::nullopt;
  }
  RecordSize size = 0;
  copy_out(read_, std::as_writable_bytes(std::span(&size, 1)));
  require_peer(size <= record.size(), "a record is larger than any that the protocol knows");
  require_peer(occupied(size) <= written_ - read_, "a record is longer than what was written");
  copy_out(read_ + sizeof(size), record.first(size));
  read_ += occupied(size);
  control_.read.store(read_);
  return size;
}

}  // namespace gpushare::daemon
