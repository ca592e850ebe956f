// SPDX-License-Identifier: Apache-2.0
// A queue of records in shared memory, with one writing and one reading process. Neither trusts the other: each keeps
// its counter in private memory, reads only the other's from shared memory, and checks it before use; records are
// copied out before they are parsed, so that they cannot change afterwards.
//
// A record is its size (4 bytes) and its bytes, padded to a multiple of 8. It may wrap around the end. Counters count
// bytes since the start and never wrap.
//
// No lost wake-ups. The writer makes a record visible (1) and then checks whether the reader sleeps (2). The reader
// announces its sleep (3), then checks for records once more (4), and only then sleeps. All four are sequentially
// consistent, so they have one order for both sides. Either (1) comes before (4): the reader sees the record and does
// not sleep. Or (4) comes before (1): then so does (3), and (2) sees that the reader sleeps and rings its doorbell,
// which stays rung until the reader hears it. A writer that waits for room is woken in the same way.
//
// A reader sleeps at its doorbell, or at the word with its announcement (a futex): there only this reader is woken,
// without the threads that listen to the bell, and at less cost. A changed word prevents the sleep.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "core/model/units.hpp"

namespace gpushare::daemon {

/// The state of a reader's sleep. The other side may write any value.
enum class Sleeper : std::uint32_t { None = 0, AtBell = 1, AtWord = 2 };

/// In shared memory, before the records. Fields that one side writes have separate cache lines.
struct RingControl {
  alignas(64) std::atomic<std::uint64_t> written{0};        ///< bytes so far, by the writer
  alignas(64) std::atomic<std::uint64_t> read{0};           ///< bytes so far, by the reader
  alignas(64) std::atomic<std::uint32_t> reader_sleeps{0};  ///< a Sleeper
  alignas(64) std::atomic<std::uint32_t> writer_sleeps{0};
};
static_assert(sizeof(RingControl) == 256 && std::atomic<std::uint64_t>::is_always_lock_free);

using Part = std::span<const std::byte>;

template <typename T>
Part part_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

class RingWriter {
 public:
  /// `bytes` must have a power of two of bytes, at least 8.
  RingWriter(RingControl& control, std::span<std::byte> bytes);

  /// Appends the parts as one record; false while there is no room. Throws PeerViolation.
  bool write(std::initializer_list<Part> parts);
  /// To be called after writing: does the reader have to be woken? True once for every time that it went to sleep.
  Sleeper take_sleeper();
  bool must_wake_reader() { return take_sleeper() != Sleeper::None; }
  void wake_at_word() { wake(control_.reader_sleeps); }
  /// The reader wakes the writer when it has made room. Try to write once more before the sleep.
  void announce_sleep() { control_.writer_sleeps.store(1); }

  /// The largest record that ever fits.
  std::size_t most_record_bytes() const { return bytes_.size() - sizeof(std::uint32_t); }

  static std::uint32_t take(std::atomic<std::uint32_t>& flag) { return flag.load() != 0 ? flag.exchange(0) : 0; }
  /// Wakes one of the threads that sleep at this word.
  static void wake(std::atomic<std::uint32_t>& word);

 private:
  bool has_room(std::size_t needed);
  std::uint64_t append(std::uint64_t position, Part part);

  RingControl& control_;
  std::span<std::byte> bytes_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // as last seen
};

class RingReader {
 public:
  RingReader(RingControl& control, std::span<const std::byte> bytes);

  bool has_record() const { return has_record_after(read_); }
  /// The reader's position; another thread may use it to check for further records.
  std::uint64_t position() const { return read_; }
  bool has_record_after(std::uint64_t position) const { return control_.written.load() != position; }
  /// Copies the next record to the start of `record`: its size, or nullopt where there is none. Throws PeerViolation,
  /// also for a record that is larger.
  std::optional<std::size_t> read(std::span<std::byte> record);
  /// To be called after reading: does the writer wait for room?
  bool must_wake_writer() { return RingWriter::take(control_.writer_sleeps) != 0; }
  /// The writer wakes the reader when there is a record. Ask has_record() once more before going to sleep.
  void announce_sleep(Sleeper where = Sleeper::AtBell) {
    control_.reader_sleeps.store(static_cast<std::uint32_t>(where));
  }
  void cancel_sleep() { control_.reader_sleeps.store(0); }
  /// Sleeps at most so long, and only while the announcement is AtWord. Was it woken?
  bool sleep_at_word(Duration longest) const;
  /// From another thread of the reader's process.
  void end_sleep_at_word() {
    cancel_sleep();
    RingWriter::wake(control_.reader_sleeps);
  }

 private:
  void copy_out(std::uint64_t position, std::span<std::byte> to) const;

  RingControl& control_;
  std::span<const std::byte> bytes_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;  // as last seen
};

}  // namespace gpushare::daemon
