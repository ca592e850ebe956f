// SPDX-License-Identifier: Apache-2.0
#include "client/errors.hpp"

#include <gpushare/client.hpp>
#include <map>
#include <nlohmann/json.hpp>

namespace gpushare::client {
namespace {

using MakeError = std::exception_ptr (*)(const std::string&);

template <typename Kind>
std::exception_ptr made(const std::string& text) {
  return std::make_exception_ptr(Kind(text));
}

const std::map<std::string, MakeError, std::less<>> makers{
    {"InvalidInput", &made<InvalidInput>},
    {"CompileError", &made<CompileError>},
    {"RefusedError", &made<RefusedError>},
    {"Cancelled", &made<Cancelled>},
    {"PolicyError", &made<PolicyError>},
    {"TimeoutError", &made<TimeoutError>},
    {"CudaError", &made<CudaError>},
    {"DaemonGoneError", &made<DaemonGoneError>},
    {"WorkerLostError", &made<WorkerLostError>},
    {"DeviceLostError", &made<DeviceLostError>},
    {"ProtocolError", &made<ProtocolError>},
};

}  // namespace

std::exception_ptr told_error(const Json& message) {
  try {
    auto text = message.at("message").get<std::string>();
    const auto log = message.value("log", std::string());
    if (!log.empty()) text += '\n' + log;
    const auto maker = makers.find(message.at("kind").get<std::string>());
    return maker == makers.end() ? made<DeviceError>(text) : maker->second(text);
  } catch (const Json::exception&) {
    return made<ProtocolError>("the server's error message is not valid");
  }
}

}  // namespace gpushare::client
