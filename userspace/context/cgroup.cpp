// SPDX-License-Identifier: BSD-2-Clause
#include "context/cgroup.h"

#include <algorithm>
#include <cctype>

namespace rtnlprof {
namespace {

constexpr std::size_t kFullIdDigits = 64;
constexpr std::size_t kShortIdDigits = 12;
constexpr std::size_t kMaxNameLength = 64;

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// A run of exactly 64 hex digits.
std::string full_id(std::string_view component) {
  for (std::size_t begin = 0; begin < component.size();) {
    if (!is_hex_digit(component[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin;
    while (end < component.size() && is_hex_digit(component[end])) ++end;
    if (end - begin == kFullIdDigits) return std::string(component.substr(begin, end - begin));
    begin = end;
  }
  return {};
}

// What follows `prefix`, without a unit suffix; empty when the component does not start with it.
std::string_view after_prefix(std::string_view component, std::string_view prefix) {
  if (!component.starts_with(prefix)) return {};
  component.remove_prefix(prefix.size());
  for (const std::string_view suffix : {".scope", ".service", ".slice"}) {
    if (component.ends_with(suffix)) component.remove_suffix(suffix.size());
  }
  return component;
}

// An abbreviated id is only believed behind a runtime's prefix: "docker-0123456789ab.scope".
std::string short_id(std::string_view component) {
  for (const std::string_view prefix : {"docker-", "cri-containerd-", "crio-", "libpod-", "containerd-"}) {
    const std::string_view id = after_prefix(component, prefix);
    if (id.size() >= kShortIdDigits && id.size() < kFullIdDigits && std::all_of(id.begin(), id.end(), is_hex_digit)) {
      return std::string(id);
    }
  }
  return {};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
}

// systemd writes '-' in a machine's name as \x2d.
std::string unescape_unit(std::string_view text) {
  constexpr std::string_view kDash = "\\x2d";
  std::string plain(text);
  for (std::size_t at = plain.find(kDash); at != std::string::npos; at = plain.find(kDash, at)) {
    plain.replace(at, kDash.size(), "-");
    ++at;
  }
  return plain;
}

// Containers known by a name: /lxc.payload.web, /lxc/web, /machine.slice/machine-web.scope, systemd-nspawn@web.service.
std::string container_name(std::string_view parent, std::string_view component) {
  for (const std::string_view prefix : {"lxc.payload.", "systemd-nspawn@", "machine-"}) {
    if (prefix == "machine-" && !component.ends_with(".scope")) continue;
    const std::string_view rest = after_prefix(component, prefix);
    // libvirt's machines are virtual machines, not containers.
    if (rest.starts_with("qemu")) continue;
    std::string name = unescape_unit(rest);
    if (is_name(name)) return name;
  }
  if ((parent == "lxc" || parent == "lxc.payload") && is_name(component)) return std::string(component);
  return {};
}

struct Candidates {
  std::string_view unified;
  std::string_view systemd;
  std::string_view longest;
};

}  // namespace

std::string cgroup_path(std::string_view proc_cgroup) {
  Candidates found;
  while (!proc_cgroup.empty()) {
    const std::size_t end = std::min(proc_cgroup.find('\n'), proc_cgroup.size());
    const std::string_view line = proc_cgroup.substr(0, end);
    proc_cgroup.remove_prefix(std::min(end + 1, proc_cgroup.size()));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (!path.starts_with('/')) continue;
    if (line.starts_with("0::")) found.unified = path;
    if (controllers == "name=systemd") found.systemd = path;
    if (path.size() > found.longest.size()) found.longest = path;
  }
  if (found.unified.size() > 1) return std::string(found.unified);
  if (found.systemd.size() > 1) return std::string(found.systemd);
  return std::string(found.longest);
}

std::string container_id_of_cgroup(std::string_view path) {
  std::string innermost;
  std::string_view parent;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view component = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (component.empty()) continue;
    // conmon watches over a container from outside: "libpod-conmon-ID.scope".
    std::string id = component.find("conmon-") == std::string_view::npos ? full_id(component) : std::string();
    if (id.empty()) id = short_id(component);
    if (id.empty()) id = container_name(parent, component);
    if (!id.empty()) innermost = std::move(id);
    parent = component;
  }
  return innermost;
}

}  // namespace rtnlprof
