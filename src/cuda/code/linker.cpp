// SPDX-License-Identifier: Apache-2.0
#include "cuda/code/linker.hpp"

#include <cstdint>
#include <memory>

namespace gpushare::cuda {
namespace {

// As nvJitLink.h declares them; the header itself comes with nvJitLink, which need not be there when gpushare is built.
using Handle = void*;
constexpr int link_succeeded = 0;
constexpr int input_is_ptx = 2;

}  // namespace

struct LinkerApi {
  std::pair<int, int> version;
  int (*create)(Handle*, std::uint32_t, const char* const*);
  int (*destroy)(Handle*);
  int (*add_data)(Handle, int, const void*, std::size_t, const char*);
  int (*complete)(Handle);
  int (*cubin_size)(Handle, std::size_t*);
  int (*cubin)(Handle, void*);
  int (*error_log_size)(Handle, std::size_t*);
  int (*error_log)(Handle, char*);
  int (*info_log_size)(Handle, std::size_t*);
  int (*info_log)(Handle, char*);
};

namespace {

/// The functions carry the version that introduced them in their names: __nvJitLinkCreate_13_0.
LinkerApi functions(const SharedLibrary& library, std::pair<int, int> version) {
  const std::string ending = "_" + std::to_string(version.first) + "_" + std::to_string(version.second);
  const auto get = [&]<typename Function>(Function*& function, const std::string& name) {
    function = library.get<Function>(("__nvJitLink" + name + ending).c_str());
  };
  LinkerApi api{.version = version};
  get(api.create, "Create");
  get(api.destroy, "Destroy");
  get(api.add_data, "AddData");
  get(api.complete, "Complete");
  get(api.cubin_size, "GetLinkedCubinSize");
  get(api.cubin, "GetLinkedCubin");
  get(api.error_log_size, "GetErrorLogSize");
  get(api.error_log, "GetErrorLog");
  get(api.info_log_size, "GetInfoLogSize");
  get(api.info_log, "GetInfoLog");
  return api;
}

const LinkerApi& open_linker(const std::string& path) {
  const SharedLibrary library(path);
  for (int major = 13; major >= 12; --major) {
    for (int minor = 9; minor >= 0; --minor) {
      const std::string name = "__nvJitLinkCreate_" + std::to_string(major) + "_" + std::to_string(minor);
      // As long as the library: until the process ends.
      if (library.find<void()>(name.c_str())) return *new LinkerApi(functions(library, {major, minor}));
    }
  }
  throw CudaError(path + " has no nvJitLink of CUDA 12 or 13");
}

struct DestroyLink {
  const LinkerApi* api;
  void operator()(Handle handle) const { api->destroy(&handle); }
};

template <typename Size, typename Copy>
std::string text(Handle handle, Size size_of, Copy copy) {
  std::size_t size = 0;
  if (size_of(handle, &size) != link_succeeded || size == 0) return "";
  std::string copied(size, '\0');
  if (copy(handle, copied.data()) != link_succeeded) return "";
  return copied;
}

std::string without_zeros(std::string text) {
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

Linker::Linker(const std::string& path) : api_(open_linker(path)) {}

std::pair<int, int> Linker::version() const { return api_.version; }

Linked Linker::link(const std::string& ptx, const std::string& name, const std::vector<std::string>& options) const {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  Handle created = nullptr;
  const int create_result = api_.create(&created, static_cast<std::uint32_t>(words.size()), words.data());
  const std::unique_ptr<void, DestroyLink> handle(created, DestroyLink{&api_});
  if (created == nullptr) throw CudaError("nvJitLinkCreate failed with result " + std::to_string(create_result));

  Linked linked;
  linked.succeeded = create_result == link_succeeded &&
                     api_.add_data(created, input_is_ptx, ptx.data(), ptx.size(), name.c_str()) == link_succeeded &&
                     api_.complete(created) == link_succeeded;
  linked.error_log = without_zeros(text(created, api_.error_log_size, api_.error_log));
  linked.info_log = without_zeros(text(created, api_.info_log_size, api_.info_log));
  if (linked.succeeded) linked.cubin = text(created, api_.cubin_size, api_.cubin);
  return linked;
}

}  // namespace gpushare::cuda
