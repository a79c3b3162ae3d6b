# etb_add_plugin: one vendor plugin (a MODULE library with one exported symbol and a manifest beside it).
