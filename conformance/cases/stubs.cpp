#include "conformance/cases/generators.hpp"
namespace etb::conformance {
void add_reductions(CaseList&) {}
void add_movement(CaseList&) {}
void add_normalisations(CaseList&) {}
void add_pools(CaseList&) {}
void add_quantized(CaseList&) {}
void add_dynamic(CaseList&) {}
void add_models(CaseList&) {}
}  // namespace etb::conformance
