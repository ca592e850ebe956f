// SPDX-License-Identifier: Apache-2.0
// Copies between host and device in all the ways there are, of bytes that tell which copy they are from.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "intercept/driver_calls.hpp"

namespace intercepted {

/// The function of this name as the CUDA runtime finds it.
template <class Function>
Function found_function(const char* name, bool is_per_thread) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const cuuint64_t flags =
      is_per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  CHECK(cu(cuGetProcAddress)(name, &found, 13000, flags, &status));
  return reinterpret_cast<Function>(found);
}

/// Bytes on the device, and on the host both pageable and pinned ones.
class Copies {
 public:
  static constexpr std::size_t most_bytes = 24 << 20;
  static constexpr unsigned char overwritten = 0xee;

  explicit Copies(CUstream stream) : stream_(stream), pageable_(most_bytes) {
    CHECK(cu(cuMemAlloc)(&device_, most_bytes));
    void* pinned = nullptr;
    CHECK(cu(cuMemHostAlloc)(&pinned, most_bytes, CU_MEMHOSTALLOC_PORTABLE));
    pinned_ = static_cast<unsigned char*>(pinned);
  }

  CUdeviceptr device() const { return device_; }
  static bool is_pinned(const std::string& how) { return how.starts_with("pinned"); }

  /// The host's bytes have another value right after the call, where it has to have read them by then.
  CUresult put(const std::string& how, unsigned char value, std::size_t bytes, CUdeviceptr to) {
    unsigned char* from = is_pinned(how) ? pinned_ : pageable_.data();
    std::memset(from, value, bytes);
    const std::map<std::string, std::function<CUresult()>> ways = {
        {"sync", [&] { return cu(cuMemcpyHtoD)(to, from, bytes); }},
        {"pinned_sync", [&] { return cu(cuMemcpyHtoD)(to, from, bytes); }},
        {"async", [&] { return cu(cuMemcpyHtoDAsync)(to, from, bytes, stream_); }},
        {"pinned", [&] { return cu(cuMemcpyHtoDAsync)(to, from, bytes, stream_); }},
        {"found", [&] { return found_function<decltype(&cuMemcpyHtoD)>("cuMemcpyHtoD", false)(to, from, bytes); }},
        {"found_per_thread",
         [&] { return found_function<decltype(&cuMemcpyHtoD)>("cuMemcpyHtoD", true)(to, from, bytes); }},
        {"found_async",
         [&] {
           return found_function<decltype(&cuMemcpyHtoDAsync)>("cuMemcpyHtoDAsync", true)(to, from, bytes, nullptr);
         }},
        {"any", [&] { return cu(cuMemcpyAsync)(to, address_of(from), bytes, stream_); }},
        {"any_sync", [&] { return cu(cuMemcpy)(to, address_of(from), bytes); }},
    };
    const CUresult result = ways.at(how)();
    if (how != "pinned") std::memset(from, overwritten, bytes);
    return result;
  }

  CUresult get(const std::string& how, std::size_t bytes, CUdeviceptr from) {
    unsigned char* to = is_pinned(how) ? pinned_ : pageable_.data();
    got_ = to;
    got_bytes_ = bytes;
    std::memset(to, overwritten, bytes);
    const std::map<std::string, std::function<CUresult()>> ways = {
        {"sync", [&] { return cu(cuMemcpyDtoH)(to, from, bytes); }},
        {"pinned_sync", [&] { return cu(cuMemcpyDtoH)(to, from, bytes); }},
        {"async", [&] { return cu(cuMemcpyDtoHAsync)(to, from, bytes, stream_); }},
        {"pinned", [&] { return cu(cuMemcpyDtoHAsync)(to, from, bytes, stream_); }},
        {"found", [&] { return found_function<decltype(&cuMemcpyDtoH)>("cuMemcpyDtoH", false)(to, from, bytes); }},
        {"found_per_thread",
         [&] { return found_function<decltype(&cuMemcpyDtoH)>("cuMemcpyDtoH", true)(to, from, bytes); }},
        {"found_async",
         [&] {
           return found_function<decltype(&cuMemcpyDtoHAsync)>("cuMemcpyDtoHAsync", true)(to, from, bytes, nullptr);
         }},
        {"any", [&] { return cu(cuMemcpyAsync)(address_of(to), from, bytes, stream_); }},
        {"any_sync", [&] { return cu(cuMemcpy)(address_of(to), from, bytes); }},
    };
    return ways.at(how)();
  }

  /// What the last copy to the host has brought: the values that are among its bytes.
  std::string got() const {
    std::vector<bool> is_there(256);
    for (std::size_t index = 0; index < got_bytes_; ++index) is_there[got_[index]] = true;
    std::string values = "bytes";
    for (std::size_t value = 0; value < is_there.size(); ++value) {
      if (is_there[value]) values += " " + std::to_string(value);
    }
    return values;
  }

 private:
  static CUdeviceptr address_of(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

  CUstream stream_;
  CUdeviceptr device_ = 0;
  std::vector<unsigned char> pageable_;
  unsigned char* pinned_ = nullptr;
  const unsigned char* got_ = nullptr;
  std::size_t got_bytes_ = 0;
};

}  // namespace intercepted
