// Sizes of groups, for launches of the direct path that leave them to the driver below: several are tried on the
// program's own launches (decide/rivals.hpp), where its kernels cannot tell (kernel/group_blind.hpp). Times come from
// events, so nobody waits, and whatever goes wrong the driver's own choice remains.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/history.hpp"
#include "decide/rivals.hpp"
#include "front/icd/enqueue.hpp"
#include "front/icd/objects.hpp"

namespace heddle::front::icd {

using Extents = std::array<size_t, 3>;

// A kernel of a program whose groups may be of any size.
struct Grouped {
  // Launches alike.
  struct Shape {
    const Device* device;
    bool timed;  // in queues that take times themselves
    cl_uint dimensions;
    Extents global;
    core::SampleKey key;         // but for the variant
    std::vector<Extents> sizes;  // that are tried; the first: the driver's choice, as zeros
    decide::Rivals rivals;
    cl_event watched = nullptr;  // a launch whose time is wanted
    decide::Turn turn{};         // and whose
    enum class Recall { not_yet, coming, ready, done } recall = Recall::not_yet;
    core::History before;       // where that is ready: what earlier runs have found
    core::Nanoseconds told{0};  // to the store, of what preparing takes
    // So many launches need no lock: they take these groups, and nothing is to be known of them. Of how many there
    // were.
    std::atomic<std::int64_t> plain{0};
    std::atomic<std::size_t> usual{0};
    std::int64_t were_plain = 0;
  };
  explicit Grouped(std::string its_name) : name(std::move(its_name)) {}
  ~Grouped();

  const std::string name;
  std::mutex mutex;                            // never held while an inner driver runs
  std::vector<std::unique_ptr<Shape>> shapes;  // few; they stay
  std::atomic<Shape*> latest{nullptr};         // of them
};

// Whether they are chosen at all; and for a source, under which name in the store: none where they are not.
bool chooses_groups();
std::string blind_name(std::string_view source);
// The process ends: nothing is read from the store any more.
void stop_recalling();
// Whether queues of this device take times for that without being asked: where it costs nothing.
bool takes_times(const Device& device);
// Elsewhere those launches whose times are wanted run in a queue of our own beside the program's, which waits for them:
// there, taking times of all would cost each of them more than that costs a few. `launch(queue, count, list)` makes the
// inner call, which leaves its event there.
using Launching = std::function<cl_int(cl_command_queue, cl_uint, const cl_event*)>;
cl_int launch_beside(Queue& queue, const WaitList& list, cl_event& event, const Launching& launch);

// Null: its groups are the driver's.
std::shared_ptr<Grouped> grouped_kernel(Program& program, const std::string& name);

// The groups of one launch.
class Groups {
 public:
  Groups(const Queue& queue, const Kernel& kernel, cl_uint dimensions, const size_t* global);
  Groups(const Groups&) = delete;
  ~Groups();

  const size_t* local() const { return size_[0] ? size_.data() : nullptr; }
  bool beside() const { return shape_ && turn_.timed && beside_; }
  cl_event* watched() { return shape_ && turn_.timed ? &event_ : nullptr; }  // for a reference to its inner event
  void placed();   // the inner driver has it; otherwise its time will not be known
  void refused();  // the inner driver has refused these groups, and taken its own

 private:
  const std::shared_ptr<Grouped>& of_;  // the kernel's
  Grouped::Shape* shape_ = nullptr;
  Extents size_{};
  decide::Turn turn_{};
  cl_event event_ = nullptr;
  bool placed_ = false, beside_ = false;
};

}  // namespace heddle::front::icd
