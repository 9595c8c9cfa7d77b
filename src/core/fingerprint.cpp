// FNV-1a in 128 bits: small, portable and good enough for a few million keys.
#include "core/fingerprint.hpp"

#include <cstdio>

namespace heddle::core {

__extension__ using Wide = unsigned __int128;

Fingerprint& Fingerprint::add(std::string_view part) {
  add(static_cast<unsigned long long>(part.size()));
  mix(part.data(), part.size());
  return *this;
}

Fingerprint& Fingerprint::add(unsigned long long number) {
  unsigned char bytes[8];  // written out by hand: the same on machines of either byte order
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(number >> (8 * i));
  mix(bytes, sizeof bytes);
  return *this;
}

std::string Fingerprint::hex() const {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", high_, low_);
  return text;
}

void Fingerprint::mix(const void* data, std::size_t size) {
  const Wide prime = (static_cast<Wide>(1) << 88) + 0x13b;  // FNV's 128-bit prime
  Wide hash = (static_cast<Wide>(high_) << 64) | low_;
  for (const auto *p = static_cast<const unsigned char*>(data), *end = p + size; p != end; ++p)
    hash = (hash ^ *p) * prime;
  high_ = static_cast<unsigned long long>(hash >> 64);
  low_ = static_cast<unsigned long long>(hash);
}

}  // namespace heddle::core
