// Devices: the inner device's answers, but for what names other objects and for what does not work through us.
#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>

#include "device/quirks.hpp"
#include "front/icd/entries.hpp"
#include "front/icd/runtime.hpp"

namespace heddle::front::icd {

namespace {

// Extensions that are a matter of the kernel language, of queries, or of entry points in our own table. Those with
// functions of their own would be given our handles and fail, so they are not shown.
constexpr std::string_view passing[] = {"cl_amd_device_attribute_query",
                                        "cl_amd_fp64",
                                        "cl_amd_media_ops",
                                        "cl_amd_media_ops2",
                                        "cl_ext_cxx_for_opencl",
                                        "cl_ext_float_atomics",
                                        "cl_intel_required_subgroup_size",
                                        "cl_intel_subgroups",
                                        "cl_intel_subgroups_char",
                                        "cl_intel_subgroups_long",
                                        "cl_intel_subgroups_short",
                                        "cl_khr_3d_image_writes",
                                        "cl_khr_byte_addressable_store",
                                        "cl_khr_create_command_queue",
                                        "cl_khr_depth_images",
                                        "cl_khr_device_uuid",
                                        "cl_khr_expect_assume",
                                        "cl_khr_extended_bit_ops",
                                        "cl_khr_extended_versioning",
                                        "cl_khr_fp16",
                                        "cl_khr_fp64",
                                        "cl_khr_global_int32_base_atomics",
                                        "cl_khr_global_int32_extended_atomics",
                                        "cl_khr_icd",
                                        "cl_khr_il_program",
                                        "cl_khr_image2d_from_buffer",
                                        "cl_khr_int64_base_atomics",
                                        "cl_khr_int64_extended_atomics",
                                        "cl_khr_integer_dot_product",
                                        "cl_khr_local_int32_base_atomics",
                                        "cl_khr_local_int32_extended_atomics",
                                        "cl_khr_mipmap_image",
                                        "cl_khr_mipmap_image_writes",
                                        "cl_khr_pci_bus_info",
                                        "cl_khr_priority_hints",
                                        "cl_khr_select_fprounding_mode",
                                        "cl_khr_spir",
                                        "cl_khr_spirv_linkonce_odr",
                                        "cl_khr_spirv_no_integer_wrap_decoration",
                                        "cl_khr_srgb_image_writes",
                                        "cl_khr_subgroup_ballot",
                                        "cl_khr_subgroup_clustered_reduce",
                                        "cl_khr_subgroup_extended_types",
                                        "cl_khr_subgroup_named_barrier",
                                        "cl_khr_subgroup_non_uniform_arithmetic",
                                        "cl_khr_subgroup_non_uniform_vote",
                                        "cl_khr_subgroup_rotate",
                                        "cl_khr_subgroup_shuffle",
                                        "cl_khr_subgroup_shuffle_relative",
                                        "cl_khr_subgroups",
                                        "cl_khr_throttle_hints",
                                        "cl_khr_work_group_uniform_arithmetic",
                                        "cl_nv_compiler_options",
                                        "cl_nv_device_attribute_query",
                                        "cl_nv_pragma_unroll"};

std::string text_of(cl_device_id inner, cl_device_info what) {
  size_t size = 0;
  check(pass<&Slots::clGetDeviceInfo>(inner, what, size_t{0}, nullptr, &size));
  std::string text(size, '\0');
  check(pass<&Slots::clGetDeviceInfo>(inner, what, size, text.data(), nullptr));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

std::vector<cl_name_version> extensions_of(cl_device_id inner) {
  size_t size = 0;
  std::vector<cl_name_version> all;
  if (pass<&Slots::clGetDeviceInfo>(inner, CL_DEVICE_EXTENSIONS_WITH_VERSION, size_t{0}, nullptr, &size) ==
      CL_SUCCESS) {
    all.resize(size / sizeof(cl_name_version));
    check(pass<&Slots::clGetDeviceInfo>(inner, CL_DEVICE_EXTENSIONS_WITH_VERSION, size, all.data(), nullptr));
  } else {  // before OpenCL 3.0 there are names only
    std::istringstream words(text_of(inner, CL_DEVICE_EXTENSIONS));
    for (std::string word; words >> word;) {
      cl_name_version one{CL_MAKE_VERSION(1, 0, 0), {}};
      word.copy(one.name, sizeof one.name - 1);
      all.push_back(one);
    }
  }
  std::erase_if(all, [](const cl_name_version& e) {
    return std::find(std::begin(passing), std::end(passing), std::string_view(e.name)) == std::end(passing);
  });
  return all;
}

cl_device_type type_of(cl_device_id inner) {
  cl_device_type type = 0;
  check(pass<&Slots::clGetDeviceInfo>(inner, CL_DEVICE_TYPE, sizeof type, &type, nullptr));
  return type & ~static_cast<cl_device_type>(CL_DEVICE_TYPE_DEFAULT);
}

constexpr auto least = [](auto a, auto b) { return std::min(a, b); };

// Of the virtual device: over all devices that may get a share.
template <class Combine, class Get>
auto of_members(const Device& device, Combine combine, Get get) {
  auto out = get(device.info);
  const core::Settings& settings = runtime().settings;
  if (!device.is_virtual || !settings.active || settings.split == "off") return out;
  for (const device::Chosen& member : runtime().choice.devices) {
    if (member.info.id != device.info.id) out = combine(out, get(member.info));
  }
  return out;
}

}  // namespace

Device::Device(const device::Chosen& chosen, bool virtual_one, std::string shown_name)
    : Object(its_kind),
      is_virtual(virtual_one),
      inner(chosen.handle),
      inner_platform(chosen.platform.handle),
      info(chosen.info),
      name(std::move(shown_name)),
      type(type_of(inner)),
      knows_arguments(text_of(inner, CL_DEVICE_VERSION).compare(0, 10, "OpenCL 1.2") >= 0),
      extensions(extensions_of(inner)) {}

std::vector<cl_device_id> inner_devices(const Context& context, cl_uint count, const cl_device_id* devices) {
  std::vector<cl_device_id> out;
  for (cl_uint i = 0; i < count; ++i) {
    const cl_device_id inner = device_in(context, devices[i]).inner;
    if (std::find(out.begin(), out.end(), inner) == out.end()) out.push_back(inner);
  }
  return out;
}

Device& device_in(const Context& context, cl_device_id handle) {
  Device& device = valid(handle);
  if (std::find(context.devices.begin(), context.devices.end(), &device) == context.devices.end()) {
    throw Error{CL_INVALID_DEVICE};
  }
  return device;
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint entries, cl_device_id* devices,
                                  cl_uint* count) {
  return answer(__func__, [&]() -> cl_int {
    if (platform) valid(platform);
    constexpr cl_device_type known = CL_DEVICE_TYPE_DEFAULT | CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU |
                                     CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CUSTOM;
    if (type != CL_DEVICE_TYPE_ALL && (type == 0 || (type & ~known) != 0)) return CL_INVALID_DEVICE_TYPE;
    if ((devices && entries == 0) || (!devices && !count)) return CL_INVALID_VALUE;
    cl_uint found = 0;
    for (Device* device : runtime().devices) {
      const bool wanted = (device->type & type) != 0 || (device->is_virtual && (type & CL_DEVICE_TYPE_DEFAULT) != 0);
      if (!wanted) continue;
      if (devices && found < entries) devices[found] = handle_of(*device);
      ++found;
    }
    if (count) *count = found;
    return found ? CL_SUCCESS : CL_DEVICE_NOT_FOUND;
  });
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id handle, cl_device_info what, size_t size, void* value,
                                   size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Device& device = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_DEVICE_PLATFORM:
        return place.put(handle_of(the_platform()));
      case CL_DEVICE_TYPE:
        return place.put(device.type);
      case CL_DEVICE_NAME:
        return place.put(device.name);
      case CL_DRIVER_VERSION:
        return place.put(text_of(device.inner, what) + " (Heddle " HEDDLE_VERSION ")");
      case CL_DEVICE_EXTENSIONS: {
        std::string names;
        for (const cl_name_version& e : device.extensions) names += (names.empty() ? "" : " ") + std::string(e.name);
        return place.put(names);
      }
      case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        return place.put(device.extensions);
      case CL_DEVICE_REFERENCE_COUNT:
        return place.put<cl_uint>(1);
      case CL_DEVICE_PARENT_DEVICE:
        return place.put<cl_device_id>(nullptr);
      case CL_DEVICE_IMAGE_SUPPORT:
        if (!device::has_images(device.info)) return place.put<cl_bool>(CL_FALSE);
        return pass<&Slots::clGetDeviceInfo>(device.inner, what, size, value, size_ret);
      // What the engine may share out has to fit all.
      case CL_DEVICE_MAX_COMPUTE_UNITS:
        return place.put(
            static_cast<cl_uint>(of_members(device, std::plus<>(), [](const device::Info& i) { return i.units; })));
      case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return place.put(
            static_cast<size_t>(of_members(device, least, [](const device::Info& i) { return i.largest_group; })));
      case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
        std::vector<size_t> out;
        for (std::size_t d = 0; d < 3; ++d)
          out.push_back(static_cast<size_t>(
              of_members(device, least, [d](const device::Info& i) { return i.largest_extents[d]; })));
        return place.put(out);
      }
      case CL_DEVICE_LOCAL_MEM_SIZE:
        return place.put(
            static_cast<cl_ulong>(of_members(device, least, [](const device::Info& i) { return i.local_memory; })));
      // It cannot be cut: the engine cuts it itself.
      case CL_DEVICE_PARTITION_MAX_SUB_DEVICES:
        return place.put<cl_uint>(0);
      case CL_DEVICE_PARTITION_PROPERTIES:
        return place.put<cl_device_partition_property>(0);
      case CL_DEVICE_PARTITION_TYPE:
        return place.put(nullptr, 0);
      case CL_DEVICE_PARTITION_AFFINITY_DOMAIN:
        return place.put<cl_device_affinity_domain>(0);
      // The driver below has passed, not we.
      case CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED:
        return place.put(std::string("v0000-00-00-00"));
      default:
        return pass<&Slots::clGetDeviceInfo>(device.inner, what, size, value, size_ret);
    }
  });
}

cl_int CL_API_CALL clCreateSubDevices(cl_device_id handle, const cl_device_partition_property* properties, cl_uint,
                                      cl_device_id*, cl_uint*) {
  return answer(__func__, [&]() -> cl_int {
    valid(handle);
    (void)properties;  // none is supported, and that is what the code says
    return CL_INVALID_VALUE;
  });
}

// Root devices are not counted.
cl_int CL_API_CALL clRetainDevice(cl_device_id handle) {
  return always(__func__, [&] { valid(handle); });
}
cl_int CL_API_CALL clReleaseDevice(cl_device_id handle) {
  return always(__func__, [&] { valid(handle); });
}
cl_int CL_API_CALL clRetainDeviceEXT(cl_device_id handle) { return icd::clRetainDevice(handle); }
cl_int CL_API_CALL clReleaseDeviceEXT(cl_device_id handle) { return icd::clReleaseDevice(handle); }

cl_int CL_API_CALL clGetDeviceAndHostTimer(cl_device_id handle, cl_ulong* device_time, cl_ulong* host_time) {
  return answer(__func__,
                [&] { return pass<&Slots::clGetDeviceAndHostTimer>(valid(handle).inner, device_time, host_time); });
}

cl_int CL_API_CALL clGetHostTimer(cl_device_id handle, cl_ulong* host_time) {
  return answer(__func__, [&] { return pass<&Slots::clGetHostTimer>(valid(handle).inner, host_time); });
}

}  // namespace heddle::front::icd
