// Stable names for what was measured: the same kernel, device or source has the same fingerprint in every process and
// run.
#pragma once

#include <string>
#include <string_view>

namespace heddle::core {

// 128-bit FNV-1a of the parts fed to it, as 32 hexadecimal digits. Lengths are hashed too, so ("ab","c") and ("a","bc")
// differ. It tells things apart; it does not protect against somebody who wants a collision.
class Fingerprint {
 public:
  Fingerprint& add(std::string_view part);
  Fingerprint& add(unsigned long long number);
  std::string hex() const;

 private:
  void mix(const void* data, std::size_t size);
  unsigned long long high_ = 0x6c62272e07bb0142ULL, low_ = 0x62b821756295c58dULL;  // FNV's 128-bit offset basis
};

}  // namespace heddle::core
