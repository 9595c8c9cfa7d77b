// One driver per paragraph, with the version on which it was seen.
#include "device/quirks.hpp"

#include <algorithm>

namespace heddle::device {

namespace {

constexpr const char* pocl = "Portable Computing Language";
bool is_pocl(const Info& info) { return info.driver.rfind(pocl, 0) == 0; }

}  // namespace

std::string quirk_options(const Info& info) {
  // PoCL (5.0 seen, 3.1 reads the same): loaded kernels are counted per form of a launch (offset or none, wide or not)
  // but released per kernel and group size alone, so two forms at work at once on two sub-devices end the process with
  // "pocl_release_dlhandle_cache: Assertion found->ref_count > 0". A macro of its own makes each sub-device's kernels
  // different ones.
  if (is_pocl(info) && is_part(info)) return " -DHEDDLE_SUB_DEVICE=" + info.id.substr(info.id.rfind('.') + 1);
  return "";
}

std::string direct_options(const Info& info) {
  // For the same reason: two queues of one device.
  return is_pocl(info) ? " -DHEDDLE_DIRECT" : "";
}

bool computes_in_threads(const std::string& platform) { return platform == pocl; }

bool calls_back_at_once(const Info& info) { return is_pocl(info); }

bool overlaps(const Info& info) {
  // PoCL (3.1 and 5.0 read): a thread that finds no groups left takes those of the next command of whatever queue.
  return is_pocl(info) && info.kind == Kind::cpu;
}

Hold hold_of(const core::NdRange& range) {
  // PoCL (3.1 read, in its machine code, too; 5.0 seen) keeps loaded kernels in a list: a launch takes the first with
  // its hash and group size that was loaded for a grid at least as wide (the third dimension counts in newer ones only)
  // and, like itself, for an offset or for none; it moves that to the front, or loads another. When it ends, it gives
  // back the first with its hash and group size. So two at work that hold different ones end the process with
  // "pocl_release_dlhandle_cache: Assertion found->ref_count > 0". Which of two launches begins first nobody knows, as
  // a thread takes a command from its list before it looks for its kernel.
  const auto& items = range.global;
  return {range.offset != core::Index{}, std::max(items[0], items[1]), std::max({items[0], items[1], items[2]}),
          range.local};
}

bool joins(const Hold& other, const Hold& at_work) {
  // PoCL, as above: a command is said to run when it has its kernel, which is in front then.
  return other.local == at_work.local && other.plane <= at_work.plane && other.widest <= at_work.widest &&
         other.shifted == at_work.shifted;
}

std::vector<const char*> device_variables() {
  return {"RUSTICL_ENABLE",       "GALLIUM_DRIVER",      // Mesa
          "POCL_DEVICES",                                // PoCL
          "CUDA_VISIBLE_DEVICES",                        // NVIDIA
          "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",  // AMD
          "ZE_AFFINITY_MASK"};                           // Intel
}

bool has_images(const Info& info) {
  // PoCL (3.1 seen): reading or writing one by a sub-device's queue ends the process with "Assertion `dev_i <
  // image->context->num_devices'".
  return !(is_pocl(info) && is_part(info));
}

bool keeps_sub_devices(const Info& info) {
  // PoCL (3.1 seen): its worker threads still look at the device of a command that is complete, so that a sub-device
  // released right after a wait ends the process in clReleaseEvent.
  return is_pocl(info);
}

}  // namespace heddle::device
