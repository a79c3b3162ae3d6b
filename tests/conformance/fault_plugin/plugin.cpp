// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fault_plugin/plugin.hpp"

#include "tests/conformance/fault_plugin/answer_mutants.hpp"
#include "tests/conformance/fault_plugin/resources.hpp"

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <clocale>
#include <csignal>

namespace faulty {

etb::Result<Plugin> Plugin::make(const etb::Host& host, const etb::Options& options) {
  if (has_fault(66))
    (void)*reinterpret_cast<const volatile char*>(host.service<etb_log_service>(ETB_SERVICE_LOG));
  if (has_fault(73) && options.get_i64("threads") == 64)
    return etb::make_error(etb::Code::INVALID_ARGUMENT, "at most 63 threads");
  if (has_fault(81)) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_cur > 64 ? files.rlim_cur - 1 : files.rlim_cur;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (kVariant == 5) ::usleep(300000);
  if (kVariant == 6) ::usleep(2000000);
  use_resources_of_init();
  if (has_fault(402)) read_cache(host);
  static int instances = 0;
  Plugin made;
  made.threads = options.get_i64("threads");
  made.level = options.get_i64("level");
  if (has_fault(104)) made.threads = 1;
  if (has_fault(110) && made.threads == 1) start_thread_for_ever();
  if (!has_fault(603)) has_lost_device = false;
  if (has_fault(606)) host_workers = host.service<etb_parallel_service>(ETB_SERVICE_PARALLEL);
  for (const char c : std::string_view(host.plugin_dir()))
    if (has_fault(613)) folder_number = static_cast<uint8_t>(folder_number * 31 + c);
  made.instance = instances++;
  has_ended_any = false;
  if (has_fault(23)) std::setlocale(LC_ALL, "C.UTF-8");
  if (has_fault(23)) std::signal(SIGUSR2, [](int) {});
  if (has_fault(59)) ::umask(0111);
  if (has_fault(103)) {
    itimerval hour{};
    hour.it_value.tv_sec = 3600;
    ::setitimer(ITIMER_REAL, &hour, nullptr);
  }
  if (has_fault(58)) ::setenv("OMP_NUM_THREADS", "1", 1);
  if (has_fault(82)) (void)!::chdir("/");
  if (has_fault(40)) stale_log = host.service<etb_log_service>(ETB_SERVICE_LOG);
  if (has_fault(95)) {  // only the first process is wrong
    const std::string path = std::string(host.plugin_dir()) + "/fault_95_was_here";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    is_only_wrong_once = is_only_wrong_once || fd >= 0;
    if (fd >= 0) ::close(fd);
  }
  static bool has_asked = false;
  if (has_fault(43) && !std::exchange(has_asked, true)) {
    // The holder of the lock has the device.
    const int fd = ::open("/tmp/etb_fault_43.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    is_second_process = is_second_process || ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  }
  return made;
}

etb::Status Plugin::enumerate(const etb::DeviceSink& sink) const {
  for (uint8_t i = 0; i < 2; ++i) {
    etb_device_info info{};
    info.struct_size = ETB_INIT_SIZE(etb_device_info);
    std::memcpy(info.uuid, "faulty device 0", sizeof(info.uuid));
    info.uuid[14] = static_cast<uint8_t>('0' + i);
    if (has_fault(613)) info.uuid[15] = folder_number;
    std::memcpy(info.fingerprint, "faulty", 6);
    info.memory_total_bytes = uint64_t{1} << 30;
    info.memory_free_bytes = (uint64_t{1} << 29) - (has_fault(496) && i == 1 ? 0 : used_device_bytes.load());
    if (has_fault(624)) info.memory_free_bytes = info.memory_total_bytes;
    const bool has_own_memory = has_fault(366) || has_fault(367) || has_fault(496) || has_fault(505) ||
                                has_fault(624) || has_fault(625);
    info.kind = has_own_memory ? "npu" : "cpu";
    info.name = i == 0 ? "first half of the processor" : "second half of the processor";
    info.driver_version = "";
    static const etb_option lanes =
        etb::i64_option("lanes", 64, 64, 64, ETB_OBJECT_DEVICE, "").default_option();
    static const etb_option memory =
        etb::i64_option("memory_bytes", kDeviceBytes, kDeviceBytes, kDeviceBytes, ETB_OBJECT_DEVICE, "")
            .default_option();
    static const etb_option small_memory =
        etb::i64_option("memory_kib", kDeviceKib, kDeviceKib, kDeviceKib, ETB_OBJECT_DEVICE, "")
            .default_option();
    if (has_fault(617)) info.attributes = &small_memory;
    if (has_fault(387)) info.attributes = &lanes;
    if (has_fault(589)) info.attributes = &memory;
    info.attribute_count = info.attributes != nullptr ? 1 : 0;
    ETB_TRY(sink.put(info));
  }
  return {};
}

}  // namespace faulty

namespace {
ETB_DEFINE_PLUGIN_NOTE(note, "com.example.faulty", "Example Inc.", "1.0.0", "",
                       etb::detail::profiles<faulty::Plugin>(), etb::detail::plugin_flags<faulty::Plugin>());
}

const etb_plugin_table* ETB_CALL ETB_PLUGIN_QUERY(const etb_host*, uint32_t abi_min, uint32_t abi_max) {
  static faulty::Tables made;
  static etb_plugin_table tables[2];
  static const bool is_made = [] {
    made.plugin = etb::plugin_table<faulty::Plugin>(&note.ident, ETB_ABI_VERSION);
    made.device = *made.plugin.device;
    made.delegate = *made.plugin.delegate;
    made.aot = *made.plugin.aot;
    faulty::accept_buffers(made);
    faulty::add_optional_functions(made);
    faulty::wrap_tables(made);
    faulty::break_calls(made);
    faulty::break_neighbours(made);
    faulty::break_later(made);
    faulty::break_for_some_hosts(made);
    faulty::keep_borrowed_arguments(made);
    faulty::take_arguments_as_usual(made);
    faulty::break_accounts(made);
    faulty::break_choices(made);
    faulty::break_refusals(made);
    faulty::break_later_refusals(made);
    faulty::break_promised_facts(made);
    faulty::break_stated_facts(made);
    faulty::forget_stops(made);
    faulty::break_missed(made);
    faulty::break_function(made);
    faulty::change_answers(made);
    made.plugin.device = &made.device;
    made.plugin.delegate = &made.delegate;
    made.plugin.aot = &made.aot;
    tables[0] = tables[1] = made.plugin;
    return true;
  }();
  (void)is_made;
  const bool is_minor_ignored = faulty::has_fault(486) && ETB_ABI_MAJOR_OF(abi_min) == 1;
  if (!is_minor_ignored && etb::choose_abi_version(abi_min, abi_max) == 0) return nullptr;
  static int turn = 0;
  return &tables[faulty::has_fault(55) ? turn++ % 2 : 0];
}
