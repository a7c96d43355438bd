// SPDX-License-Identifier: BSD-2-Clause
#include "context/host.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "symbols/file_access.h"

namespace rtnlprof {
namespace {

constexpr std::size_t kMaxFactBytes = 4096;
constexpr std::uint32_t kMaxCpu = 65535;
constexpr std::uint32_t kMaxNode = 1023;  // MAX_NUMNODES

// The first line of a small file, without blanks at its end; empty when it cannot be read.
std::string read_line(const std::string& path) {
  const Result<std::string> text = read_kernel_file(path, kMaxFactBytes);
  if (!text) return {};
  std::string line = text.value().substr(0, text.value().find('\n'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
  return line;
}

template <typename Number>
Number read_number(const std::string& path, Number unknown) {
  const std::string line = read_line(path);
  Number value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() && end == line.data() + line.size() ? value : unknown;
}

// "none [integrity] confidentiality" -> "integrity".
std::string active_choice(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

// "0.20 0.18 0.12 1/80 11206": the number behind the slash.
std::int64_t threads_of_loadavg(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return -1;
  std::int64_t threads = 0;
  const auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), threads);
  return error == std::errc() && threads > 0 ? threads : -1;
}

}  // namespace

std::vector<std::uint32_t> parse_cpu_list(std::string_view text) {
  std::vector<std::uint32_t> cpus;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(",\n"), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::uint32_t first = 0;
    const char* const part_end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), part_end, first);
    if (error != std::errc()) continue;
    std::uint32_t last = first;
    if (rest != part_end) {
      if (*rest != '-') continue;
      const auto [stop, range_error] = std::from_chars(rest + 1, part_end, last);
      if (range_error != std::errc() || stop != part_end) continue;
    }
    if (last > kMaxCpu || first > last) continue;
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

Host read_host(const std::string& root) {
  const std::string kernel = root + "/proc/sys/kernel/";
  Host host;
  host.hostname = read_line(kernel + "hostname");
  host.kernel_release = read_line(kernel + "osrelease");
  host.kernel_version = read_line(kernel + "version");
  host.arch = read_line(kernel + "arch");  // since 6.1
  host.boot_id = read_line(kernel + "random/boot_id");
  host.cpus = static_cast<std::uint32_t>(parse_cpu_list(read_line(root + "/sys/devices/system/cpu/online")).size());
  if (!root.empty()) return host;
  struct utsname names {};
  if (uname(&names) == 0) {
    if (host.hostname.empty()) host.hostname = names.nodename;
    if (host.kernel_release.empty()) host.kernel_release = names.release;
    if (host.kernel_version.empty()) host.kernel_version = names.version;
    if (host.arch.empty()) host.arch = names.machine;
  }
  if (host.cpus == 0) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    host.cpus = online > 0 ? static_cast<std::uint32_t>(online) : 0;
  }
  return host;
}

KernelFacts read_kernel_facts(const std::string& root) {
  const std::string kernel = root + "/proc/sys/kernel/";
  KernelFacts facts;
  facts.lockdown = active_choice(read_line(root + "/sys/kernel/security/lockdown"));
  facts.kptr_restrict = read_number(kernel + "kptr_restrict", std::int32_t{-1});
  facts.perf_event_paranoid = read_number(kernel + "perf_event_paranoid", kUnknownParanoid);
  facts.unprivileged_bpf_disabled = read_number(kernel + "unprivileged_bpf_disabled", std::int32_t{-1});
  facts.pid_max = read_number(kernel + "pid_max", std::int64_t{-1});
  facts.threads = threads_of_loadavg(read_line(root + "/proc/loadavg"));
  facts.has_btf = access((root + "/sys/kernel/btf/vmlinux").c_str(), F_OK) == 0;
  facts.clocksource = read_line(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return facts;
}

std::vector<std::int32_t> read_numa_nodes(const std::string& root) {
  const std::vector<std::uint32_t> possible = parse_cpu_list(read_line(root + "/sys/devices/system/cpu/possible"));
  if (possible.empty()) return {};
  std::vector<std::int32_t> node_of_cpu(possible.back() + std::size_t{1}, -1);
  const std::string nodes = root + "/sys/devices/system/node/";
  const std::vector<std::uint32_t> online = parse_cpu_list(read_line(nodes + "online"));
  if (online.empty()) {
    for (const std::uint32_t cpu : possible) node_of_cpu[cpu] = 0;
    return node_of_cpu;
  }
  for (const std::uint32_t node : online) {
    if (node > kMaxNode) continue;
    for (const std::uint32_t cpu : parse_cpu_list(read_line(nodes + "node" + std::to_string(node) + "/cpulist"))) {
      if (cpu < node_of_cpu.size()) node_of_cpu[cpu] = static_cast<std::int32_t>(node);
    }
  }
  return node_of_cpu;
}

}  // namespace rtnlprof
