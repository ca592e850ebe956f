// SPDX-License-Identifier: Apache-2.0
// Copies between host and device, which an ordering may let wait. A copy to the device returns at once, but for one
// from pinned memory by a call that waits, after which other streams may rely on it; a copy to the host is the last
// call of a task, and waits as it always has.
//
// Copies of two and three dimensions, within a device, and sets of memory are in no phase: they are work of their
// stream between the gates there.
#include <algorithm>
#include <cstring>

#include "intercept/calls/captures.hpp"
#include "intercept/calls/host_waits.hpp"
#include "intercept/launch_samples.hpp"
#include "intercept/phases.hpp"
#include "intercept/staging.hpp"

namespace gpushare::intercept {
namespace {

using programs::PhaseKind;

/// The host's memory is copied in parts, between which the scheduler hears of the process.
constexpr std::size_t part_bytes = 256 << 10;

enum class Place { Pageable, Pinned, Device };

Place place_of(const void* address) {
  unsigned type = 0;
  const CUresult result = call(real.cuPointerGetAttribute, static_cast<void*>(&type), CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               reinterpret_cast<CUdeviceptr>(address));
  if (result != CUDA_SUCCESS) return Place::Pageable;
  unsigned is_managed = 0;
  call(real.cuPointerGetAttribute, static_cast<void*>(&is_managed), CU_POINTER_ATTRIBUTE_IS_MANAGED,
       reinterpret_cast<CUdeviceptr>(address));
  return type == CU_MEMORYTYPE_HOST && is_managed == 0 ? Place::Pinned : Place::Device;
}

/// A copy as the program asks for it.
struct AskedCopy {
  std::byte* host = nullptr;
  CUdeviceptr device = 0;
  std::size_t bytes = 0;
  CUstream stream = nullptr;  ///< as `named` names it
  bool waits = false;         ///< the call returns when it has been made
};

/// nullptr where the copy is the driver's alone.
const Membership* orderer_of(const AskedCopy& copy) {
  const Membership* member = this_member();
  if (member == nullptr || !is_ordered(*member) || copy.bytes == 0 || copy.host == nullptr) return nullptr;
  return is_captured(copy.stream) ? nullptr : member;
}

/// In pieces of this size. `one` makes the copy of a piece: (offset, bytes, is it one of several).
template <class One>
CUresult in_pieces(std::size_t bytes, std::size_t piece, const One& one) {
  if (piece == 0 || piece >= bytes) return one(std::size_t{0}, bytes, false);
  CUresult result = CUDA_SUCCESS;
  for (std::size_t offset = 0; offset < bytes && result == CUDA_SUCCESS; offset += piece) {
    result = one(offset, std::min(piece, bytes - offset), true);
  }
  return result;
}

CUresult issued_to_device(const Membership& member, const AskedCopy& copy, const std::byte* from, std::size_t offset,
                          std::size_t bytes, bool begins_phase) {
  const PhaseCall phase(member, copy.stream,
                        {.kind = PhaseKind::ToDevice, .bytes = bytes, .begins_phase = begins_phase});
  return call(real.cuMemcpyHtoDAsync_v2, copy.device + offset, static_cast<const void*>(from), bytes, copy.stream);
}

void copy_in_parts(const Membership& member, std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t offset = 0; offset < bytes; offset += part_bytes) {
    std::memcpy(to + offset, from + offset, std::min(part_bytes, bytes - offset));
    keep_task_open(member);
  }
}

CUresult staged_to_device(const Membership& member, const AskedCopy& copy, std::size_t offset, std::size_t bytes,
                          bool begins_phase) {
  const Staged staged = stage(member, bytes, copy.stream);
  if (staged.bytes == nullptr) {
    complete_task(member);
    const CUdeviceptr to = copy.device + offset;
    const void* from = copy.host + offset;
    const CUresult result = call(real.cuMemcpyHtoDAsync_v2, to, from, bytes, copy.stream);
    // The program may change the memory once its call returns.
    return result == CUDA_SUCCESS && copy.waits ? call(real.cuStreamSynchronize, copy.stream) : result;
  }
  copy_in_parts(member, staged.bytes, copy.host + offset, bytes);
  const CUresult result = issued_to_device(member, copy, staged.bytes, offset, bytes, begins_phase);
  staged_copy_is_issued(staged, copy.stream);
  return result;
}

/// Waits for the stream, in which the task has come to its end.
CUresult end_of_task_in(const Membership& member, CUstream stream) {
  complete_task(member);
  const WaitMark noted(&member);
  return call(real.cuStreamSynchronize, stream);
}

/// `direct` is the driver's call.
template <class Direct>
CUresult to_device(const AskedCopy& copy, const Direct& direct) {
  const Membership* member = orderer_of(copy);
  const Place from = member != nullptr ? place_of(copy.host) : Place::Device;
  if (from == Place::Device) return direct();
  const bool is_staged = from == Place::Pageable;
  if (is_staged) prepare_staging(*member, copy.bytes);
  const std::size_t piece = member->page->piece_to_device_bytes;
  const CUresult issued = in_pieces(copy.bytes, piece, [&](std::size_t offset, std::size_t bytes, bool is_piece) {
    if (!is_staged) return issued_to_device(*member, copy, copy.host + offset, offset, bytes, is_piece);
    const std::size_t end = offset + bytes;
    CUresult result = CUDA_SUCCESS;
    for (std::size_t at = offset; at < end && result == CUDA_SUCCESS; at += most_staged_bytes) {
      const std::size_t part = std::min(most_staged_bytes, end - at);
      result = staged_to_device(*member, copy, at, part, is_piece && at == offset);
    }
    return result;
  });
  return is_staged || !copy.waits || issued != CUDA_SUCCESS ? issued : end_of_task_in(*member, copy.stream);
}

CUresult issued_to_host(const Membership& member, const AskedCopy& copy) {
  const std::size_t piece = member.page->piece_to_host_bytes;
  return in_pieces(copy.bytes, piece, [&](std::size_t offset, std::size_t bytes, bool is_piece) {
    const PhaseCall phase(member, copy.stream, {.kind = PhaseKind::ToHost, .bytes = bytes, .begins_phase = is_piece});
    return call(real.cuMemcpyDtoHAsync_v2, static_cast<void*>(copy.host + offset), copy.device + offset, bytes,
                copy.stream);
  });
}

/// A call that waits for a copy to pinned memory is one that does not, and a wait for its stream. Copies to pageable
/// memory go whole: the driver waits between their parts.
template <class Direct>
CUresult to_host(const AskedCopy& copy, const Direct& direct) {
  const Membership* member = orderer_of(copy);
  const Place to = member != nullptr ? place_of(copy.host) : Place::Device;
  if (to == Place::Device) return direct();
  const bool is_in_pieces = member->page->piece_to_host_bytes != 0;
  if (to == Place::Pinned && (!copy.waits || is_in_pieces)) {
    const CUresult result = issued_to_host(*member, copy);
    return copy.waits && result == CUDA_SUCCESS ? end_of_task_in(*member, copy.stream) : result;
  }
  CUresult result = CUDA_SUCCESS;
  {
    const AwaitedPhase phase(*member, copy.stream, copy.bytes);
    const WaitMark noted(member);
    result = direct();
  }
  note_result(*member, result);
  read_samples(*member);
  return result;
}

/// A copy whose direction follows from its addresses.
template <class Direct>
CUresult copied(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, bool waits,
                const Direct& direct) {
  const Membership* member = this_member();
  if (member == nullptr || !is_ordered(*member)) return direct();
  const Place source = place_of(reinterpret_cast<const void*>(from));
  const Place target = place_of(reinterpret_cast<const void*>(to));
  if (source == Place::Device && target != Place::Device) {
    return to_host({reinterpret_cast<std::byte*>(to), from, bytes, stream, waits}, direct);
  }
  if (source != Place::Device && target == Place::Device) {
    return to_device({reinterpret_cast<std::byte*>(from), to, bytes, stream, waits}, direct);
  }
  return direct();
}

std::byte* host_bytes(const void* host) { return static_cast<std::byte*>(const_cast<void*>(host)); }

}  // namespace
}  // namespace gpushare::intercept

using namespace gpushare::intercept;

#define GPUSHARE_COPIES(ds, sz, otherwise)                                                             \
  CUresult cuMemcpyHtoD_v2##ds(CUdeviceptr to, const void* from, size_t bytes) {                       \
    return to_device({host_bytes(from), to, bytes, named(nullptr, otherwise), true},                   \
                     [&] { return call(real.cuMemcpyHtoD_v2##ds, to, from, bytes); });                 \
  }                                                                                                    \
  CUresult cuMemcpyHtoDAsync_v2##sz(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) { \
    return to_device({host_bytes(from), to, bytes, named(stream, otherwise)},                          \
                     [&] { return call(real.cuMemcpyHtoDAsync_v2##sz, to, from, bytes, stream); });    \
  }                                                                                                    \
  CUresult cuMemcpyDtoH_v2##ds(void* to, CUdeviceptr from, size_t bytes) {                             \
    return to_host({host_bytes(to), from, bytes, named(nullptr, otherwise), true},                     \
                   [&] { return call(real.cuMemcpyDtoH_v2##ds, to, from, bytes); });                   \
  }                                                                                                    \
  CUresult cuMemcpyDtoHAsync_v2##sz(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {       \
    return to_host({host_bytes(to), from, bytes, named(stream, otherwise)},                            \
                   [&] { return call(real.cuMemcpyDtoHAsync_v2##sz, to, from, bytes, stream); });      \
  }                                                                                                    \
  CUresult cuMemcpy##ds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {                              \
    return copied(to, from, bytes, named(nullptr, otherwise), true,                                    \
                  [&] { return call(real.cuMemcpy##ds, to, from, bytes); });                           \
  }                                                                                                    \
  CUresult cuMemcpyAsync##sz(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {        \
    return copied(to, from, bytes, named(stream, otherwise), false,                                    \
                  [&] { return call(real.cuMemcpyAsync##sz, to, from, bytes, stream); });              \
  }

extern "C" {
GPUSHARE_COPIES(, , DefaultStream::Legacy)
GPUSHARE_COPIES(_ptds, _ptsz, DefaultStream::PerThread)
}
