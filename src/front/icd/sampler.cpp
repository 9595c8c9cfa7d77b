// Samplers.
#include "front/icd/entries.hpp"
#include "front/icd/objects.hpp"

namespace heddle::front::icd {

Sampler::Sampler(Context& its_context, cl_sampler its_inner)
    : Object(its_kind), inner(its_inner), context(its_context) {
  note_live(this, inner);
}

Sampler::~Sampler() {
  forget_live(this);
  pass<&Slots::clReleaseSampler>(inner);
}

cl_sampler CL_API_CALL clCreateSampler(cl_context handle, cl_bool normalized, cl_addressing_mode addressing,
                                       cl_filter_mode filter, cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_sampler inner = pass<&Slots::clCreateSampler>(context.inner, normalized, addressing, filter, &code);
    check(code);
    return wrap<Sampler>(context, device::OwnedSampler(inner));
  });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(cl_context handle, const cl_sampler_properties* properties,
                                                     cl_int* error) {
  return make(__func__, error, [&] {
    Context& context = valid(handle);
    cl_int code = CL_SUCCESS;
    const cl_sampler inner = pass<&Slots::clCreateSamplerWithProperties>(context.inner, properties, &code);
    check(code);
    return wrap<Sampler>(context, device::OwnedSampler(inner));
  });
}

cl_int CL_API_CALL clRetainSampler(cl_sampler handle) {
  return always(__func__, [&] { retain(valid(handle)); });
}
cl_int CL_API_CALL clReleaseSampler(cl_sampler handle) {
  return always(__func__, [&] { release(valid(handle)); });
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler handle, cl_sampler_info what, size_t size, void* value,
                                    size_t* size_ret) {
  return answer(__func__, [&]() -> cl_int {
    const Sampler& sampler = valid(handle);
    const Place place{size, value, size_ret};
    switch (what) {
      case CL_SAMPLER_CONTEXT:
        return place.put(handle_of(*sampler.context));
      case CL_SAMPLER_REFERENCE_COUNT:
        return place.put<cl_uint>(sampler.references);
      default:
        return pass<&Slots::clGetSamplerInfo>(sampler.inner, what, size, value, size_ret);
    }
  });
}

}  // namespace heddle::front::icd
