// SPDX-License-Identifier: Apache-2.0
#include "cuda/code/compiler.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace gpushare::cuda {
namespace {

// As nvrtc.h declares them; the header itself comes with NVRTC, which need not be there when gpushare is built.
using NvrtcProgram = void*;
constexpr int success = 0;
constexpr int compilation_failed = 6;

}  // namespace

struct CompilerApi {
  explicit CompilerApi(const SharedLibrary& nvrtc)
      : error_string(nvrtc.get<const char*(int)>("nvrtcGetErrorString")),
        version(nvrtc.get<int(int*, int*)>("nvrtcVersion")),
        architecture_count(nvrtc.get<int(int*)>("nvrtcGetNumSupportedArchs")),
        architectures(nvrtc.get<int(int*)>("nvrtcGetSupportedArchs")),
        create(nvrtc.get<int(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)>(
            "nvrtcCreateProgram")),
        destroy(nvrtc.get<int(NvrtcProgram*)>("nvrtcDestroyProgram")),
        add_name(nvrtc.get<int(NvrtcProgram, const char*)>("nvrtcAddNameExpression")),
        lowered_name(nvrtc.get<int(NvrtcProgram, const char*, const char**)>("nvrtcGetLoweredName")),
        compile(nvrtc.get<int(NvrtcProgram, int, const char* const*)>("nvrtcCompileProgram")),
        log_size(nvrtc.get<int(NvrtcProgram, std::size_t*)>("nvrtcGetProgramLogSize")),
        log(nvrtc.get<int(NvrtcProgram, char*)>("nvrtcGetProgramLog")),
        ptx_size(nvrtc.get<int(NvrtcProgram, std::size_t*)>("nvrtcGetPTXSize")),
        ptx(nvrtc.get<int(NvrtcProgram, char*)>("nvrtcGetPTX")) {}

  void check(int result, const char* call) const {
    if (result != success) throw CudaError(std::string(call) + " failed: " + error_string(result));
  }

  const char* (*error_string)(int);
  int (*version)(int*, int*);
  int (*architecture_count)(int*);
  int (*architectures)(int*);
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*);
  int (*destroy)(NvrtcProgram*);
  int (*add_name)(NvrtcProgram, const char*);
  int (*lowered_name)(NvrtcProgram, const char*, const char**);
  int (*compile)(NvrtcProgram, int, const char* const*);
  int (*log_size)(NvrtcProgram, std::size_t*);
  int (*log)(NvrtcProgram, char*);
  int (*ptx_size)(NvrtcProgram, std::size_t*);
  int (*ptx)(NvrtcProgram, char*);
};

namespace {

const CompilerApi& open_compiler(const std::string& path, const std::string& builtins_path) {
  if (!builtins_path.empty()) SharedLibrary{builtins_path};
  return *new CompilerApi(SharedLibrary(path));  // as long as the library: until the process ends
}

struct DestroyProgram {
  const CompilerApi* api;
  void operator()(NvrtcProgram program) const { api->destroy(&program); }
};
using OwnedProgram = std::unique_ptr<void, DestroyProgram>;

OwnedProgram create(const CompilerApi& api, const std::string& source, const std::string& file_name) {
  NvrtcProgram program = nullptr;
  api.check(api.create(&program, source.c_str(), file_name.c_str(), 0, nullptr, nullptr), "nvrtcCreateProgram");
  return OwnedProgram(program, DestroyProgram{&api});
}

/// A text that NVRTC hands over with the zero behind it.
std::string text(const CompilerApi& api, NvrtcProgram program, int (*size_of)(NvrtcProgram, std::size_t*),
                 int (*copy)(NvrtcProgram, char*), const char* call) {
  std::size_t size = 0;
  api.check(size_of(program, &size), call);
  std::string copied(size, '\0');
  api.check(copy(program, copied.data()), call);
  copied.resize(copied.find('\0') == std::string::npos ? size : copied.find('\0'));
  return copied;
}

}  // namespace

Compiler::Compiler(const std::string& path, const std::string& builtins_path)
    : api_(open_compiler(path, builtins_path)) {}

std::pair<int, int> Compiler::version() const {
  std::pair<int, int> found;
  api_.check(api_.version(&found.first, &found.second), "nvrtcVersion");
  return found;
}

std::vector<int> Compiler::architectures() const {
  int count = 0;
  api_.check(api_.architecture_count(&count), "nvrtcGetNumSupportedArchs");
  std::vector<int> found(static_cast<std::size_t>(count));
  api_.check(api_.architectures(found.data()), "nvrtcGetSupportedArchs");
  return found;
}

Compilation Compiler::compile(const std::string& source, const std::string& file_name,
                              const std::vector<std::string>& name_expressions,
                              const std::vector<std::string>& options) const {
  const OwnedProgram program = create(api_, source, file_name);
  for (const std::string& name : name_expressions) {
    api_.check(api_.add_name(program.get(), name.c_str()), "nvrtcAddNameExpression");
  }
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  const int result = api_.compile(program.get(), static_cast<int>(words.size()), words.data());

  Compilation outcome;
  outcome.log = text(api_, program.get(), api_.log_size, api_.log, "nvrtcGetProgramLog");
  if (result == compilation_failed || (result != success && !outcome.log.empty())) return outcome;
  api_.check(result, "nvrtcCompileProgram");
  outcome.ptx = text(api_, program.get(), api_.ptx_size, api_.ptx, "nvrtcGetPTX");
  for (const std::string& name : name_expressions) {
    const char* lowered = nullptr;
    api_.check(api_.lowered_name(program.get(), name.c_str(), &lowered), "nvrtcGetLoweredName");
    outcome.lowered_names.emplace_back(lowered);
  }
  outcome.succeeded = true;
  return outcome;
}

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : "";
}

}  // namespace gpushare::cuda
