// SPDX-License-Identifier: BSD-2-Clause
// Functions with every kind of name the symbol tests look for.

#define EXPORT __attribute__((visibility("default"), noinline))

namespace {

__attribute__((noinline)) int sample_hidden(int value) {
  asm volatile("");
  return value * 3 + 1;
}

}  // namespace

extern "C" {

EXPORT int sample_global(int value) {
  asm volatile("");
  return value + 1;
}

// As glibc names its system calls: the plain name is weak, the global one has underscores.
EXPORT int __sample_ioctl(int value) {
  asm volatile("");
  return value + 2;
}
EXPORT int sample_ioctl(int value) __attribute__((weak, alias("__sample_ioctl")));
EXPORT int __libc_sample_ioctl(int value) __attribute__((alias("__sample_ioctl")));

// The address of a function that no dynamic symbol names.
EXPORT const void* sample_hidden_address() { return reinterpret_cast<const void*>(&sample_hidden); }
EXPORT int sample_call_hidden(int value) { return sample_hidden(value); }
#ifdef SAMPLE_UPGRADE
EXPORT int sample_new_in_upgrade(int value) { return value - 1; }
#endif
}

namespace sample {

struct Box {
  EXPORT int open(int key);
};

int Box::open(int key) {
  asm volatile("");
  return key + 4;
}

}  // namespace sample
