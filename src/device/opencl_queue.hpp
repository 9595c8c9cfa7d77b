// The OpenCL objects that a queue and its device share, and the making of queues.
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/vendor.hpp"

namespace heddle::device {

class OpenClBuffer : public Buffer {
 public:
  OpenClBuffer(cl_mem memory, Bytes size, std::byte* wrapped) : Buffer(size), memory_(memory), wrapped_(wrapped) {}
  cl_mem handle() const { return memory_.get(); }
  std::byte* wrapped() const { return wrapped_; }

 private:
  OwnedMemory memory_;
  std::byte* wrapped_;  // the host memory that this buffer is, or nullptr
};

class OpenClKernel : public Kernel {
 public:
  OpenClKernel(OwnedKernel kernel, std::string name, KernelLimits limits)
      : Kernel(std::move(name)), kernel_(std::move(kernel)), limits_(limits) {}
  KernelLimits limits() const override { return limits_; }
  cl_kernel handle() const { return kernel_.get(); }

 private:
  OwnedKernel kernel_;
  KernelLimits limits_;
};

// Takes over the command queue; `track` is the name under which its commands are traced.
std::unique_ptr<Queue> make_opencl_queue(OwnedQueue queue, const Info& info);

}  // namespace heddle::device
