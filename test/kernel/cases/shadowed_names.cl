//! kernel k
//! local 4 1 1
//! groups 7 1 1
//! offset 3 0 0
//! buffer 256 bytes
//! expect k: written a exact
// Variables with the names that the box form is written with.
int f(int get_group_id, int get_num_groups) { return get_group_id + get_num_groups + (int)get_global_id(0); }
kernel void k(global int* a) <%
  size_t get_local_size = 3;
  {
    int uint4 = get_group_id(0);
    a<:get_global_id(0):> = get_local_size + uint4 + f(get_group_id(0), 1);
  }
%>
