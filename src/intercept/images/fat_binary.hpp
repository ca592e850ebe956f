// SPDX-License-Identifier: Apache-2.0
// The PTX in what a program hands to the driver: a text, or a fat binary, which has code for several architectures.
//
//   wrapper    u32 0x466243b1, u32 version, address of a fat binary, address of more
//   header     u32 0xBA55ED50, u16 version, u16 bytes of the header, u64 bytes behind it
//   entry      u16 kind (1: PTX, 2: ELF), u16, u32 bytes of the entry's header, u64 bytes behind it, u32 the part of
//              them that is compressed code, u32, u16 minor, u16 major, u32 architecture, u32, u32, u64 flags, u64,
//              u64 bytes of the code; as many as fit the fat binary
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpushare::images {

/// The PTX of an image of unknown length, as the driver is given it, for a device of this capability (90: 9.0). Throws
/// InvalidInput with the reason where there is none, or where the driver would run other code.
std::string ptx_of(const void* image, int capability);

/// The same of a fat binary.
std::string ptx_of_fat_binary(std::span<const std::byte> binary, int capability);

}  // namespace gpushare::images
