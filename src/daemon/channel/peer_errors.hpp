// SPDX-License-Identifier: Apache-2.0
// Errors of the process at the other end. An error in a single command is an InvalidInput, which ends that job and
// nothing else.
#pragma once

#include <stdexcept>

namespace gpushare::daemon {

/// The other side broke the protocol: nothing that it sends from now on can be trusted. Its port is closed.
struct PeerViolation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The other side has ended or has closed its port.
struct PeerGone : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The other side took nothing for so long that this one stopped waiting.
struct PeerBusy : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require_peer(bool holds, const char* violated) {
  if (!holds) throw PeerViolation(violated);
}

}  // namespace gpushare::daemon
