// Sending and receiving, never longer than allowed.
#include "process/frames.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <new>

#include <poll.h>
#include <sys/socket.h>

namespace heddle::process {

namespace {

constexpr std::uint32_t longest = 256u << 20;

core::Failure failed(core::FailureKind kind, const std::string& what) { return {kind, what, ""}; }

core::Status send_all(int socket, const char* data, std::size_t size, Clock::time_point until) {
  while (size > 0) {
    if (!ready(socket, POLLOUT, until)) return failed(core::FailureKind::hang, "it does not take the request");
    const ssize_t put = ::send(socket, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (put <= 0) return failed(core::FailureKind::lost, "it ended before it took the request");
    data += put, size -= static_cast<std::size_t>(put);
  }
  return core::Done{};
}

core::Status receive_all(int socket, char* data, std::size_t size, Clock::time_point until) {
  while (size > 0) {
    if (!ready(socket, POLLIN, until)) return failed(core::FailureKind::hang, "it takes too long");
    const ssize_t got = ::recv(socket, data, size, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got <= 0) return failed(core::FailureKind::lost, "it ended without an answer");
    data += got, size -= static_cast<std::size_t>(got);
  }
  return core::Done{};
}

}  // namespace

core::Status send_frame(int socket, const std::string& message, Clock::time_point until) {
  const auto n = static_cast<std::uint32_t>(message.size());
  const std::array<char, 4> head = {static_cast<char>(n), static_cast<char>(n >> 8), static_cast<char>(n >> 16),
                                    static_cast<char>(n >> 24)};
  if (auto sent = send_all(socket, head.data(), head.size(), until); !sent) return sent;
  return send_all(socket, message.data(), message.size(), until);
}

core::Result<std::string> receive_frame(int socket, Clock::time_point until) {
  std::array<unsigned char, 4> head{};
  if (auto got = receive_all(socket, reinterpret_cast<char*>(head.data()), head.size(), until); !got)
    return got.failure();
  const std::size_t length = head[0] | head[1] << 8 | head[2] << 16 | static_cast<std::uint32_t>(head[3]) << 24;
  if (length > longest) return failed(core::FailureKind::transfer, "its answer is too long to be one");
  std::string message;
  try {
    while (message.size() < length) {  // no memory is taken for what may never come
      const std::size_t have = message.size();
      message.resize(std::min(length, have + (1 << 20)));
      if (auto got = receive_all(socket, message.data() + have, message.size() - have, until); !got)
        return got.failure();
    }
  } catch (const std::bad_alloc&) {
    return failed(core::FailureKind::allocation, "there is no memory for its answer");
  }
  return message;
}

}  // namespace heddle::process
