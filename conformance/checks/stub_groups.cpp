#include "conformance/checks/groups.hpp"
namespace etb::conformance {
#define STUB(name) \
  std::span<const Check> name() { return {}; }
STUB(abi_checks)
STUB(ver_checks) STUB(life_checks) STUB(cap_checks) STUB(mem_checks) STUB(hyg_checks) STUB(leak_checks)
    STUB(conc_checks) STUB(det_checks) STUB(blob_checks) STUB(opt_checks) STUB(err_checks) STUB(unload_checks)
        STUB(prof_checks) STUB(perf_checks)
}  // namespace etb::conformance
