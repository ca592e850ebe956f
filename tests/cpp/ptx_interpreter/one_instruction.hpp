// SPDX-License-Identifier: Apache-2.0
// Cases for tests of one instruction at a time: what it leaves in a 64-bit word.
#pragma once

#include <bit>
#include <ostream>
#include <string>

#include "ptx_interpreter/sample_kernels.hpp"

namespace gpushare::interpreter::test {

inline std::uint64_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

/// A body and the word it leaves.
struct Case {
  std::string body;  ///< leaves its result in %q0, %r0, %f0, %d0 or %h0
  std::uint64_t expected;
};

inline void PrintTo(const Case& each, std::ostream* out) { *out << each.body; }

/// Stores whichever register the body writes last, widened to 64 bits.
inline std::string with_store(const std::string& body) {
  if (body.find("%q0,") != std::string::npos) return body + " st.global.u64 [%o], %q0;";
  if (body.find("%d0,") != std::string::npos) return body + " st.global.f64 [%o], %d0;";
  if (body.find("%f0,") != std::string::npos) return body + " st.global.f32 [%o], %f0;";
  if (body.find("%h0,") != std::string::npos) return body + " st.global.u16 [%o], %h0;";
  if (body.find("%r0,") != std::string::npos) return body + " st.global.u32 [%o], %r0;";
  return body + " selp.u32 %r0, 1, 0, %p0; st.global.u32 [%o], %r0;";
}

}  // namespace gpushare::interpreter::test
