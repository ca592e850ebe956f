// SPDX-License-Identifier: Apache-2.0
// What the rules of add, sub, mul and mad hand on: products wider than their operands, and carries.
#pragma once

#include <cstddef>

namespace gpushare::interpreter {

class Encoder;

/// mul.wide and mad.wide; so many sources.
void encode_wide_product(Encoder& encoder, std::size_t operands);
/// mul.hi and mad.hi.
void encode_high_product(Encoder& encoder, std::size_t operands);
/// add.cc, addc, sub.cc, subc, mad.lo.cc, madc.hi and their like.
void encode_with_carry(Encoder& encoder);

}  // namespace gpushare::interpreter
