// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/errors.hpp"

namespace gpushare::daemon {

/// As require(), with a message that is put together only where it is needed: for what is checked with every command.
template <typename Message>
void require_lazily(bool holds, Message message) {
  if (!holds) throw InvalidInput(message());
}

}  // namespace gpushare::daemon
