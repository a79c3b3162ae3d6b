// SPDX-License-Identifier: Apache-2.0
//
// The registry: finds plugins by name, explains the choice, lists their devices.
//
// A module without a registry uses the installed plugins by itself (module.h). Make a registry to list plugins,
// to search further folders, to share threads and plugins between modules, or to set a policy:
//
//   etb_registry_options options = ETB_REGISTRY_OPTIONS_INIT;
//   const char* folders[] = {"/opt/my_app/plugins.d"};
//   options.search_paths = folders;
//   options.search_path_count = 1;
//   etb_registry* registry = NULL;
//   if (etb_registry_open(&options, &registry, &error) != ETB_OK) return 1;
//   for (uint32_t i = 0; i < etb_registry_plugin_count(registry); ++i) {
//     etb_plugin_info info = ETB_PLUGIN_INFO_INIT;
//     etb_registry_plugin(registry, i, &info, NULL);
//     printf("%s %s: %s\n", info.id, info.version, info.is_usable ? "usable" : info.problem);
//   }
//   etb_registry_close(registry);
//
// The search: folders of the application, folders of ETBACKEND_PATH, the user's folder, the administrator's
// folder, the folder of the installed library. docs/registry.md has the rules of trust and of the choice among
// several plugins.
#ifndef ETB_REGISTRY_H_
#define ETB_REGISTRY_H_

#include "etb/base.h"
#include "etb/device.h"
#include "etb/option.h"
#include "etb/static_plugins.h"
#include "etb/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// A search for plugins with its result, its threads, and the plugins that were loaded through it. Made by
// etb_registry_open, ended by etb_registry_close.
typedef struct etb_registry etb_registry;

// Flags of etb_registry_options.
#define ETB_REGISTRY_SECURE 0x1u  // trusts only files of root; requires digests; ignores the environment
#define ETB_REGISTRY_NO_ENVIRONMENT 0x2u  // ignores ETBACKEND_PATH and the like, and the user's folder
#define ETB_REGISTRY_NO_SHADOW 0x4u       // a user's plugin may not replace a certified one of the system
#define ETB_REGISTRY_CHECK_DIGESTS 0x8u   // hashes every library during the search
#define ETB_REGISTRY_ONLY_PATHS 0x10u     // searches only the folders of search_paths

// An option of a plugin as text, read by the type that the plugin states: "true", "4", "0.5", or any text. For the
// init call of a static plugin, which states none before, the form of the text decides: "4" is an I64, "4.0" an F64.
typedef struct etb_setting {
  uint32_t struct_size;
  uint32_t flags;    // must be zero
  const char* name;  // in a registry: the id of the plugin; in a module: the delegate id of the program
  const char* key;   // an option that `etbackend info` lists
  const char* text;  // its value
} etb_setting;

// Choice of a plugin, a device, or both, for the delegates of one id.
typedef struct etb_backend_choice {
  uint32_t struct_size;
  uint32_t flags;  // must be zero
  const char*
      backend_id;  // delegate id in the program, such as "XnnpackBackend"; "" for the device of all ids
  const char*
      plugin_id;  // id or alias of the plugin that is preferred when it is a candidate; NULL: by the usual rules
  const char* device;  // uuid or name of the plugin's device; "default": the plugin's default device, although the
                       // program may name another one; NULL: the device that the program names, else the default
} etb_backend_choice;

// Options of etb_registry_open. All pointers are borrowed-for-call.
typedef struct etb_registry_options {
  uint32_t struct_size;
  uint32_t flags;                   // ETB_REGISTRY_*
  const char* const* search_paths;  // search_path_count absolute folders, searched first
  uint64_t search_path_count;
  const etb_static_plugin* static_plugins;  // static_plugin_count plugins that are linked into the program
  uint64_t static_plugin_count;
  const etb_setting* settings;  // setting_count options for the init call of plugins
  uint64_t setting_count;
  uint64_t max_plugin_bytes;          // limit of alloc/1 for each plugin; 0: none
  uint32_t thread_count;              // threads that modules and plugins share; 0: one for each processor
  uint32_t reserved;                  // must be zero
  const etb_backend_choice* choices;  // choice_count of them, for all modules that use the registry
  uint64_t choice_count;
  const char* const*
      disabled;  // disabled_count patterns ('*', '?') on ids and aliases of plugins that are not used
  uint64_t disabled_count;

  // layer_count layers between the library and each plugin, outermost first, as the command line names them:
  // "fault=device-lost,nth=3" makes calls fail, "trace=FILE" records them for `etbackend replay`. docs/layers.md has the
  // texts. Reports of layers go to the log (etb_set_log) as warnings.
  const char* const* layers;
  uint64_t layer_count;
} etb_registry_options;

// Initialiser of an etb_registry_options: the whole search, one thread for each processor.
#define ETB_REGISTRY_OPTIONS_INIT \
  { ETB_INIT_SIZE(etb_registry_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// One plugin that the search found. Its texts are borrowed from the registry.
typedef struct etb_plugin_info {
  uint32_t struct_size;
  uint32_t flags;             // must be zero
  const char* id;             // "" when the manifest has no valid id
  const char* version;        // "" when unknown, as of a static plugin before it is loaded
  const char* vendor;         // "" when unknown
  const char* description;    // "" when unknown
  const char* manifest_path;  // "" for a static plugin
  const char* library_path;   // "" for a static plugin
  const char* tier;           // part of the search that found it: "application", "environment", "user", ...
  const char* problem;        // why it would not load; "" for a usable plugin
  const char*
      problem_reason;  // stable id of the problem, such as "library.digest"; docs/registry.md lists them
  const char* const* provides;  // provides_count delegate ids, as programs name them
  uint64_t provides_count;
  const char* const* aliases;  // alias_count short names for people
  uint64_t alias_count;
  uint32_t profiles;   // ETB_PROFILE_*
  uint32_t is_usable;  // 1: it would load, by all that is known without running its code
} etb_plugin_info;

// Initialiser of an etb_plugin_info.
#define ETB_PLUGIN_INFO_INIT \
  { ETB_INIT_SIZE(etb_plugin_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

// Searches for plugins. No plugin code runs, and no thread starts.
//
// options  [borrowed-for-call] NULL: those of ETB_REGISTRY_OPTIONS_INIT.
// out      [transferred-handle] ended by etb_registry_close; unchanged on error.
// returns  ETB_OK, also when there is no plugin; ETB_INVALID_ARGUMENT (a path that is not absolute, an unknown
//          flag, an unknown layer or rule); ETB_NOT_FOUND (a folder of search_paths); ETB_ACCESS_FAILED (a file of a
//          layer).
// threads  [any]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_registry_open(const etb_registry_options* options, etb_registry** out,
                                                 etb_error* error);

// Ends a registry. Modules opened with it keep its plugins and threads alive until they are closed.
//
// registry consumed; may be NULL.
// threads  [serial:registry]
// since    1.0
ETB_EXPORT void ETB_CALL etb_registry_close(etb_registry* registry);

// Returns the number of plugins found, usable or not.
//
// threads  [any]
// since    1.0
ETB_EXPORT uint32_t ETB_CALL etb_registry_plugin_count(const etb_registry* registry);

// Describes a plugin, in the order of the search. No plugin code runs.
//
// out      the caller initialises it with ETB_PLUGIN_INFO_INIT; its texts are valid until the registry is closed.
// returns  ETB_OK; ETB_INVALID_ARGUMENT (index).
// threads  [any]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_registry_plugin(const etb_registry* registry, uint32_t index,
                                                   etb_plugin_info* out, etb_error* error);

// Explains which plugin a name selects, and why: all candidates, the rule that decided, the reasons against
// the others, and every place searched. No plugin code runs.
//
// name     [borrowed-for-call] plugin id, delegate id or alias. A choice of etb_registry_options for it counts.
// sink     [borrowed-for-call] receives one text: the decision as JSON, as `etbackend explain --json` prints it.
// returns  ETB_OK, also when no plugin is selected; the sink's status when it stopped.
// threads  [any]
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_registry_explain(const etb_registry* registry, const char* name,
                                                    const etb_text_sink* sink, etb_error* error);

// Lists the devices of a plugin. Loads the plugin into this process.
//
// name     [borrowed-for-call] plugin id, delegate id or alias.
// sink     [borrowed-for-call] receives one item per device.
// returns  ETB_OK, also without a device; ETB_NOT_FOUND (no usable plugin of this name, with the reasons); the
//          plugin's error; the sink's status when it stopped.
// threads  [any]   may block: yes
// since    1.0
ETB_EXPORT etb_status ETB_CALL etb_registry_devices(etb_registry* registry, const char* name,
                                                    const etb_device_sink* sink, etb_error* error);

#ifdef __cplusplus
}
#endif

#endif
