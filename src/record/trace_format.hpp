// SPDX-License-Identifier: Apache-2.0
// The file that one recorded process writes: a FileHeader, then records that each begin with their length, in whatever
// order they become known. Numbers are little-endian, times are CUPTI's nanoseconds, which are the same for all
// processes of a machine. A file may end anywhere, because a process may be killed: what is whole counts.
// gpushare/recorded/trace_format.py reads it; docs/reference/recording-format.md describes it.
#pragma once

#include <cstdint>

namespace gpushare::recording {

inline constexpr char file_magic[8] = {'G', 'P', 'U', 'T', 'R', 'A', 'C', 'E'};
inline constexpr std::uint32_t file_version = 1;

struct FileHeader {
  char magic[8] = {'G', 'P', 'U', 'T', 'R', 'A', 'C', 'E'};
  std::uint32_t version = file_version;
  std::uint32_t header_bytes = 16;
};

/// Readers skip kinds that they do not know.
enum class RecordKind : std::uint16_t {
  Process = 1,
  Device = 2,
  KernelName = 3,
  Kernel = 4,
  Copy = 5,
  Memset = 6,
  Wait = 7,
  Call = 8,
  Lost = 9,
  Problem = 10,
  End = 11,
  Memory = 12,
};

struct RecordHeader {
  std::uint32_t bytes = 0;  ///< of the whole record, with this and with what text follows it
  RecordKind kind{};
  std::uint16_t reserved = 0;
};

/// The first record. Text: the command line, a zero byte after every part.
struct ProcessRecord {
  static constexpr RecordKind kind = RecordKind::Process;
  RecordHeader header{};
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
  std::uint64_t time = 0;  ///< when it first used CUDA
};

/// Text: its name.
struct DeviceRecord {
  static constexpr RecordKind kind = RecordKind::Device;
  RecordHeader header{};
  std::uint32_t device = 0;
  std::uint32_t sms = 0;
  std::uint32_t warps_per_sm = 0;
  std::uint32_t blocks_per_sm = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t shared_bytes_per_sm = 0;
  std::uint32_t threads_per_warp = 0;
  std::uint32_t clock_khz = 0;
  std::uint32_t capability_major = 0;
  std::uint32_t capability_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t kilobytes_per_second = 0;  ///< of its memory
};

/// May come after kernels that refer to it. Text: the name as in the source.
struct KernelNameRecord {
  static constexpr RecordKind kind = RecordKind::KernelName;
  RecordHeader header{};
  std::uint32_t name = 0;
  std::uint32_t reserved = 0;
};

struct KernelRecord {
  static constexpr RecordKind kind = RecordKind::Kernel;
  RecordHeader header{};
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;  ///< the call that launched it
  std::uint32_t name = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t graph = 0;  ///< the CUDA graph that it is of; 0: none
  std::uint32_t reserved = 0;
};

struct CopyRecord {
  static constexpr RecordKind kind = RecordKind::Copy;
  RecordHeader header{};
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
  std::uint8_t direction = 0;      ///< CUpti_ActivityMemcpyKind
  std::uint8_t source_memory = 0;  ///< CUpti_ActivityMemoryKind
  std::uint8_t target_memory = 0;
  std::uint8_t is_asynchronous = 0;
  std::uint32_t reserved = 0;
};

struct MemsetRecord {
  static constexpr RecordKind kind = RecordKind::Memset;
  RecordHeader header{};
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t correlation = 0;
};

/// The host waited, or made a stream wait.
struct WaitRecord {
  static constexpr RecordKind kind = RecordKind::Wait;
  RecordHeader header{};
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t what = 0;  ///< CUpti_ActivitySynchronizationType
  std::uint32_t context = 0;
  std::uint32_t stream = 0;  ///< of no meaning where it waited for a whole context
  std::uint32_t correlation = 0;
};

/// A call of CUDA's runtime or driver. One that the runtime passes on to the driver may occur twice.
struct CallRecord {
  static constexpr RecordKind kind = RecordKind::Call;
  RecordHeader header{};
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t interface = 0;  ///< 0: driver, 1: runtime
  std::uint32_t function = 0;   ///< CUPTI's number of it
  std::uint32_t thread = 0;
  std::uint32_t correlation = 0;
};

/// Memory that the process took or gave back.
struct MemoryRecord {
  static constexpr RecordKind kind = RecordKind::Memory;
  RecordHeader header{};
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;
  std::uint32_t what = 0;    ///< CUpti_ActivityMemoryOperationType: 1 taken, 2 given back
  std::uint32_t memory = 0;  ///< CUpti_ActivityMemoryKind
  std::uint32_t context = 0;
};

/// CUPTI had no room for this many records.
struct LostRecord {
  static constexpr RecordKind kind = RecordKind::Lost;
  RecordHeader header{};
  std::uint64_t records = 0;
};

/// Why something is not recorded. Text: a sentence.
struct ProblemRecord {
  static constexpr RecordKind kind = RecordKind::Problem;
  RecordHeader header{};
};

/// The process has come to its end by itself.
struct EndRecord {
  static constexpr RecordKind kind = RecordKind::End;
  RecordHeader header{};
  std::uint64_t time = 0;
};

// The file holds these bytes.
static_assert(sizeof(FileHeader) == 16 && sizeof(RecordHeader) == 8 && sizeof(ProcessRecord) == 24);
static_assert(sizeof(DeviceRecord) == 64 && sizeof(KernelNameRecord) == 16 && sizeof(KernelRecord) == 88);
static_assert(sizeof(CopyRecord) == 56 && sizeof(MemsetRecord) == 48 && sizeof(WaitRecord) == 40);
static_assert(sizeof(CallRecord) == 40 && sizeof(LostRecord) == 16 && sizeof(ProblemRecord) == 8);
static_assert(sizeof(EndRecord) == 16 && sizeof(MemoryRecord) == 48);

}  // namespace gpushare::recording
