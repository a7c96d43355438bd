// SPDX-License-Identifier: BSD-2-Clause
#include "symbols/user_symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "symbols/build_id.h"
#include "symbols/temp_dir.h"

namespace rtnlprof {
namespace {

// A shared object mapped into this process, as its own /proc/self/maps shows it.
class Mapped {
 public:
  explicit Mapped(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  [[nodiscard]] std::uint64_t address(const char* symbol) const {
    return reinterpret_cast<std::uint64_t>(dlsym(handle_, symbol));
  }
  // Of the function that no dynamic symbol names.
  [[nodiscard]] std::uint64_t hidden_address() const {
    const auto get = reinterpret_cast<const void* (*)()>(dlsym(handle_, "sample_hidden_address"));
    return reinterpret_cast<std::uint64_t>(get());
  }

 private:
  void* handle_;
};

std::shared_ptr<const ProcessMaps> own_maps(const std::shared_ptr<FileStore>& store) {
  auto maps = read_process_maps("/proc/self", getpid(), getpid(), getuid(), *store);
  EXPECT_TRUE(maps.ok());
  return std::make_shared<const ProcessMaps>(std::move(maps.value()));
}

UserSymbolizer::Options without_host_search() {
  UserSymbolizer::Options options;
  options.search_host = false;
  return options;
}

class UserSymbols : public testing::Test {
 protected:
  // Resolves an address of this process by pid and address.
  std::string by_address(std::uint64_t address, bool return_address = false) {
    frame_ = Frame();
    UserLocation location;
    location.pid = getpid();
    location.address = address;
    location.return_address = return_address;
    return show(symbolizer_.resolve(location, frame_));
  }
  // Resolves it as the kernel reports it: build-id and file offset.
  std::string by_build_id(std::uint64_t address, std::string build_id = {}) {
    const Mapping* const mapping = maps_->find(address);
    EXPECT_NE(mapping, nullptr);
    frame_ = Frame();
    UserLocation location;
    location.build_id = build_id.empty() ? mapping->file->build_id : std::move(build_id);
    location.file_offset = address - mapping->start + mapping->file_offset;
    return show(symbolizer_.resolve(location, frame_));
  }
  void capture() {
    maps_ = own_maps(store_);
    symbolizer_.add_maps(maps_);
  }
  std::string show(bool resolved) const {
    EXPECT_EQ(resolved, !frame_.symbol.empty());
    EXPECT_TRUE(frame_.user);
    return resolved ? frame_.symbol + "+" + std::to_string(frame_.offset) : "-";
  }

  test::TempDir dir_;
  std::shared_ptr<FileStore> store_ = std::make_shared<FileStore>();
  UserSymbolizer symbolizer_{without_host_search(), store_};
  std::shared_ptr<const ProcessMaps> maps_;
  Frame frame_;
};

TEST_F(UserSymbols, NamesFunctionsByAddressAndByBuildId) {
  const Mapped sample(SYMBOL_SAMPLE);
  capture();
  EXPECT_EQ(by_address(sample.address("sample_global")), "sample_global+0");
  EXPECT_EQ(by_address(sample.address("sample_global") + 1), "sample_global+1");
  EXPECT_EQ(frame_.module, std::filesystem::canonical(SYMBOL_SAMPLE).string());
  EXPECT_EQ(frame_.build_id, read_build_id(std::string(SYMBOL_SAMPLE)).value());
  EXPECT_EQ(frame_.address, sample.address("sample_global") + 1);
  EXPECT_EQ(by_build_id(sample.address("sample_global") + 2), "sample_global+2");
  EXPECT_EQ(by_build_id(sample.hidden_address()), "(anonymous namespace)::sample_hidden(int)+0");
  EXPECT_EQ(by_build_id(sample.address("_ZN6sample3Box4openEi")), "sample::Box::open(int)+0");
}

TEST_F(UserSymbols, PrefersThePlainNameOfASystemCallWrapper) {
  const Mapped sample(SYMBOL_SAMPLE);
  capture();
  EXPECT_EQ(by_address(sample.address("__sample_ioctl")), "sample_ioctl+0");
}

TEST_F(UserSymbols, NamesLibcsIoctl) {
  capture();
  // By its handle: sanitizers put an ioctl of their own before it.
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  const auto address = reinterpret_cast<std::uint64_t>(dlsym(libc, "ioctl"));
  ASSERT_NE(address, 0U);
  EXPECT_EQ(by_address(address + 3), "ioctl+3");
  EXPECT_NE(frame_.module.find("libc"), std::string::npos);
}

TEST_F(UserSymbols, TakesAReturnAddressForTheCallBeforeIt) {
  const Mapped sample(SYMBOL_SAMPLE);
  capture();
  const std::uint64_t start = sample.address("sample_global");
  EXPECT_EQ(by_address(start + 4, true), "sample_global+4");
  EXPECT_NE(by_address(start, true), "sample_global+0") << "a call that ends right before belongs elsewhere";
}

TEST_F(UserSymbols, StrippedFilesHaveOnlyTheirDynamicSymbols) {
  const Mapped stripped(SYMBOL_FIXTURES "/stripped.so");
  capture();
  EXPECT_EQ(by_address(stripped.address("sample_global")), "sample_global+0");
  EXPECT_EQ(by_address(stripped.hidden_address()), "-") << "never the nearest exported name";
  EXPECT_NE(frame_.module.find("stripped.so"), std::string::npos);
  EXPECT_NE(frame_.file_offset, 0U);
}

TEST_F(UserSymbols, ReadsMiniDebugInfo) {
  const Mapped mini(SYMBOL_FIXTURES "/minidebug.so");
  capture();
  EXPECT_EQ(by_address(mini.hidden_address()), "(anonymous namespace)::sample_hidden(int)+0");
  EXPECT_EQ(by_address(mini.address("sample_ioctl")), "sample_ioctl+0");
}

TEST_F(UserSymbols, ReadsSeparateDebugFilesOfTheSameBuild) {
  const std::string id = read_build_id(std::string(SYMBOL_SAMPLE)).value();
  const std::string name = "/usr/lib/debug/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
  const Mapped stripped(SYMBOL_FIXTURES "/stripped.so");
  capture();
  UserLocation location;
  location.pid = getpid();
  location.address = stripped.hidden_address();
  UserSymbolizer::Options options = without_host_search();
  options.root = dir_.path();

  (void)dir_.copy(SYMBOL_SAMPLE_UPGRADE, name);
  UserSymbolizer wrong(options, store_);
  wrong.add_maps(maps_);
  Frame frame;
  EXPECT_FALSE(wrong.resolve(location, frame)) << "a debug file of another build";

  (void)dir_.copy(SYMBOL_FIXTURES "/sample.debug", name);
  UserSymbolizer right(options, store_);
  right.add_maps(maps_);
  EXPECT_TRUE(right.resolve(location, frame));
  EXPECT_EQ(frame.symbol, "(anonymous namespace)::sample_hidden(int)");
}

TEST_F(UserSymbols, NamesDeletedFilesByTheOpenDescriptor) {
  const std::string path = dir_.copy(SYMBOL_SAMPLE, "/gone.so");
  const Mapped gone(path);
  capture();
  std::filesystem::remove(path);
  EXPECT_EQ(by_address(gone.address("sample_global")), "sample_global+0");
  EXPECT_EQ(frame_.module, std::filesystem::canonical(dir_.path()).string() + "/gone.so");
}

TEST_F(UserSymbols, NamesFilesThatWereDeletedBeforeTheyWereSeen) {
  const std::string path = dir_.copy(SYMBOL_SAMPLE, "/gone.so");
  const Mapped gone(path);
  std::filesystem::remove(path);
  capture();
  const Mapping* const mapping = maps_->find(gone.address("sample_global"));
  ASSERT_NE(mapping, nullptr);
  EXPECT_TRUE(mapping->file->deleted);
  if (mapping->file->build_id.empty()) GTEST_SKIP() << "map_files needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN";
  EXPECT_EQ(by_address(gone.address("sample_global")), "sample_global+0");
}

TEST_F(UserSymbols, NeverNamesFramesByAReplacedFile) {
  store_ = std::make_shared<FileStore>(0);  // as if the descriptor had been closed for others
  UserSymbolizer symbolizer(without_host_search(), store_);
  const std::string path = dir_.copy(SYMBOL_SAMPLE, "/lib.so");
  const Mapped old(path);
  maps_ = own_maps(store_);
  symbolizer.add_maps(maps_);
  std::filesystem::remove(path);
  (void)dir_.copy(SYMBOL_SAMPLE_UPGRADE, "/lib.so");
  UserLocation location;
  location.pid = getpid();
  location.address = old.address("sample_global");
  Frame frame;
  EXPECT_FALSE(symbolizer.resolve(location, frame));
  EXPECT_EQ(frame.symbol, "");
  EXPECT_NE(frame.module.find("/lib.so"), std::string::npos) << "it still says which file and where";
  EXPECT_EQ(frame.build_id, read_build_id(std::string(SYMBOL_SAMPLE)).value());
  EXPECT_NE(frame.file_offset, 0U);
}

TEST_F(UserSymbols, NamesFilesWithoutABuildIdByTheOpenDescriptorOnly) {
  const std::string path = dir_.copy(SYMBOL_SAMPLE_PLAIN, "/plain.so");
  const Mapped plain(path);
  capture();
  std::filesystem::remove(path);
  EXPECT_EQ(by_address(plain.address("sample_global")), "sample_global+0");
  EXPECT_EQ(frame_.build_id, "");
}

TEST_F(UserSymbols, SaysWhatItKnowsOfAnUnknownBuildId) {
  UserLocation location;
  location.build_id = "00112233445566778899aabbccddeeff00112233";
  location.file_offset = 0x1234;
  Frame frame;
  EXPECT_FALSE(symbolizer_.resolve(location, frame));
  EXPECT_EQ(frame.build_id, location.build_id);
  EXPECT_EQ(frame.file_offset, 0x1234U);
  EXPECT_EQ(frame.module, "");
  EXPECT_FALSE(symbolizer_.resolve(UserLocation(), frame));
  location.build_id = "../../../../etc/passwd";
  EXPECT_FALSE(symbolizer_.resolve(location, frame));
}

TEST_F(UserSymbols, FindsThePadded) {
  const Mapped sample(SYMBOL_SAMPLE);
  capture();
  // The kernel pads ids shorter than 20 bytes; elsewhere they are not.
  auto file = std::make_shared<MappedFile>(*maps_->find(sample.address("sample_global"))->file);
  EXPECT_EQ(by_build_id(sample.address("sample_global"), file->build_id), "sample_global+0");
}

TEST_F(UserSymbols, FindsProgramsThatAreGoneAmongTheHosts) {
  const std::string root = std::filesystem::canonical(dir_.path()).string();
  (void)dir_.copy(SYMBOL_SAMPLE, "/usr/sbin/ip");
  UserSymbolizer::Options options;
  options.root = root;
  UserSymbolizer symbolizer(options, store_);
  const Mapped sample(SYMBOL_SAMPLE);
  maps_ = own_maps(store_);  // only to learn the file offset: the symbolizer does not know this process
  const Mapping* const mapping = maps_->find(sample.address("sample_global"));
  UserLocation location;
  location.build_id = mapping->file->build_id;
  location.file_offset = sample.address("sample_global") - mapping->start + mapping->file_offset;
  for (int i = 0; i < 2; ++i) {
    Frame frame;
    EXPECT_TRUE(symbolizer.resolve(location, frame));
    EXPECT_EQ(frame.symbol, "sample_global");
    EXPECT_EQ(frame.module, "/usr/sbin/ip");
  }
}

TEST_F(UserSymbols, NamesVdsoFunctions) {
  void* const handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr || getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "no vDSO";
  const auto address = reinterpret_cast<std::uint64_t>(dlvsym(handle, "__vdso_clock_gettime", "LINUX_2.6"));
  if (address == 0) GTEST_SKIP() << "another vDSO";
  capture();
  EXPECT_EQ(by_address(address), "clock_gettime+0");
  EXPECT_EQ(frame_.module, "[vdso]");

  auto foreign = std::make_shared<ProcessMaps>(*maps_);
  foreign->vdso_build_id = "0011";
  symbolizer_.add_maps(foreign);
  EXPECT_EQ(by_address(address), "-") << "a vDSO of another word size";
  EXPECT_EQ(frame_.module, "[vdso]");
}

TEST_F(UserSymbols, NamesJitCodeByThePerfMap) {
  constexpr std::size_t kBytes = 4096;
  void* const code = mmap(nullptr, kBytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(code, MAP_FAILED);
  const auto address = reinterpret_cast<std::uint64_t>(code);
  char line[64];
  std::snprintf(line, sizeof line, "%lx 100 js:handler\n", static_cast<unsigned long>(address));
  auto maps = std::make_shared<ProcessMaps>(*own_maps(store_));
  maps->root_path = dir_.path();
  maps->ns_pid = 4321;
  dir_.write("/tmp/perf-4321.map", line);
  symbolizer_.add_maps(maps);
  EXPECT_EQ(by_address(address + 0x10), "js:handler+16");
  EXPECT_EQ(frame_.module, "[anon]");
  EXPECT_EQ(by_address(address + 0x200), "-");
  munmap(code, kBytes);
}

TEST_F(UserSymbols, SurvivesEvictionOfSymbolTables) {
  UserSymbolizer::Options options = without_host_search();
  options.cache_bytes = 1;
  UserSymbolizer small(options, store_);
  const Mapped sample(SYMBOL_SAMPLE);
  const Mapped upgrade(SYMBOL_SAMPLE_UPGRADE);
  small.add_maps(own_maps(store_));
  for (int i = 0; i < 3; ++i) {
    for (const Mapped* const library : {&sample, &upgrade}) {
      UserLocation location;
      location.pid = getpid();
      location.address = library->address("sample_global");
      Frame frame;
      EXPECT_TRUE(small.resolve(location, frame));
      EXPECT_EQ(frame.symbol, "sample_global");
    }
  }
}

TEST_F(UserSymbols, NamesOffsetsInFiles) {
  const Mapped sample(SYMBOL_SAMPLE);
  capture();
  const Mapping* const mapping = maps_->find(sample.address("sample_global"));
  const std::uint64_t offset = sample.address("sample_global") - mapping->start + mapping->file_offset;
  EXPECT_EQ(show(symbolizer_.resolve_file(SYMBOL_SAMPLE, offset + 1, frame_)), "sample_global+1");
  EXPECT_FALSE(symbolizer_.resolve_file("/nonexistent", 1, frame_));
  EXPECT_FALSE(symbolizer_.resolve_file("/dev/zero", 1, frame_));
}

}  // namespace
}  // namespace rtnlprof
