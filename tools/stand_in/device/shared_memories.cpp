// SPDX-License-Identifier: Apache-2.0
#include "device/shared_memories.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "device/refusal.hpp"

namespace gpushare::stand_in {
namespace {

/// The number behind it says of which device it is, in other processes too.
const std::string file_name = "memory of stand-in device ";

int new_file(int device, std::size_t bytes) {
  const int made = ::memfd_create((file_name + std::to_string(device)).c_str(), MFD_CLOEXEC);
  if (made < 0 || ::ftruncate(made, static_cast<off_t>(bytes)) != 0) {
    throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "no file of that size");
  }
  return made;
}

int device_of(int descriptor) {
  std::array<char, 200> link{};
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(path.c_str(), link.data(), link.size() - 1);
  const std::string name(link.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const std::size_t at = name.find(file_name);
  return at == name.npos ? 0 : std::atoi(name.c_str() + at + file_name.size());
}

}  // namespace

SharedFile::SharedFile(int device, int descriptor, std::size_t bytes) : device_(device), descriptor_(descriptor) {
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    ::close(descriptor);
    throw Denial(CUDA_ERROR_OUT_OF_MEMORY, "the file cannot be mapped");
  }
  bytes_ = {static_cast<std::byte*>(mapped), bytes};
}

SharedFile::SharedFile(int device, std::size_t bytes) : SharedFile(device, new_file(device, bytes), bytes) {}

std::shared_ptr<SharedFile> SharedFile::received(int descriptor) {
  struct stat found{};
  const bool is_file = ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_nlink == 0;
  const auto bytes = static_cast<std::size_t>(found.st_size);
  expect(is_file && bytes > 0 && bytes % unit == 0, CUDA_ERROR_INVALID_VALUE, "the descriptor is of no such memory");
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return std::shared_ptr<SharedFile>(new SharedFile(device_of(descriptor), own, bytes));
}

SharedFile::~SharedFile() {
  ::munmap(bytes_.data(), bytes_.size());
  ::close(descriptor_);
}

std::size_t OwnFiles::bytes() {
  std::erase_if(files_, [](const std::weak_ptr<SharedFile>& each) { return each.expired(); });
  std::size_t sum = 0;
  for (const auto& each : files_) {
    if (const auto there = each.lock()) sum += there->bytes().size();
  }
  return sum;
}

}  // namespace gpushare::stand_in
