// SPDX-License-Identifier: Apache-2.0
#include "device/shared_memories.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/refusal.hpp"

namespace gpushare::stand_in {

SharedFile::SharedFile(int descriptor, std::size_t bytes) : descriptor_(descriptor) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    ::close(descriptor);
    throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "the file cannot be mapped");
  }
  bytes_ = {static_cast<std::byte*>(mapped), bytes};
}

namespace {

int new_file(std::size_t bytes) {
  const int made = ::memfd_create("stand-in device memory", MFD_CLOEXEC);
  if (made < 0 || ::ftruncate(made, static_cast<off_t>(bytes)) != 0) {
    throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "no file of that size");
  }
  return made;
}

}  // namespace

SharedFile::SharedFile(std::size_t bytes) : SharedFile(new_file(bytes), bytes) {}

std::shared_ptr<SharedFile> SharedFile::received(int descriptor) {
  struct stat found{};
  const bool is_file = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 0;
  const auto bytes = static_cast<std::size_t>(found.st_size);
  expect(is_file && bytes > 0 && bytes % unit == 0, CUDA_ERROR_INVALID_VALUE, "the descriptor is of no such memory");
  return std::shared_ptr<SharedFile>(new SharedFile(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0), bytes));
}

SharedFile::~SharedFile() {
  ::munmap(bytes_.data(), bytes_.size());
  ::close(descriptor_);
}

std::size_t SharedMemories::taken_bytes() {
  std::erase_if(own, [](const std::weak_ptr<SharedFile>& each) { return each.expired(); });
  std::size_t bytes = 0;
  for (const auto& each : own) {
    if (const auto there = each.lock()) bytes += there->bytes().size();
  }
  return bytes;
}

}  // namespace gpushare::stand_in
