// SPDX-License-Identifier: Apache-2.0
#include "daemon/channel/shared_memory.hpp"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/model/errors.hpp"

namespace gpushare::daemon {
namespace {

// F_SEAL_SEAL too: else the other side could add F_SEAL_WRITE, which this side does not expect.
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

void require_seals(int file) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  require(seals >= 0, "the descriptor is not of shared memory made by memfd_create");
  require((seals & size_seals) == size_seals,
          "the shared memory's size is not sealed: add F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_SEAL");
  require((seals & F_SEAL_WRITE) == 0, "the shared memory is sealed against writing");
  // A huge page that is not available raises SIGBUS, whatever the size.
  struct statfs system{};
  if (::fstatfs(file, &system) != 0) throw_errno("fstatfs");
  require(system.f_type == TMPFS_MAGIC, "shared memory of huge pages is not supported: leave MFD_HUGETLB out");
}

}  // namespace

SharedMemory::SharedMemory(FileDescriptor file, std::size_t bytes) : file_(std::move(file)) {
  void* const start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (start == MAP_FAILED) throw_errno("mmap of " + std::to_string(bytes) + " bytes of shared memory");
  bytes_ = {static_cast<std::byte*>(start), bytes};
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

SharedMemory SharedMemory::create(const char* name, std::size_t bytes) {
  require(bytes > 0, "shared memory of 0 bytes");
  FileDescriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number() < 0) throw_errno("memfd_create");
  if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) throw_errno("ftruncate");
  if (::fcntl(file.number(), F_ADD_SEALS, size_seals) != 0) throw_errno("sealing shared memory");
  return {std::move(file), bytes};
}

SharedMemory SharedMemory::map(FileDescriptor file, std::size_t most_bytes) {
  require_seals(file.number());
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) throw_errno("fstat");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  require(bytes > 0 && bytes <= most_bytes,
          "shared memory of " + std::to_string(bytes) + " bytes: it must have 1 to " + std::to_string(most_bytes));
  return {std::move(file), bytes};
}

}  // namespace gpushare::daemon
