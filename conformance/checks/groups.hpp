// SPDX-License-Identifier: Apache-2.0
// The groups of checks, one file each.
#pragma once

#include <span>

#include "conformance/checks/check.hpp"

namespace etb::conformance {

std::span<const Check> abi_checks();                // the library file and its tables
std::span<const Check> ver_checks();                // older and newer hosts
std::span<const Check> life_checks();               // objects and their order
std::span<const Check> random_walk_checks();        // objects in random orders
std::span<const Check> cap_checks();                // declared capabilities
std::span<const Check> dyn_checks();                // sizes beyond their bounds
std::span<const Check> mem_checks();                // ownership of memory
std::span<const Check> hyg_checks();                // effects on the process
std::span<const Check> worker_checks();             // effects on threads of the host
std::span<const Check> leak_checks();               // leaks
std::span<const Check> leak_loop_checks();          // slow leaks, and leaks of calls that fail
std::span<const Check> conc_checks();               // concurrent use
std::span<const Check> concurrent_call_checks();    // creates and compilations at the same time
std::span<const Check> concurrent_option_checks();  // events and limits of runs at the same time
std::span<const Check> many_checks();               // many objects and runs
std::span<const Check> det_checks();                // determinism
std::span<const Check> blob_checks();               // damaged payloads
std::span<const Check> payload_verdict_checks();    // verdicts about payloads that were cut
std::span<const Check> newer_version_checks();      // payloads of newer versions
std::span<const Check> opt_checks();                // options
std::span<const Check> err_checks();                // errors of the environment
std::span<const Check> unload_checks();             // unloading
std::span<const Check> net_checks();                // networks through the compiler
std::span<const Check> prof_checks();               // events
std::span<const Check> perf_checks();               // warnings about speed
std::span<const Check> device_checks();             // devices
std::span<const Check> reserve_checks();            // context_reserve and arguments of runs
std::span<const Check> cancel_checks();             // runs that are asked to stop
std::span<const Check> stop_checks();               // tokens and deadlines of execute()
std::span<const Check> async_checks();              // asynchronous runs
std::span<const Check> info_checks();               // facts about delegates
std::span<const Check> aot_checks();                // ops to preserve, costs and estimates
std::span<const Check> op_table_checks();           // rows of the op table
std::span<const Check> row_end_checks();            // ranks, layouts and dynamic sizes of rows
std::span<const Check> constraint_checks();         // conditions that constraints of rows name
std::span<const Check> reason_checks();             // reasons of rejections
std::span<const Check> blamed_property_checks();    // properties that reasons name
std::span<const Check> compile_checks();            // arguments of compile, and artifacts
std::span<const Check> extension_checks();          // draft extensions
std::span<const Check> named_data_checks();         // damaged named data and constants
std::span<const Check> promise_checks();            // promises over time
std::span<const Check> option_life_checks();        // the schema, and options of living objects
std::span<const Check> option_file_checks();        // options that name folders
std::span<const Check> device_memory_checks();      // runs in buffers of a device
std::span<const Check> device_target_checks();      // payloads compiled for each device
std::span<const Check> device_account_checks();     // memory of devices
std::span<const Check> cache_checks();              // damaged entries of cache/1
std::span<const Check> sink_checks();               // sinks that stop
std::span<const Check> option_list_checks();        // several options, and nearly known keys
std::span<const Check> host_checks();               // hosts that differ in what the contract leaves open
std::span<const Check> loan_checks();               // hosts that lend bytes in other ways
std::span<const Check> callback_checks();           // calls of the host that fail once
std::span<const Check> aot_option_checks();         // options of the ahead-of-time functions
std::span<const Check> default_option_checks();     // options that are passed with their defaults
std::span<const Check> option_value_checks();       // results with each value of each option
std::span<const Check> worker_number_checks();      // hosts with other thread pools
std::span<const Check> description_checks();        // graphs that are described in other ways
std::span<const Check> wrong_struct_checks();       // structs that a plugin must reject
std::span<const Check> status_checks();             // statuses and texts of refused calls
std::span<const Check> stopped_thread_checks();     // threads after runs that ended early
std::span<const Check> event_span_checks();         // events beside the time of their run
std::span<const Check> large_region_checks();       // regions of hundreds of nodes
std::span<const Check> option_owner_checks();       // options of several objects
std::span<const Check> restricted_checks();         // processes with fewer rights

}  // namespace etb::conformance
