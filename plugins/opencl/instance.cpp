// SPDX-License-Identifier: Apache-2.0
#include "plugins/opencl/instance.hpp"

#include <algorithm>
#include <charconv>

#include "api/format/digest.hpp"
#include "plugins/gpu/plan/execution_plan.hpp"
#include "plugins/opencl/driver_scope.hpp"

namespace etb::opencl {

namespace {

// Facts of later versions and of extensions, which headers of OpenCL 1.2 lack.
constexpr cl_device_info kHalfConfig = 0x1033;              // CL_DEVICE_HALF_FP_CONFIG
constexpr cl_device_info kDeviceUuid = 0x106A;              // CL_DEVICE_UUID_KHR
constexpr cl_device_info kWarpSize = 0x4003;                // CL_DEVICE_WARP_SIZE_NV
constexpr cl_device_info kWavefrontWidth = 0x4043;          // CL_DEVICE_WAVEFRONT_WIDTH_AMD
constexpr cl_device_info kPreferredGroupMultiple = 0x1067;  // of OpenCL 3.0

// Reads facts of one device or platform; those that it lacks are zero or "".
template <class Id, class Param>
class Info {
 public:
  Info(cl_int (*get)(Id, Param, size_t, void*, size_t*), Id id) : get_(get), id_(id) {}

  template <class T>
  T number(Param name) const {
    T made{};
    return get_(id_, name, sizeof(made), &made, nullptr) == CL_SUCCESS ? made : T{};
  }
  std::string text(Param name) const {
    size_t nbytes = 0;
    std::string made;
    if (get_(id_, name, 0, nullptr, &nbytes) != CL_SUCCESS || nbytes == 0) return made;
    made.resize(nbytes);
    if (get_(id_, name, nbytes, made.data(), nullptr) != CL_SUCCESS) return "";
    return made.c_str();
  }

 private:
  cl_int (*get_)(Id, Param, size_t, void*, size_t*);
  Id id_;
};

format::Sha256 digest_of(std::initializer_list<std::string_view> texts) {
  format::Sha256Sum sum;
  for (const std::string_view text : texts) {
    sum.add({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    sum.add(std::array<uint8_t, 1>{0});
  }
  return sum.finish();
}

// True for "OpenCL 1.2 ..." and newer.
bool is_new_enough(const std::string& version) {
  int major = 0, minor = 0;
  const std::string prefix = "OpenCL ";
  if (version.rfind(prefix, 0) != 0) return false;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data() + prefix.size(), end, major);
  if (first.ptr != end && *first.ptr == '.') std::from_chars(first.ptr + 1, end, minor);
  return major > 1 || (major == 1 && minor >= 2);
}

bool has_extension(const Info<cl_device_id, cl_device_info>& device, const char* name) {
  return (" " + device.text(CL_DEVICE_EXTENSIONS) + " ").find(std::string(" ") + name + " ") !=
         std::string::npos;
}

// Reads the facts that only compilation uses. OpenCL has no subgroups before 2.1, but drivers tell what runs in step.
void read_target_facts(const Info<cl_device_id, cl_device_info>& device, const std::string& platform,
                       DeviceFacts& facts) {
  const std::string version = device.text(CL_DEVICE_VERSION);  // "OpenCL 3.0", and what the vendor adds
  facts.api = version.substr(0, version.find(' ', version.find(' ') + 1));
  facts.driver_name = platform;
  facts.driver_version = facts.driver;
  facts.subgroup_size = device.number<cl_uint>(kWarpSize);
  if (facts.subgroup_size == 0) facts.subgroup_size = device.number<cl_uint>(kWavefrontWidth);
  if (facts.subgroup_size == 0) facts.subgroup_size = device.number<size_t>(kPreferredGroupMultiple);
  facts.has_16bit_storage = true;  // vload_half and short are in each version
  facts.has_float16 = has_extension(device, "cl_khr_fp16");
  if (!facts.has_float16) return;
  const auto halves = device.number<cl_device_fp_config>(kHalfConfig);
  facts.keeps_subnormal_halves = (halves & CL_FP_DENORM) != 0;
  facts.rounds_halves =
      facts.keeps_subnormal_halves && (halves & CL_FP_ROUND_TO_NEAREST) != 0 && (halves & CL_FP_INF_NAN) != 0;
}

// Reads a device. Returns the reason why the plugin cannot use it, "" if it can.
std::string read_device(const Functions& cl, const std::string& platform, DeviceFacts& facts) {
  const Info<cl_device_id, cl_device_info> device(cl.GetDeviceInfo, facts.handle);
  facts.name = device.text(CL_DEVICE_NAME);
  facts.driver = device.text(CL_DRIVER_VERSION);
  facts.vendor_number = device.number<cl_uint>(CL_DEVICE_VENDOR_ID);
  facts.memory_total_bytes = device.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  const auto type = device.number<cl_device_type>(CL_DEVICE_TYPE);
  facts.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  const bool is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  facts.has_unified_memory = device.number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  facts.preference = facts.is_cpu ? 0 : !is_gpu ? 1 : facts.has_unified_memory ? 3 : 4;
  facts.max_range_bytes = device.number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  facts.offset_alignment = device.number<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  facts.max_group_size = device.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  facts.shared_memory_bytes = device.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
  read_target_facts(device, platform, facts);
  const auto floats = device.number<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG);
  facts.has_exact_division = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  if (const std::string version = device.text(CL_DEVICE_VERSION); !is_new_enough(version))
    return "'" + version + "', expected OpenCL 1.2 or newer";
  if (device.text(CL_DEVICE_PROFILE) != "FULL_PROFILE") return "an embedded profile";
  if ((floats & CL_FP_INF_NAN) == 0) return "NaN and infinities are not kept";
  if (device.number<cl_bool>(CL_DEVICE_AVAILABLE) == CL_FALSE) return "not available";
  if (device.number<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) return "no compiler";
  if (device.number<cl_bool>(CL_DEVICE_ENDIAN_LITTLE) == CL_FALSE) return "big-endian";
  if (facts.max_group_size < gpu::kLeastLocalSize) return "workgroups of less than eight work-items";
  return "";
}

// Reads the ids of what a call lists: of platforms or devices.
template <class Id, class List>
std::vector<Id> list_of(List list) {
  cl_uint count = 0;
  std::vector<Id> ids;
  if (list(0, nullptr, &count) != CL_SUCCESS || count == 0) return ids;
  ids.resize(count);
  if (list(count, ids.data(), &count) != CL_SUCCESS) ids.clear();
  return ids;
}

// Sets the device's uuid: its own, or a digest of names. `same_name`: devices of the platform with this name before it.
void set_identity(const Functions& cl, const std::string& platform, size_t same_name, DeviceFacts& facts) {
  const Info<cl_device_id, cl_device_info> device(cl.GetDeviceInfo, facts.handle);
  using Uuid = std::array<uint8_t, 16>;
  if (has_extension(device, "cl_khr_device_uuid")) facts.uuid = device.number<Uuid>(kDeviceUuid);
  if (facts.uuid == Uuid{}) {
    const format::Sha256 digest = digest_of({platform, facts.name, std::to_string(same_name)});
    std::copy_n(digest.begin(), facts.uuid.size(), facts.uuid.begin());
  }
  facts.fingerprint = digest_of({platform, facts.name, facts.driver, device.text(CL_DEVICE_VERSION)});
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::make() {
  const DriverScope scope;
  ETB_ASSIGN(const Functions functions, open_loader());
  return std::shared_ptr<Instance>(new Instance(functions));
}

Result<std::vector<DeviceFacts>> Instance::find_devices(std::vector<std::string>& reasons) const {
  const DriverScope scope;
  const Functions& cl = functions_;
  std::vector<DeviceFacts> devices;
  for (const cl_platform_id platform : list_of<cl_platform_id>(cl.GetPlatformIDs)) {
    const Info<cl_platform_id, cl_platform_info> info(cl.GetPlatformInfo, platform);
    const std::string platform_name = info.text(CL_PLATFORM_NAME);
    std::vector<std::string> names;
    const auto list = [&](cl_uint count, cl_device_id* ids, cl_uint* out_count) {
      return cl.GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, out_count);
    };
    for (const cl_device_id handle : list_of<cl_device_id>(list)) {
      DeviceFacts facts;
      facts.platform = platform;
      facts.handle = handle;
      const std::string reason = read_device(cl, platform_name, facts);
      const auto same_name = static_cast<size_t>(std::count(names.begin(), names.end(), facts.name));
      names.push_back(facts.name);
      set_identity(cl, platform_name, same_name, facts);
      const auto is_same = [&](const DeviceFacts& other) { return other.uuid == facts.uuid; };
      if (!reason.empty()) {
        reasons.push_back("device '" + facts.name + "' is left out: " + reason);
      } else if (std::none_of(devices.begin(), devices.end(), is_same)) {
        devices.push_back(std::move(facts));
      }
    }
  }
  return devices;
}

}  // namespace etb::opencl
